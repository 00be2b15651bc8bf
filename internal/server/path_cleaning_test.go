package server_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/api/transport"
	"github.com/hocket-run/hocket/internal/server"
)

// TestPlainPaths checks that a path that is not in the form of routes results in a problem, never
// in a redirect page, and that unsupported methods of a path get 405 with Allow.
func TestPlainPaths(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{})
	for _, path := range []string{
		"/api/v1", "/api/v1/", "//api/v1/runs", "/api//v1/runs", "/api/v1/./runs", "/api/v1/x/../runs", "/api/v1/runs/",
		"/api", "//", "/openapi.json/", "/healthz/", "/hooks", "/approve//x",
		"/test//who", "/" + strings.Repeat("x", 5000),
	} {
		rec := w.ask(t, http.MethodGet, path, "", nil)
		if p := problem(t, rec); rec.Code != 404 || p.Code != "not_found" || rec.Header().Get("Location") != "" ||
			rec.Body.Len() > 1000 {
			t.Errorf("GET %s: %d %.300s", path, rec.Code, rec.Body)
		}
	}
	rec := w.ask(t, http.MethodGet, "/v1//models", "", nil)
	if rec.Code != 404 || !strings.Contains(rec.Body.String(), `{"error":{`) {
		t.Errorf("the transport has a form of its own: %d %s", rec.Code, rec.Body)
	}
	for _, path := range []string{"/api/v1/runs", "/openapi.json", "/healthz", "/readyz", "/metrics",
		"/hooks/abcdefghijklmnopqrstuv"} {
		rec := w.ask(t, "BREW", path, "", nil)
		if p := problem(t, rec); rec.Code != 405 || p.Code != "method_not_allowed" || rec.Header().Get("Allow") == "" {
			t.Errorf("BREW %s: %d %s, Allow %q", path, rec.Code, rec.Body, rec.Header().Get("Allow"))
		}
	}
}

// TestInternalError_LoggedWithID checks that the reason for a 500 is logged under the id that the
// caller receives, and that responses that may be retried say when.
func TestInternalError_LoggedWithID(t *testing.T) {
	t.Parallel()
	w := open(t, server.Config{})
	if err := w.AddMount(server.Mount{Name: "broken", Patterns: []string{"/broken"},
		Handler: http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			transport.RecordError(r.Context(), errors.New("canary of a disk"))
			transport.WriteProblem(rw, r, transport.Unavailable("come again"))
		})}); err != nil {
		t.Fatal(err)
	}
	rec := w.ask(t, http.MethodPost, "/broken", "", func(r *http.Request) { r.Header.Set("X-Request-ID", "seven") })
	if p := problem(t, rec); rec.Code != 503 || p.Code != "unavailable" || rec.Header().Get("Retry-After") == "" ||
		strings.Contains(rec.Body.String(), "canary") {
		t.Errorf("%d %s %v", rec.Code, rec.Body, rec.Header())
	}
	if said := w.log.String(); !strings.Contains(said, "request=seven") ||
		!strings.Contains(said, `err="canary of a disk"`) {
		t.Errorf("the log does not say why: %s", said)
	}
}
