package httpapi_test

import (
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/httpapi"
)

// TestBodyLimit checks that a body at the limit is accepted and that one byte more is too large
// (SEC17).
func TestBodyLimit(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.api = httpapi.New(httpapi.Config{MaxBody: 1024})
	body := func(n int) string { return `{"workflow": "` + strings.Repeat("x", n-len(`{"workflow": ""}`)) + `"}` }
	w.do("POST", "/api/v1/runs", body(1024)).problem(404, "not_found")
	w.do("POST", "/api/v1/runs", "\uFEFF"+body(1000)).problem(404, "not_found")
	w.do("POST", "/api/v1/runs", body(1025)).problem(413, "too_large")
}

// TestRequest_ValidationOrder checks that the errors in a body are reported in the same order
// however often it is sent.
func TestRequest_ValidationOrder(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for range 20 {
		if p := w.do("POST", "/api/v1/runs", `{"d": 1, "b": 1, "a": 1, "c": 1}`).problem(422,
			"invalid"); !strings.HasPrefix(p.Detail, "body.a: ") || !strings.Contains(p.Detail, "; body.d: ") {
			t.Fatalf("told %s", p.Detail)
		}
	}
}
