package httpapi_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/view"
)

// longReplyModel replies with n bytes that start with the agent's name.
type longReplyModel int

func (n longReplyModel) Call(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	return model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(longText(q.Agent, int(n)))},
		Model: q.Model, StopReason: model.StopEnd}, nil
}

func longText(name string, n int) string {
	text := name + strings.Repeat(" \"ü\u2028\n", (n-len(name))/8)
	return text + strings.Repeat("!", n-len(text))
}

// agentChain returns a canvas document with a chain of n agents named a0, a1 and so on.
func agentChain(n int) string {
	nodes, edges := []string{`{"id":"s","type":"start","data":{"initialInput":"x"}}`}, []string{}
	from := "s"
	for i := range n {
		id := fmt.Sprintf("a%d", i)
		nodes = append(nodes,
			fmt.Sprintf(`{"id":%q,"type":"agent","data":{"agentName":%q,"userPrompt":"go","model":"own/m"}}`, id, id))
		edges, from = append(edges, fmt.Sprintf(`{"source":%q,"target":%q}`, from, id)), id
	}
	return fmt.Sprintf(`{"name":"row","nodes":[%s],"connections":[%s]}`, strings.Join(nodes, ","),
		strings.Join(edges, ","))
}

// referenceAt returns the reference at a path in JSON, or nil if there is none.
func referenceAt(t *testing.T, text string, path ...string) *view.Value {
	t.Helper()
	at := json.RawMessage(text)
	for _, name := range path {
		var m map[string]json.RawMessage
		var l []json.RawMessage
		if json.Unmarshal(at, &l) == nil && name == "last" {
			at = l[len(l)-1]
			continue
		}
		if err := json.Unmarshal(at, &m); err != nil || m[name] == nil {
			t.Fatalf("no %s of %v in %.300s", name, path, text)
		}
		at = m[name]
	}
	var ref struct {
		Value *view.Value `json:"$value"`
	}
	if json.Unmarshal(at, &ref) != nil {
		return nil
	}
	return ref.Value
}

// TestLongValues checks that a value above 32 KiB is a reference in every view of a run, that a
// shorter value is shown itself, and that the full value is at href (SEC17).
func TestLongValues(t *testing.T) {
	t.Parallel()
	for _, size := range []int{view.Limit, view.Limit + 1, 3 << 20} {
		w := newWorldWith(t, service.Memory, longReplyModel(size))
		want := longText("a0", size)
		a := w.do("POST", "/api/v1/runs?wait=1m", m{"document": agentChain(1)}).is(201)
		at := a.header.Get("Location")
		checkLong(t, w, a.body, size, want, "output")
		checkLong(t, w, w.do("GET", at, nil).is(200).body, size, want, "steps", "last", "output")
		checkLong(t, w, w.do("GET", at+"?steps=none", nil).is(200).body, size, want, "outputs", "a0")
		checkLong(t, w, w.do("GET", at+"?steps=none", nil).is(200).body, size, want, "state", "a0")
		checkLong(t, w, w.do("GET", at+"/steps", nil).is(200).body, size, want, "items", "last", "output")
		checkLong(t, w, w.do("GET", at+"/steps/2", nil).is(200).body, size, want, "output")
		checkLong(t, w, w.do("GET", at+"/logs", nil).is(200).body, size, want, "items", "last", "content")
		checkLong(t, w, w.do("GET", at+"/trail", nil).is(200).body, size, want, "items", "last", "output")
		checkLong(t, w, w.do("GET", at+"/context", nil).is(200).body, size, want, "a0", "output")
		var page struct{ Items []json.RawMessage }
		w.do("GET", at+"/events", nil).is(200).decode(&page)
		seen := 0
		for _, e := range page.Items {
			if strings.Contains(string(e), `"step.completed"`) && strings.Contains(string(e), `"node":"a0"`) {
				checkLong(t, w, string(e), size, want, "data", "output")
				seen++
			}
			if strings.Contains(string(e), `"model.replied"`) {
				checkLong(t, w, string(e), size, want, "data", "message", "text")
				seen++
			}
		}
		if seen != 2 {
			t.Errorf("%d events have the text", seen)
		}
		if ref := referenceAt(t, w.do("GET", at+"/steps?limit=1", nil).is(200).body, "items", "last",
			"output"); ref != nil {
			t.Errorf("the short output of the start is a reference: %+v", ref)
		}
		if ref := referenceAt(t, w.do("GET", at+"/steps/1", nil).is(200).body, "output"); ref != nil {
			t.Errorf("the short output of the start is a reference: %+v", ref)
		}
		w.do("GET", at+"/steps/99", nil).problem(404, "not_found")
	}
}

// checkLong compares a string in a response, or the value that a reference in its place refers to.
func checkLong(t *testing.T, w *world, body string, size int, want string, path ...string) {
	t.Helper()
	ref := referenceAt(t, body, path...)
	if size <= view.Limit {
		if quoted, _ := json.Marshal(want); ref != nil ||
			!strings.Contains(canonical(t, body), canonical(t, string(quoted))) {
			t.Errorf("%v is not the text: %+v", path, ref)
		}
		return
	}
	if ref == nil {
		t.Errorf("%v is no reference in an answer of %d bytes", path, len(body))
		return
	}
	a := w.do("GET", ref.Href, nil).is(200)
	h := a.header
	if a.body != want || ref.Bytes != int64(size) || ref.SHA256 != journal.HashOf([]byte(want)) ||
		!strings.HasPrefix(want, ref.Head) || len(ref.Head) < 200 {
		t.Errorf("%v: %d bytes at %+v", path, len(a.body), ref)
	}
	if h.Get("Content-Length") != fmt.Sprint(size) || h.Get("ETag") != `"`+ref.SHA256+`"` ||
		h.Get("Content-Type") != "text/plain; charset=utf-8" {
		t.Errorf("%v: header %v", path, h)
	}
	if again := w.do("GET", ref.Href, nil, "If-None-Match", h.Get("ETag")).is(304); again.body != "" {
		t.Errorf("304 with a body")
	}
}

// canonical returns JSON in the form in which this test compares it.
func canonical(t *testing.T, text string) string {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatal(err)
	}
	b, _ := json.Marshal(v)
	return string(b)
}

// TestValues_OtherNamespace checks that a value can be read only through a run that shows it:
// neither a definition nor a value of another run or namespace can be.
func TestValues_OtherNamespace(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, service.Memory, longReplyModel(view.Limit+1))
	mine := w.do("POST", "/api/v1/runs?wait=1m", m{"document": agentChain(1)}).is(201)
	ref := referenceAt(t, mine.body, "output")
	other := w.do("POST", "/api/v1/runs?wait=1m", m{"document": poem}).is(201).header.Get("Location")
	for _, path := range []string{
		other + "/values/" + ref.SHA256, ref.Href + "?type=json", mine.header.Get("Location") + "/values/" +
			journal.HashOf([]byte("guess")),
		mine.header.Get("Location") + "/values/" + strings.ToUpper(ref.SHA256),
		mine.header.Get("Location") + "/values/x", "/api/v1/runs/none/values/" + ref.SHA256,
	} {
		w.do("GET", path, nil).problem(404, "not_found")
	}
	h, err := w.service.Head(t.Context(), strings.TrimPrefix(mine.header.Get("Location"), "/api/v1/runs/"))
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{"text", "json"} {
		w.do("GET", mine.header.Get("Location")+"/values/"+h.Definition+"?type="+kind, nil).problem(404, "not_found")
	}
	w.do("GET", ref.Href+"?type=xml", nil).problem(422, "invalid")
}

// fakeReferenceModel calls a tool with arguments that look like a reference, in several spellings.
type fakeReferenceModel struct{}

var pretended = []string{
	`{"$value":{"bytes":1,"sha256":"0","head":"","href":"http://evil.example/"}}`, `{"$value":1}`,
	`{"thought":[{"\u0024valu\u0065":{"href":"x"}}]}`, `{"thought":{"a":{"$value":null}}}`,
	`{"$value":1,"more":2}`, `{"thought":"{\"$value\":1}"}`,
}

func (fakeReferenceModel) Call(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	r := model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText("done")}, Model: q.Model,
		StopReason: model.StopEnd}
	if q.Messages[len(q.Messages)-1].Role == chat.RoleUser {
		r.StopReason, r.Message = model.StopToolCalls, chat.Message{Role: chat.RoleAssistant}
		for i, text := range pretended {
			r.Message.ToolCalls = append(r.Message.ToolCalls, chat.ToolCall{ID: fmt.Sprint("c", i), Name: "think",
				Arguments: json.RawMessage(text)})
		}
	}
	return r, nil
}

// TestValues_ForgedReferences checks that model output can always be distinguished from the
// server's own references (SEC6): it is shown as a reference, and its value is at the URL of that
// reference.
func TestValues_ForgedReferences(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, service.Memory, fakeReferenceModel{})
	at := w.do("POST", "/api/v1/runs?wait=1m",
		m{"document": strings.Replace(poem, "instruction: Write.", "instruction: Write., toolsets: [{type: think}]",
			1)}).is(201).header.Get("Location")
	var page struct {
		Items []struct {
			Type string
			Data struct {
				Message struct {
					ToolCalls []struct{ Arguments json.RawMessage }
				}
			}
		}
	}
	w.do("GET", at+"/events", nil).is(200).decode(&page)
	seen := 0
	for _, e := range page.Items {
		for i, c := range e.Data.Message.ToolCalls {
			seen++
			ref := referenceAt(t, string(c.Arguments))
			if i >= 4 {
				if canonical(t, string(c.Arguments)) != canonical(t, pretended[i]) {
					t.Errorf("%s is shown as %s", pretended[i], c.Arguments)
				}
				continue
			}
			if ref == nil || !strings.HasPrefix(ref.Href, at+"/values/") {
				t.Fatalf("%s is shown as %s", pretended[i], c.Arguments)
			}
			a := w.do("GET", ref.Href, nil).is(200)
			if a.body != pretended[i] || a.header.Get("Content-Type") != "application/json" ||
				int64(len(a.body)) != ref.Bytes || journal.HashOf([]byte(a.body)) != ref.SHA256 {
				t.Errorf("%s is %s at %+v", pretended[i], a.body, ref)
			}
		}
	}
	if seen != len(pretended) {
		t.Errorf("%d calls", seen)
	}
}

// TestViewPages checks that steps, logs and trail are served in consecutive pages, and that a
// cursor that no page returned yields 400.
func TestViewPages(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, service.Memory, longReplyModel(30<<10)) // more in total than a view keeps
	const agents = 40
	run := w.do("POST", "/api/v1/runs?wait=1m", m{"document": agentChain(agents)}).is(201)
	at := run.header.Get("Location")
	for _, c := range []struct {
		path, items, next string
		all               int
	}{{"", "steps", "stepsNext", agents + 1}, {"/steps", "items", "next", agents + 1},
		{"/logs", "items", "next", 3*agents + 1}, {"/trail", "items", "next", agents}} {
		var all, paged []any
		var whole map[string]any
		w.do("GET", at+c.path+"?limit=1000", nil).is(200).decode(&whole)
		all = whole[c.items].([]any)
		cursor, pages := "", 0
		for {
			var page map[string]any
			w.do("GET", at+c.path+"?limit=25&cursor="+cursor, nil).is(200).decode(&page)
			items := page[c.items].([]any)
			paged, pages = append(paged, items...), pages+1
			if cursor = page[c.next].(string); cursor == "" {
				break
			}
			if len(items) != 25 {
				t.Fatalf("%s: a page of %d", c.path, len(items))
			}
		}
		if len(all) != c.all || len(paged) != c.all || pages != (c.all+24)/25 || whole[c.next] != "" {
			t.Errorf("%s: %d at once, %d on %d pages, want %d", c.path, len(all), len(paged), pages, c.all)
		}
		for i := range paged {
			if !reflect.DeepEqual(paged[i], all[i]) && !strings.Contains(fmt.Sprint(all[i]), "$value") {
				t.Fatalf("%s: entry %d is %.200v on a page, and %.200v", c.path, i, paged[i], all[i])
			}
			// a run object has outputs before steps, which are then references
			if i == 0 || c.path == "/logs" || c.path == "" {
				continue
			}
			text, want := paged[i].(map[string]any)["output"], longText(fmt.Sprintf("a%d", i-len(paged)+agents), 30<<10)
			// an entry of the trail has the previous output as well, and its last outputs are references
			if _, isReference := text.(map[string]any); isReference && c.path == "/trail" && i%25 >= 20 {
				continue
			}
			if text != want {
				t.Errorf("%s: entry %d gave %.100v", c.path, i, text)
			}
		}
		for _, bad := range []string{"x", "MTI", "c3RlcHM6LTE", "c3RlcHM6MDE", "c3RlcHM6MX", "bm90aGluZzox",
			"c3RlcHM6OTk5OTk5OTk5OTk5", strings.Repeat("A", 2000)} {
			if p := w.do("GET", at+c.path+"?cursor="+bad, nil).problem(http.StatusBadRequest,
				"invalid"); !strings.Contains(p.Detail, "cursor") {
				t.Errorf("%s?cursor=%s: %+v", c.path, bad, p)
			}
		}
		w.do("GET", at+c.path+"?limit=1001", nil).problem(422, "invalid")
	}
	var page map[string]any
	w.do("GET", at+"/logs?limit=1", nil).is(200).decode(&page)
	w.do("GET", at+"/trail?cursor="+page["next"].(string), nil).problem(http.StatusBadRequest, "invalid")
	if w.do("GET", at+"?steps=none", nil).is(200).decode(&page); len(page["steps"].([]any)) != 0 {
		t.Error("steps=none has steps")
	}
	w.do("GET", at+"?steps=all", nil).problem(422, "invalid")
	if a := w.do("GET", at+"/events?limit=1000&short=256", nil).is(200); len(a.body) > agents*5000 {
		t.Errorf("events with short=256 have %d bytes", len(a.body))
	}
}
