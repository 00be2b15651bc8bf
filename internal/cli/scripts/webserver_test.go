package scripts_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
)

// shopDocument is an OpenAPI document served next to its API.
const shopDocument = `openapi: 3.1.0
info: {title: Shop}
servers: [{url: /}]
paths:
  /things/{id}:
    parameters: [{name: id, in: path, required: true, schema: {type: string}}]
    get: {operationId: getThing, summary: Gives a thing}
  /things:
    post: {operationId: addThing, requestBody: {required: true, content: {application/json: {schema: {type: object}}}}}
`

// webServer returns the web server that scripts can reach: a page, a redirect to it, and a shop.
func webServer(t *testing.T) *httptest.Server {
	t.Helper()
	mux := http.NewServeMux()
	mux.HandleFunc("GET /page", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprint(w, "<title>Tides</title><nav>menu</nav><p>High water is at <b>noon</b>.</p>")
	})
	mux.HandleFunc("GET /moved", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/page", http.StatusFound)
	})
	mux.HandleFunc("GET /openapi.yaml", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, shopDocument) })
	mux.HandleFunc("GET /things/{id}", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":%q,"key":%q}`, r.PathValue("id"), r.Header.Get("X-Key"))
	})
	mux.HandleFunc("POST /things", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintf(w, "added %s once: %v", body, r.Header.Get("Idempotency-Key") != "")
	})
	mux.HandleFunc("GET /search", func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"results":[{"title":"About %s","url":"https://a.example/","content":"found it"}]}`,
			r.FormValue("q"))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv
}
