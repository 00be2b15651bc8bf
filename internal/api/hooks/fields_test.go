package hooks_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/hooks"
	"github.com/hocket-run/hocket/internal/engine"
)

// trip asks for an object.
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

// TestQuestionFields: a question whose answer is an object is a form; what is missing or does not fit is asked again with what was written, and the run gets the object.
func TestQuestionFields(t *testing.T) {
	t.Parallel()
	w := newWorld(t, setup{config: hooks.Config{PublicURL: public}})
	h := w.hooks.Approve()
	run := w.start(trip, "yaml", "", "x")
	path := w.link(run)
	rec := send(h, "GET", path, "")
	checkPage(t, rec)
	for _, want := range []string{
		`<label for="field-0">City &lt;1&gt;</label>`, "as on the map; a text", `<textarea id="field-0" name="field-0" aria-describedby="field-0-hint" required`, `inputmode="decimal" value="3"`,
		`<option value="1">2</option>`, `<option value="2">&lt;b&gt;</option>`, `<option value="true">yes</option>`, `<input type="date" id="field-4"`, "a list, as JSON", `days <span class="quiet">(optional)</span>`,
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
		rec := send(h, "POST", path, form(path, append([]string{"decision", "answer", "note", "<n>"}, tt.sent...)...), fromPage...)
		checkPage(t, rec)
		if body := rec.Body.String(); rec.Code != http.StatusUnprocessableEntity || !strings.Contains(body, tt.problem) || !strings.Contains(body, `value="&lt;n&gt;"`) {
			t.Errorf("%.60q: %d, no %q in\n%.400s", tt.sent, rec.Code, tt.problem, body)
		}
	}
	rec = send(h, "POST", path, form(path, "decision", "answer", "field-1", "5", "field-2", "2"), fromPage...)
	if body := rec.Body.String(); !strings.Contains(body, `value="5"`) || !strings.Contains(body, `<option value="2" selected>`) {
		t.Errorf("what was written is gone:\n%s", body)
	}
	if rec := send(h, "POST", path, form(path, "decision", "answer", "field-0", "Bad\r\nUlm ", "field-1", "", "field-2", "1", "field-3", "true", "field-5", `["a"]`), fromPage...); rec.Code != http.StatusOK {
		t.Fatal(rec.Code, rec.Body)
	}
	events, err := w.service.Events(t.Context(), run, 0)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"city":"Bad\nUlm ","kind":2,"sure":true,"more":["a"],"days":3}`
	for _, e := range events {
		if a, ok := e.Data.(*engine.WaitAnswered); ok {
			if string(a.Answer) != want {
				t.Errorf("got %s, want %s", a.Answer, want)
			}
			return
		}
	}
	t.Error("nothing was answered")
}
