package runsapi_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/api/runsapi"
	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/sse"
)

// document asks twice: a question and an approval.
const document = `
agents:
  a: {model: openai/m, instruction: Say it.}
workflow:
  - {type: agent, name: a, id: draft}
  - {type: ask, id: which, prompt: "Which one?"}
  - {type: approval, id: agree, prompt: "Send it?"}
`

// world is a service with a waiting run, behind a handler under /ops that lets alice do everything,
// bob everything but approve, and carol see only one run.
type world struct {
	*httptest.Server
	t     *testing.T
	s     *service.Service
	mu    sync.Mutex
	asked []string
}

func newWorld(t *testing.T) *world {
	t.Helper()
	s, err := service.Open(t.Context(), service.Config{Documents: linked.Kit(), DB: service.Memory,
		Env: func(string) string { return "" }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	w := &world{t: t, s: s}
	h, err := runsapi.New(runsapi.Config{Service: s, MaxBody: 2000,
		Authorize: func(r *http.Request, action, run string) (string, error) {
			w.mu.Lock()
			w.asked = append(w.asked, action+" "+run)
			w.mu.Unlock()
			switch who := r.Header.Get("X-User"); {
			case who == "alice", who == "bob" && action != runsapi.ActionApprove, who == "carol" &&
				(action == runsapi.ActionList || action == runsapi.ActionShow && run == "two"):
				return who, nil
			case who == "nameless":
				return "", nil
			}
			return "", errors.New("the secret reason")
		}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Close)
	mux := http.NewServeMux()
	mux.Handle("/ops/", http.StripPrefix("/ops", h))
	w.Server = httptest.NewServer(mux)
	t.Cleanup(w.Close)
	for _, id := range []string{"one", "two"} {
		w.start(id)
	}
	return w
}

// start starts a run and waits until it asks.
func (w *world) start(id string) {
	w.t.Helper()
	doc, problems, err := w.s.Load(w.t.Context(), "doc.yaml", []byte(document), service.LoadOptions{})
	if err != nil || problems.HasErrors() {
		w.t.Fatal(err, problems)
	}
	long := strings.Repeat("long ", 10_000)
	if _, err := w.s.Start(w.t.Context(), service.StartRequest{Workflow: doc, RunID: id, Input: long,
		Trigger: service.TriggerProgram,
		Files:   service.Files{Replies: []byte("replies:\n  - {text: said, times: always}\n")}}); err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.s.Wait(w.t.Context(), id); err != nil {
		w.t.Fatal(err)
	}
}

// ask sends a request; headers are name-value pairs.
func (w *world) ask(method, path, body string, headers ...string) (int, string) {
	w.t.Helper()
	r, err := http.NewRequestWithContext(w.t.Context(), method, w.URL+path, strings.NewReader(body))
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("X-User", "alice")
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	resp, err := w.Client().Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		w.t.Fatal(err)
	}
	return resp.StatusCode, string(text)
}

// api returns the response of the HTTP API to a request for path, with its URLs moved under /ops/.
func (w *world) api(path string) any {
	w.t.Helper()
	r := httptest.NewRequest(http.MethodGet, "/api/v1"+path, nil)
	r = r.WithContext(transport.With(r.Context(), &transport.Caller{Principal: access.Principal{Role: access.RoleRun},
		Service: w.s}))
	rec := httptest.NewRecorder()
	httpapi.New(httpapi.Config{}).ServeHTTP(rec, r)
	if rec.Code != http.StatusOK {
		w.t.Fatalf("the API answers %s with %d %s", path, rec.Code, rec.Body)
	}
	return decoded(w.t, strings.ReplaceAll(rec.Body.String(), "/api/v1/", "/ops/"))
}

func decoded(t *testing.T, text string) (v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if m, ok := v.(map[string]any); ok {
		delete(m, "$schema")
	}
	return v
}

// TestHandler_MatchesHTTPAPI checks X-153: paths, queries and JSON are the same as in the HTTP API,
// except that URLs of long values are under the handler, which serves them.
func TestHandler_MatchesHTTPAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, path := range []string{
		"/runs", "/runs?limit=1",
		"/runs?status=paused,running&format=steps&q=long&maxCost=5&createdBefore=2999-01-01T00:00:00Z",
		"/runs?status=failed", "/runs/one", "/runs/one?limit=1", "/runs/two?steps=none", "/runs/one/events",
		"/runs/one/events?limit=2", "/runs/one/events?cursor=2&expand=true",
		"/runs/one/context",
	} {
		status, got := w.ask(http.MethodGet, "/ops"+path, "")
		if status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, got)
			continue
		}
		if d := cmp.Diff(w.api(path), decoded(t, got)); d != "" {
			t.Errorf("%s: -API +handler\n%s", path, d)
		}
	}
	_, run := w.ask(http.MethodGet, "/ops/runs/one", "")
	_, rest, ok := strings.Cut(run, `"href":"`)
	href, _, _ := strings.Cut(rest, `"`)
	if status, text := w.ask(http.MethodGet, href, ""); !ok || status != http.StatusOK || len(text) != 50_000 {
		t.Errorf("%s: %d, %d bytes", href, status, len(text))
	}
}

// TestChanges checks X-153: an answer and a cancellation change the run and record the name of the
// caller.
func TestChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if status, text := w.ask(http.MethodPost, "/ops/runs/one/resume",
		"\uFEFF"+`{"input": "the first", "node": "which"}`,
		"X-User", "bob"); status != http.StatusOK || !strings.Contains(text, `"status":`) {
		t.Fatalf("%d %s", status, text)
	}
	if _, err := w.s.Wait(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if status, text := w.ask(http.MethodPost, "/ops/runs/one/resume", `{"decision": "approve"}`, "X-User",
		"bob"); status != http.StatusForbidden || strings.Contains(text, "secret") {
		t.Errorf("bob approves: %d %s", status, text)
	}
	if status, text := w.ask(http.MethodPost, "/ops/runs/one/resume",
		`{"decision": "approve", "note": "fine"}`); status != http.StatusOK {
		t.Errorf("alice approves: %d %s", status, text)
	}
	if _, err := w.s.Wait(t.Context(), "one"); err != nil {
		t.Fatal(err)
	}
	if _, text := w.ask(http.MethodGet, "/ops/runs/one", ""); !strings.Contains(text, `"status":"completed"`) {
		t.Error(text)
	}
	_, events := w.ask(http.MethodGet, "/ops/runs/one/events", "")
	for _, want := range []string{`"name":"bob"`, `"name":"alice"`} {
		if !strings.Contains(events, want) {
			t.Errorf("the journal lacks %s", want)
		}
	}
	for range 2 { // the second time there is nothing left to do
		if status, text := w.ask(http.MethodPost, "/ops/runs/two/cancel",
			`{"reason": "enough"}`); status != http.StatusOK || !strings.Contains(text, `"status":"cancelled"`) {
			t.Errorf("%d %s", status, text)
		}
	}
	if status, text := w.ask(http.MethodPost, "/ops/runs/one/cancel", `{}`); status != http.StatusConflict {
		t.Errorf("%d %s", status, text)
	}
}

// TestRefusals checks X-154: nothing is disclosed or changed that the program does not allow, and
// nothing is changed by a page of another site, by a form, or by anything else that is not a
// request of this API.
func TestRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const resume = "/ops/runs/one/resume"
	answer := `{"input": "x"}`
	for name, tc := range map[string]struct {
		method, path, body string
		headers            []string
		status             int
		says               string
	}{
		"no user":          {"GET", "/ops/runs/one", "", []string{"X-User", ""}, 403, "you are not allowed"},
		"no such run":      {"GET", "/ops/runs/none", "", []string{"X-User", "carol"}, 403, "you are not allowed"},
		"unknown run":      {"GET", "/ops/runs/none", "", nil, 404, ""},
		"no name":          {"GET", "/ops/runs", "", []string{"X-User", "nameless"}, 403, ""},
		"no user lists":    {"GET", "/ops/runs?colour=red", "", []string{"X-User", ""}, 403, ""},
		"no user answers":  {"POST", resume, answer, []string{"X-User", "carol"}, 403, ""},
		"a guest's values": {"GET", "/ops/runs/one/values/00", "", []string{"X-User", "carol"}, 403, ""},
		"a guest's events": {"GET", "/ops/runs/one/events", "",
			[]string{"X-User", "carol", "Accept", "text/event-stream"}, 403, ""},
		"another site":   {"POST", resume, answer, []string{"Sec-Fetch-Site", "cross-site"}, 403, "another site"},
		"another origin": {"POST", resume, answer, []string{"Origin", "https://evil.example"}, 403, "another site"},
		"form": {"POST", resume, "input=x", []string{"Content-Type", "application/x-www-form-urlencoded"},
			415, "application/json"},
		"text":         {"POST", resume, answer, []string{"Content-Type", "text/plain"}, 415, "application/json"},
		"packed":       {"POST", resume, answer, []string{"Content-Encoding", "gzip"}, 415, "compressed"},
		"long":         {"POST", resume, `{"input": "` + strings.Repeat("x", 3000) + `"}`, nil, 413, ""},
		"not JSON":     {"POST", resume, "{", nil, 422, "body: "},
		"two values":   {"POST", resume, answer + answer, nil, 400, "more than one"},
		"not UTF-8":    {"POST", resume, "{\"input\": \"\xff\"}", nil, 400, "UTF-8"},
		"limits":       {"POST", resume, `{"limits": {"maxTokens": 5}}`, nil, 422, "limits"},
		"both":         {"POST", resume, `{"input": 1, "decision": "a"}`, nil, 422, "exclude each other"},
		"no answer":    {"POST", resume, `{"note": "n"}`, nil, 422, "missing answer"},
		"another wait": {"POST", resume, `{"input": 1, "wait": "w99"}`, nil, 404, ""},
		"long reason": {"POST", "/ops/runs/one/cancel", `{"reason": "` + strings.Repeat("x", 1990) + `"}`, nil,
			413, ""},
		"method":             {"DELETE", "/ops/runs/one", "", nil, 405, "GET, HEAD"},
		"answer by GET":      {"GET", resume, "", nil, 405, "POST"},
		"path":               {"GET", "/ops/workflows", "", nil, 404, "no such path"},
		"parameter":          {"GET", "/ops/runs?colour=red", "", nil, 400, "query.colour"},
		"parameter twice":    {"GET", "/ops/runs?limit=1&limit=2", "", nil, 400, "more than once"},
		"status":             {"GET", "/ops/runs?status=lost", "", nil, 422, "query.status"},
		"limit":              {"GET", "/ops/runs?limit=1000", "", nil, 422, "from 1 to 200"},
		"time":               {"GET", "/ops/runs?createdFrom=today", "", nil, 422, "query.createdFrom"},
		"cost":               {"GET", "/ops/runs?minCost=-1", "", nil, 422, "query.minCost"},
		"cursor":             {"GET", "/ops/runs/one/events?cursor=x", "", nil, 400, "query.cursor"},
		"cursor of steps":    {"GET", "/ops/runs/one?cursor=x", "", nil, 400, "query.cursor"},
		"steps":              {"GET", "/ops/runs/one?steps=all", "", nil, 422, "query.steps"},
		"type of a value":    {"GET", "/ops/runs/one/values/00?type=xml", "", nil, 422, "query.type"},
		"value":              {"GET", "/ops/runs/one/values/00", "", nil, 404, ""},
		"stream's parameter": {"GET", "/ops/runs/one/events?after=2", "", nil, 400, "text/event-stream"},
	} {
		status, text := w.ask(tc.method, tc.path, tc.body, tc.headers...)
		if status != tc.status || !strings.Contains(text, tc.says) || strings.Contains(text, "secret") ||
			!strings.Contains(text, `"title":`) {
			t.Errorf("%s: %d %s, want %d %s", name, status, text, tc.status, tc.says)
		}
	}
	if o, err := w.s.Show(t.Context(), "one"); err != nil || o.Status != "paused" || len(o.Waiting) != 1 ||
		o.Waiting[0].Node != "which" {
		t.Errorf("the run was changed: %s, %+v, %v", o.Status, o.Waiting, err)
	}
	if _, text := w.ask(http.MethodGet, "/ops/runs", "", "X-User", "carol"); strings.Contains(text, `"id":"one"`) ||
		!strings.Contains(text, `"id":"two"`) {
		t.Errorf("carol sees %s", text)
	}
	anybody := func(*http.Request, string, string) (string, error) { return "x", nil }
	for _, bad := range []runsapi.Config{{Service: w.s}, {Authorize: anybody},
		{Service: w.s, MaxBody: -1, Authorize: anybody}} {
		if h, err := runsapi.New(bad); h != nil || err == nil {
			t.Errorf("%+v: %v", bad, err)
		}
	}
}

// TestStream checks X-153: with Accept: text/event-stream the events are a stream, which continues
// as the run does and ends with it.
func TestStream(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+"/ops/runs/one/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("X-User", "carol")
	r.Header.Set("Accept", "text/event-stream")
	r.URL.Path = "/ops/runs/two/events"
	resp, err := w.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var names []string
	for e, err := range sse.Events(resp.Body) {
		if err != nil {
			t.Fatal(err)
		}
		names = append(names, e.Name)
		if e.Name == "run.paused" {
			if err := w.s.Cancel(ctx, "two", "enough"); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(names); n < 3 || names[n-1] != "end" || names[n-2] != "run.cancelled" {
		t.Errorf("streamed %v", names)
	}
}
