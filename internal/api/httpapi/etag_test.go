package httpapi_test

import (
	"strings"
	"testing"
)

// TestPreconditionFailed_ReturnsETag checks that a change that comes too late is rejected with the
// tag of the stored state, so that a client can show both states and overwrite the one that it has
// shown (P38, P39).
func TestPreconditionFailed_ReturnsETag(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := strings.Replace(poem, "Write.", "Write well.", 1)
	tag := func(a answer) string { return a.header.Get("ETag") }
	first := tag(w.do("POST", "/api/v1/workflows", m{"id": "poem", "document": poem}).is(201))
	now := tag(w.do("PUT", "/api/v1/workflows/poem", m{"document": other}).is(200))
	draft := tag(w.do("POST", "/api/v1/workflows", m{"id": "draft", "document": poem, "draft": true}).is(201))
	oldAgent := tag(w.do("POST", "/api/v1/agents", m{"id": "ada", "model": "own/m"}).is(201))
	agent := tag(w.do("PUT", "/api/v1/agents/ada", m{"model": "own/n"}).is(200))
	for _, tt := range []struct {
		method, path string
		body         any
		match, want  string
	}{
		{"POST", "/workflows", m{"id": "poem", "document": poem}, "", now},
		{"PUT", "/workflows/poem", m{"document": poem}, first, now},
		{"DELETE", "/workflows/poem", nil, first, now},
		{"POST", "/workflows/poem/publish", m{"version": 1}, first, now},
		{"PUT", "/workflows/draft", m{"document": other, "draft": true}, first, draft},
		{"PUT", "/workflows/missing", m{"document": poem}, first, ""},
		{"POST", "/agents", m{"id": "ada", "model": "own/m"}, "", agent},
		{"PUT", "/agents/ada", m{"model": "own/m"}, oldAgent, agent},
		{"DELETE", "/agents/ada", nil, oldAgent, agent},
	} {
		var header []string
		if tt.match != "" {
			header = []string{"If-Match", tt.match}
		}
		refused := w.do(tt.method, "/api/v1"+tt.path, tt.body, header...)
		if refused.problem(409, "conflict"); tag(refused) != tt.want {
			t.Errorf("%s %s: refused with the ETag %q, want %q", tt.method, tt.path, tag(refused), tt.want)
		}
	}
	w.do("PUT", "/api/v1/workflows/poem", m{"document": poem}, "If-Match", now).is(200)
}
