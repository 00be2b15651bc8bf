package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"
)

// webServer is the web that scripts reach: a page, a place that is moved to it.
func webServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<title>Tides</title><nav>menu</nav><p>High water is at <b>noon</b>.</p>")
	})
	mux.HandleFunc("GET /moved", func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/page", http.StatusFound) })
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}
