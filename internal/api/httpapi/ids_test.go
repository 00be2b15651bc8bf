package httpapi_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/api/httpapi"
	"github.com/hocket-run/hocket/internal/catalog/catalogtest"
)

// TestIDsByHTTP checks that valid ids can be created, shown and deleted at their URL, and that
// invalid ids are rejected by every operation that stores and are not stored (SEC16).
func TestIDsByHTTP(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, id := range catalogtest.GoodIDs() {
		for kind, body := range map[string]m{"agents": {"id": id, "name": "x"},
			"workflows": {"id": id, "document": poem}} {
			at := "/api/v1/" + kind + "/" + url.PathEscape(id)
			if made := w.do("POST", "/api/v1/"+kind, body); made.status != 201 || made.header.Get("Location") != at {
				t.Errorf("%s %q: %d at %q: %s", kind, id, made.status, made.header.Get("Location"), made.body)
			}
			w.do("GET", at, nil).is(200)
			w.do("DELETE", at, nil).is(204)
			w.do("GET", at, nil).is(404)
		}
	}
	bad := []any{0, 7.5, true, []any{"a"}, m{"a": 1}, nil}
	for _, id := range catalogtest.BadIDs() {
		if utf8.ValidString(id) { // JSON has no other strings
			bad = append(bad, id)
		}
	}
	for _, id := range bad {
		for _, q := range []struct {
			method, path string
			body         any
		}{
			{"POST", "/api/v1/agents", m{"id": id, "name": "x"}},
			{"POST", "/api/v1/agents/apply",
				m{
					"documents": []m{{"file": "agents",
						"document": fmt.Sprintf(`{"agents": [%s]}`, jsonOf(t, m{"id": id, "name": "x"}))}},
				}},
			{"POST", "/api/v1/workflows",
				m{
					"document": fmt.Sprintf(`{"id": %s, "nodes": [{"id": "s", "type": "start", "data": {}}], `+
						`"connections": []}`, jsonOf(t, id)),
				}},
			{"POST", "/api/v1/workflows", m{"id": "w", "document": poem, "agents": []any{m{"id": id, "name": "x"}}}},
			{"PUT", "/api/v1/agents/a", m{"id": id, "name": "x"}},
		} {
			if q.method == "PUT" && (id == nil || id == "") || strings.HasSuffix(q.path, "/workflows") && id == "" {
				continue // the URL has the id; a workflow without one is named by the request
			}
			if a := w.do(q.method, q.path, q.body); a.status != 422 && a.status != 400 {
				t.Errorf("%s %s with the id %.40v: %d %.200s", q.method, q.path, id, a.status, a.body)
			}
		}
		if text, ok := id.(string); ok && text != "" && len(text) < 1000 {
			w.do("PUT", "/api/v1/agents/"+url.PathEscape(text), m{"name": "x"}).refusedID()
			w.do("PUT", "/api/v1/workflows/"+url.PathEscape(text), m{"document": poem}).refusedID()
		}
	}
	for _, kind := range []string{"agents", "workflows"} {
		var list httpapi.List[any]
		if w.do("GET", "/api/v1/"+kind, nil).is(200).decode(&list); len(list.Items) > 0 {
			t.Errorf("%s are stored: %v", kind, list.Items)
		}
	}
}

// refusedID checks that nothing was stored: either the id was rejected, or the URL does not exist.
func (a answer) refusedID() {
	a.t.Helper()
	if a.status < 400 || a.status >= 500 {
		a.t.Errorf("got %d: %.200s", a.status, a.body)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
