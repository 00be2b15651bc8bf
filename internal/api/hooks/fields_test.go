package hooks_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// trip is a workflow that asks for an object.
const trip = `
workflow:
  - type: ask
    prompt: Where to?
    schema:
      type: object
      required: [city, kind, sure]
      properties:
        city: {type: string, title: City <1>, description: as on the map}
        days: {type: integer, minimum: 1, default: 3}
        kind: {enum: [rail, 2, "<b>"]}
        sure: {type: boolean}
        day: {type: string, format: date}
        more: {type: array, items: {type: string}}
`

// TestQuestionFields checks that a question whose answer is an object is a form, that missing and
// invalid values are asked for again with what was entered, and that the run receives the object
//
func TestQuestionFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	h := w.hooks.Approve()
	run := w.start(trip, "yaml", "", "x")
	path := w.link(run)
	rec := send(h, "GET", path, "")
	checkPage(t, rec)
	for _, want := range []string{
		`<label for="field-0">City &lt;1&gt;</label>`, "as on the map; a text",
		`<textarea id="field-0" name="field-0" aria-describedby="field-0-hint" required`,
		`inputmode="decimal" value="3"`,
		`<option value="1">2</option>`, `<option value="2">&lt;b&gt;</option>`, `<option value="true">yes</option>`,
		`<input type="date" id="field-4"`, "a list, as JSON", `days <span class="quiet">(optional)</span>`,
	} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, rec.Body)
		}
	}
	if strings.Contains(rec.Body.String(), `name="answer"`) {
		t.Error("the form has the field for one text, too")
	}
	for _, tt := range []struct {
		problem string
		sent    []string
	}{
		{"City &lt;1&gt; is needed.", []string{"field-1", "5", "field-2", "0", "field-3", "true"}},
		{"days must be", []string{"field-0", "Ulm", "field-1", "none", "field-2", "0", "field-3", "true"}},
		{"days must be", []string{"field-0", "Ulm", "field-1", "0", "field-2", "0", "field-3", "true"}},
		{"kind must be one of", []string{"field-0", "Ulm", "field-2", "3", "field-3", "true"}},
		{"sure must be", []string{"field-0", "Ulm", "field-2", "0", "field-3", "perhaps"}},
		{"day must be", []string{"field-0", "Ulm", "field-2", "0", "field-3", "true", "field-4", "soon"}},
		{"too long", []string{"field-0", strings.Repeat("x", 33<<10), "field-2", "0", "field-3", "true"}},
	} {
		rec := send(h, "POST", path, form(path, append([]string{"send", "1", "note", "<n>"}, tt.sent...)...),
			fromPage...)
		checkPage(t, rec)
		if body := rec.Body.String(); rec.Code != http.StatusUnprocessableEntity ||
			!strings.Contains(body, tt.problem) || !strings.Contains(body, `value="&lt;n&gt;"`) {
			t.Errorf("%.60q: %d, no %q in\n%.400s", tt.sent, rec.Code, tt.problem, body)
		}
	}
	rec = send(h, "POST", path, form(path, "send", "1", "field-1", "5", "field-2", "2"), fromPage...)
	if body := rec.Body.String(); !strings.Contains(body, `value="5"`) ||
		!strings.Contains(body, `<option value="2" selected>`) {
		t.Errorf("what was written is gone:\n%s", body)
	}
	if rec := send(h, "POST", path, form(path, "send", "1", "field-0", "Bad\r\nUlm ", "field-1", "", "field-2", "1",
		"field-3", "true", "field-5", `["a"]`), fromPage...); rec.Code != http.StatusOK {
		t.Fatal(rec.Code, rec.Body)
	}
	const want = `{"city":"Bad\nUlm ","kind":2,"sure":true,"more":["a"],"days":3}`
	if got := answerTo(t, w, run); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// answerTo returns the answer that a run has accepted, or "" if there is none.
func answerTo(t *testing.T, w *world, run string) string {
	t.Helper()
	events, err := w.service.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		if a, ok := e.Data.(*event.WaitAnswered); ok {
			return string(a.Answer)
		}
	}
	return ""
}

// looseTypes is a workflow that asks for values of several types.
const looseTypes = `
workflow:
  - type: ask
    prompt: What is known?
    schema:
      type: object
      properties:
        any: {}
        count: {default: 5}
        either: {type: [integer, string], default: 5}
        word: {type: [integer, string], default: "5"}
        text: {type: string, default: "a\r\nb "}
        list: {type: array, items: {type: string}}
        none: {enum: [rail, 1, null, "", {a:  2}]}
        share: {$ref: "#/$defs/share"}
      $defs:
        share: {type: number}
`

// TestJSONFields checks that a member of several types, or of any, is shown and parsed as JSON, and
// that the run supplies a default left unchanged.
func TestJSONFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	h := w.hooks.Approve()
	path := w.link(w.start(looseTypes, "yaml", "", "x"))
	rec := send(h, "GET", path, "")
	checkPage(t, rec)
	for _, want := range []string{"a value, as JSON", `<option value="2">null</option>`,
		`<option value="3">&#34;&#34;</option>`, `<option value="4">{&#34;a&#34;:2}</option>`,
		"class=\"field\">\n5</textarea>", "class=\"field\">\n&#34;5&#34;</textarea>"} {
		if !strings.Contains(rec.Body.String(), want) {
			t.Errorf("no %s in\n%s", want, rec.Body)
		}
	}
	for _, sent := range [][]string{{"field-0", "Ulm"}, {"field-0", "[1"}, {"field-1", "five"}, {"field-5", "a"}} {
		rec := send(h, "POST", path, form(path, append(sent, "send", "1")...), fromPage...)
		checkPage(t, rec)
		if rec.Code != http.StatusUnprocessableEntity || !strings.Contains(rec.Body.String(), "must be JSON") {
			t.Errorf("%q: %d\n%.400s", sent, rec.Code, rec.Body)
		}
	}
	untouched := []string{"field-1", "5", "field-2", "5", "field-3", `"5"`, "field-4", "a\r\nb "}
	for _, tt := range []struct {
		sent []string
		want string
	}{
		{untouched, `{"count":5,"either":5,"word":"5","text":"a\r\nb "}`},
		{[]string{"field-0", ` ["a"] `, "field-1", `"6"`, "field-2", `"6"`, "field-3", "6", "field-4", "a\r\nc",
			"field-5", `["5"]`}, `{"any":["a"],"count":"6","either":"6","word":6,"text":"a\nc","list":["5"]}`},
		{[]string{"field-0", "5"}, `{"any":5,"count":5,"either":5,"word":"5","text":"a\r\nb "}`},
		{[]string{"field-0", "null", "field-7", "0.5"},
			`{"any":null,"share":0.5,"count":5,"either":5,"word":"5","text":"a\r\nb "}`},
	} {
		run := w.start(looseTypes, "yaml", "", "x")
		path := w.link(run)
		if rec := send(h, "POST", path, form(path, append(tt.sent, "send", "1")...),
			fromPage...); rec.Code != http.StatusOK {
			t.Errorf("%q: %d\n%s", tt.sent, rec.Code, rec.Body)
			continue
		}
		if got := answerTo(t, w, run); got != tt.want {
			t.Errorf("%q: got %s, want %s", tt.sent, got, tt.want)
		}
	}
}

// TestQuestionFields_UncoveredRequired checks that if the schema requires what no field can
// provide, a single text answers, as JSON.
func TestQuestionFields_UncoveredRequired(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	h := w.hooks.Approve()
	const doc = `
workflow:
  - type: ask
    prompt: Which?
    schema: {type: object, required: [city, days], properties: {city: {type: string}}, additionalProperties: {type: ` +
		`integer}}
`
	run := w.start(doc, "yaml", "", "x")
	path := w.link(run)
	if body := send(h, "GET", path, "").Body.String(); !strings.Contains(body, `<textarea id="answer"`) ||
		strings.Contains(body, "field-0") {
		t.Errorf("the form has fields:\n%s", body)
	}
	if rec := send(h, "POST", path, form(path, "send", "1", "answer", `{"city":"Ulm","days":3}`),
		fromPage...); rec.Code != http.StatusOK {
		t.Fatal(rec.Code, rec.Body)
	}
	if got := answerTo(t, w, run); got != `{"city":"Ulm","days":3}` {
		t.Errorf("the answer is %s", got)
	}
}

// TestQuestionFields_OptionNameClash checks that an option named like a button or a field of the
// form can still be chosen; the fields are submitted by a button with its own name.
func TestQuestionFields_OptionNameClash(t *testing.T) {
	t.Parallel()
	w := hooks.WaitForTest{Kind: "question", Options: []string{"answer", "send", "1"},
		Schema: []byte(`{"type":"object","properties":{"city":{"type":"string"}}}`)}
	for _, option := range w.Options {
		if got, problem := w.Answer(url.Values{"decision": {option}, "field-0": {"Ulm"},
			"answer": {"Ulm"}}); problem != "" || got != `"`+option+`"` {
			t.Errorf("%s: %s, %s", option, got, problem)
		}
	}
	if got, problem := w.Answer(url.Values{"send": {"1"}, "field-0": {"Ulm"}}); problem != "" ||
		got != `{"city":"Ulm"}` {
		t.Errorf("the fields: %s, %s", got, problem)
	}
}
