package httpapi_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// TestLayout checks that positions are stored next to a workflow, without a version and under their
// own tag, and are written into a document only on request.
func TestLayout(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	const path = "/api/v1/workflows/post/layout"
	w.do("GET", path, nil).problem(404, "not_found")
	w.do("PUT", path, m{"nodes": m{}}, "If-Match", "*").problem(404, "not_found")
	tag := w.do("PUT", "/api/v1/workflows/post", m{"document": post}).is(200).header.Get("ETag")

	var got httpapi.Layout
	a := w.do("GET", path, nil).is(200)
	a.decode(&got)
	empty := a.header.Get("ETag")
	if len(got.Nodes) != 0 || empty == "" || empty == tag {
		t.Errorf("%s %+v", empty, got)
	}
	body := m{"nodes": m{"s": m{"x": 5, "y": -7.5}, "w": m{"x": 100, "y": 0}, "gone": m{"x": 1, "y": 1}},
		"branches": m{"side": m{"y": m{"x": 3, "y": 4}}}}
	w.do("PUT", path, body).problem(422, "invalid")
	now := w.do("PUT", path, body, "If-Match", empty).is(200).header.Get("ETag")
	refused := w.do("PUT", path, body, "If-Match", empty)
	if refused.problem(409, "conflict"); refused.header.Get("ETag") != now {
		t.Errorf("refused with the ETag %q, want %s", refused.header.Get("ETag"), now)
	}
	w.do("GET", path, nil, "If-None-Match", now).is(304)
	a = w.do("GET", path, nil).is(200)
	if a.decode(&got); got.Nodes["s"] != (httpapi.Position{X: 5, Y: -7.5}) || got.Branches["side"]["y"].Y != 4 ||
		a.header.Get("ETag") != now {
		t.Errorf("%+v", got)
	}

	var d httpapi.Definition
	a = w.do("GET", "/api/v1/workflows/post", nil).is(200)
	if a.decode(&d); d.Document != post || a.header.Get("ETag") != tag || len(d.Versions) != 1 {
		t.Errorf("a layout changed the workflow: %+v", d)
	}
	w.do("GET", "/api/v1/workflows/post?layout=true", nil, "If-None-Match", tag).is(200).decode(&d)
	want := strings.NewReplacer(`{"id": "s",`, `{"id": "s", "x": 5, "y": -7.5,`, `{"id": "w",`,
		`{"id": "w", "x": 100, "y": 0,`).Replace(post)
	if d.Document != want {
		t.Errorf("got %s\nwant %s", d.Document, want)
	}
	if c := w.compiled(m{"document": d.Document}); !c.OK || len(c.Diagnostics) != 0 {
		t.Errorf("%+v", c)
	}

	w.do("PUT", path, m{"nodes": m{"s": m{"x": 1e9, "y": 0}}}, "If-Match", "*").problem(422, "invalid")
	w.do("PUT", path, `{"nodes": {"s": {"x": "1", "y": 0}}}`, "If-Match", "*").problem(422, "invalid")
	many := m{}
	for i := range 20_001 {
		many[fmt.Sprint(i)] = m{"x": 1, "y": 1}
	}
	w.do("PUT", path, m{"nodes": many}, "If-Match", "*").problem(422, "invalid")
	w.do("PUT", path, m{"nodes": m{strings.Repeat("x", 3<<20): m{"x": 1, "y": 1}}}, "If-Match", "*").problem(413,
		"too_large")
	w.withCaller(access.RoleRun, false).do("GET", path, nil).problem(403, "forbidden")

	w.do("PUT", path, m{"nodes": m{}}, "If-Match", now).is(200)
	w.do("GET", "/api/v1/workflows/post?layout=true", nil).is(200).decode(&d)
	if d.Document != post {
		t.Errorf("%s", d.Document)
	}
}
