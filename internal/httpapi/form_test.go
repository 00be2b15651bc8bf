package httpapi_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/door"
)

// TestForm: whatever is wrong with a request's form is a problem with a code, of the mux and of huma too (SEC7).
func TestForm(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, c := range []struct {
		name, method, path string
		status             int
		code, says         string
	}{
		{"unknown path", "GET", "/api/v1/nothing", 404, "not_found", "/api/v1/nothing"},
		{"method", "PATCH", "/api/v1/runs", 405, "method_not_allowed", "/api/v1/runs takes GET"},
		{"unknown parameter", "GET", "/api/v1/runs?state=paused", 400, "invalid", "state"},
		{"parameter twice", "GET", "/api/v1/runs?status=paused&status=failed", 400, "invalid", "status"},
		{"bad query", "GET", "/api/v1/runs?%zz=1", 400, "invalid", "query"},
		{"unknown status", "GET", "/api/v1/runs?status=idle", 422, "invalid", "pending, running"},
		{"limit", "GET", "/api/v1/runs?limit=1000", 422, "invalid", "query.limit"},
		{"no run", "GET", "/api/v1/runs/nobody", 404, "not_found", ""},
		{"bad cursor", "GET", "/api/v1/runs?cursor=x", 422, "invalid", "cursor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			w := *w
			w.t = t
			if p := w.do(c.method, c.path, nil).problem(c.status, c.code); !strings.Contains(p.Detail, c.says) {
				t.Errorf("detail %q does not say %q", p.Detail, c.says)
			}
		})
	}
	if allow := w.do("PATCH", "/api/v1/runs", nil).header.Get("Allow"); !strings.Contains(allow, "GET") {
		t.Errorf("Allow %q", allow)
	}
}

// TestLargeBodies: a body above the limit is 413, whether the API counts it or a guard cuts it off (SEC17).
func TestLargeBodies(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := `{"document": "` + strings.Repeat("x", 12<<20) + `"}`
	w.do("POST", "/api/v1/runs", body).problem(413, "too_large")
	api := w.api
	guarded := http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(rw, r.Body, 10)
		api.ServeHTTP(rw, r)
	})
	r := httptest.NewRequestWithContext(door.With(t.Context(), &door.Caller{Principal: w.caller, Service: w.service}), "POST", "/api/v1/runs", strings.NewReader(`{"document": "x"}`))
	rec := httptest.NewRecorder()
	guarded.ServeHTTP(rec, r)
	answer{t, rec.Code, rec.Header(), rec.Body.String()}.problem(413, "too_large")
}
