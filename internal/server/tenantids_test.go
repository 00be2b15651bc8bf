package server_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// gate is a workflow that waits for a person.
const gate = `{"id": "flow-of-b", "nodes": [
  {"id": "s", "type": "start", "data": {"initialInput": "hi"}},
  {"id": "ok", "type": "approval"},
  {"id": "b", "type": "agent", "data": {"agentName": "writer"}}],
 "connections": [{"source": "s", "target": "ok"}, {"source": "ok", "target": "b", "sourceHandle": "approve"}]}`

// idsBySegment holds the ids of the items that fill adds to a namespace, keyed by the path segment
// that precedes the id.
type idsBySegment map[string]string

// fill adds a published workflow, an agent, and a paused run of the workflow to a namespace.
func (w *world) fill(t *testing.T, namespace, token string) {
	t.Helper()
	svc, err := w.Service(t.Context(), namespace)
	if err != nil {
		t.Fatal(err)
	}
	doc := service.Document{File: "flow-of-b.json", Data: []byte(gate)}
	if _, problems, err := svc.Apply(t.Context(),
		service.ApplyRequest{Documents: []service.Document{doc}}); err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	if rec := w.by(t, token, "POST", "/api/v1/agents",
		`{"id": "agent-of-b", "name": "B", "systemPrompt": "Write."}`); rec.Code != http.StatusCreated {
		t.Fatal(rec.Code, rec.Body)
	}
	wf, problems, err := service.Load(t.Context(), doc.File, doc.Data,
		service.LoadOptions{Formats: linked.Kit().Formats})
	if err != nil || problems.HasErrors() {
		t.Fatal(err, problems)
	}
	run, err := svc.Start(t.Context(), service.StartRequest{Workflow: wf, RunID: "run-of-b",
		Files: service.Files{Replies: []byte("replies:\n  - {text: hello}\n")}})
	if err != nil {
		t.Fatal(err)
	}
	if st, err := svc.Wait(t.Context(), run); err != nil || st.Status != event.StatusPaused {
		t.Fatal(st, err)
	}
}

// made creates an item with POST, and returns its id.
func (w *world) made(t *testing.T, token, path, body string) string {
	t.Helper()
	rec := w.by(t, token, "POST", path, body)
	var made struct{ ID string }
	if err := json.Unmarshal(rec.Body.Bytes(), &made); err != nil || rec.Code != http.StatusCreated || made.ID == "" {
		t.Fatalf("%s: %v, %d %s", path, err, rec.Code, rec.Body)
	}
	return made.ID
}

// undelivered returns the id of a notification that could not be delivered yet.
func (w *world) undelivered(t *testing.T, token string) (id string) {
	t.Helper()
	until(t, "a notification was tried", func() bool {
		rec := w.by(t, token, "GET", "/api/v1/notifications?state=pending", "")
		var page struct {
			Items []struct {
				ID    string
				Tries int
			}
		}
		if err := json.Unmarshal(rec.Body.Bytes(), &page); err != nil || rec.Code != http.StatusOK {
			t.Fatal(err, rec.Code, rec.Body)
		}
		for _, n := range page.Items {
			if n.Tries > 0 {
				id = n.ID
			}
		}
		return id != ""
	})
	return id
}

// TestIDs_OtherTenant requests every route that takes an id with ids of another tenant and with
// unknown ids: the responses are the same, and nothing is changed (SEC10, SEC20). The owner gets a
// different response, which shows that the ids are correct.
func TestIDs_OtherTenant(t *testing.T) {
	t.Parallel()
	deaf := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusInternalServerError)
	}))
	defer deaf.Close()
	w := open(t, server.Config{Service: service.Config{
		Documents: linked.Kit(),
		DB:        filepath.Join(t.TempDir(), "hocket.db"),
		Operator:  &config.Config{Outbound: config.Outbound{Allow: []string{deaf.URL}}},
	}})
	a, _ := w.create(t, access.Grant{Name: "of a", Namespace: "a", Role: access.RoleAdmin, Approve: true})
	b, tokenB := w.create(t, access.Grant{Name: "of b", Namespace: "b", Role: access.RoleAdmin, Approve: true})
	endpoint := w.made(t, b, "/api/v1/notifications/endpoints", `{"url": "`+deaf.URL+`"}`)
	w.fill(t, "b", b)
	ids := idsBySegment{
		"runs": "run-of-b", "workflows": "flow-of-b", "agents": "agent-of-b", "tokens": tokenB.ID, "versions": "1",
		"steps":     "1",
		"endpoints": endpoint, "webhooks": w.made(t, b, "/api/v1/webhooks", `{"workflow": "flow-of-b"}`),
		"notifications": w.undelivered(t, b),
	}
	random := idsBySegment{
		"runs": "run-of-x", "workflows": "flow-of-x", "agents": "agent-of-x", "tokens": "0123456789abcdef",
		"versions": "1", "steps": "1",
		"endpoints": "0123456789abcdee", "webhooks": "0123456789abcdec", "notifications": "b:1:0123456789abcdee",
	}

	parameter := regexp.MustCompile(`/([a-z]+)/\{[a-zA-Z]+\}`)
	path := func(route string, ids idsBySegment) string {
		return parameter.ReplaceAllStringFunc(route, func(s string) string {
			segment := parameter.FindStringSubmatch(s)[1]
			if ids[segment] == "" {
				return "/" + segment + "/thing-of-" + ids["runs"][len("run-of-"):]
			}
			return "/" + segment + "/" + ids[segment]
		})
	}
	plain := func(body string, ids idsBySegment) string {
		// some contain others
		for _, segment := range slices.SortedFunc(maps.Keys(ids), func(x, y string) int {
			return len(ids[y]) - len(ids[x])
		}) {
			if segment != "versions" && segment != "steps" {
				body = strings.ReplaceAll(body, ids[segment], segment)
			}
		}
		body = strings.ReplaceAll(body, "thing-of-"+ids["runs"][len("run-of-"):], "thing")
		return regexp.MustCompile(`"[^"]*(At|etag|ETag|digest)":"[^"]*"`).ReplaceAllString(body, "")
	}
	guarded, _ := w.Routes()
	asked, owned := 0, 0
	for _, r := range guarded {
		method, route, _ := strings.Cut(r, " ")
		if !strings.Contains(route, "{") || strings.HasPrefix(route, "/test/") {
			continue
		}
		looked := method == http.MethodPut || strings.HasSuffix(route, "/validate")
		for _, body := range []string{"", `{}`, `{"decision": "approve"}`, `{"at": 1}`, `{"document": "x"}`} {
			foreign, none := w.by(t, a, method, path(route, ids), body), w.by(t, a, method, path(route, random), body)
			asked++
			looked = looked || foreign.Code == http.StatusNotFound
			if foreign.Code != none.Code || plain(foreign.Body.String(), ids) != plain(none.Body.String(), random) {
				t.Errorf("%s %s with %s\nof another: %d %s\nunknown: %d %s", method, route, body, foreign.Code,
					foreign.Body, none.Code, none.Body)
			}
			// A PUT creates the caller's own item, and a submitted document is checked regardless.
			if foreign.Code < 300 && method != http.MethodPut && !strings.HasSuffix(route, "/validate") {
				t.Errorf("%s %s with %s: %d %s", method, route, body, foreign.Code, foreign.Body)
			}
		}
		if !looked {
			t.Errorf("no body reaches what %s looks for", r)
		}
		if method == http.MethodGet {
			if rec := w.by(t, b, method, path(route, ids), ""); rec.Code == http.StatusOK {
				owned++
			}
		}
	}
	if asked < 40 || owned < 6 {
		t.Errorf("%d requests, %d of the owner found something: the test looks in the wrong place", asked, owned)
	}
	for _, p := range []string{"/api/v1/runs/run-of-b", "/api/v1/workflows/flow-of-b", "/api/v1/agents/agent-of-b"} {
		if rec := w.by(t, b, "GET", p, ""); rec.Code != http.StatusOK || strings.Contains(p, "runs") &&
			!strings.Contains(rec.Body.String(), `"status":"paused"`) {
			t.Errorf("%s: %d %s", p, rec.Code, rec.Body)
		}
	}
	for _, r := range []string{"POST /webhooks/{}/rotate", "DELETE /webhooks/{}", "POST /notifications/{}/retry",
		"DELETE /notifications/endpoints/{}"} {
		method, route, _ := strings.Cut(r, " ")
		segments := strings.Split(route, "/")
		id := ids[segments[slices.Index(segments, "{}")-1]]
		if rec := w.by(t, b, method, "/api/v1"+strings.ReplaceAll(route, "{}", id),
			map[bool]string{true: "{}"}[strings.HasSuffix(r, "/rotate")]); rec.Code >= 300 {
			t.Errorf("the owner: %s %s: %d %s", r, id, rec.Code, rec.Body)
		}
	}
	for _, list := range []string{"runs", "workflows", "waits", "schedules", "webhooks", "notifications",
		"notifications/endpoints"} {
		if rec := w.by(t, a, "GET", "/api/v1/"+list, ""); rec.Code != http.StatusOK ||
			strings.Contains(rec.Body.String(), "of-b") && list != "workflows" {
			t.Errorf("%s: %d %s", list, rec.Code, rec.Body)
		}
	}
	if _, err := w.tokens().Find(t.Context(), b); err != nil {
		t.Errorf("the token of b: %v", err)
	}
	if rec := w.by(t, a, "GET", "/api/v1/audit?since="+time.Now().Add(-time.Hour).UTC().Format(time.RFC3339),
		""); rec.Code != http.StatusOK || strings.Contains(rec.Body.String(), `"namespace":"b"`) {
		t.Errorf("the audit log of a: %d %s", rec.Code, rec.Body)
	}
}
