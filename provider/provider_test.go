package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/provider"
)

// TestAll checks that a document runs on a provider that Hocket knows, with key and address from
// the engine's own environment.
func TestAll(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k-1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w,
			`data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,`+
				`"delta":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	env := map[string]string{"OPENAI_API_KEY": "k-1", "OPENAI_BASE_URL": srv.URL}
	e, err := hocket.Open(t.Context(), hocket.Config{Env: func(name string) string { return env[name] }},
		documents.All(), provider.All())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("w.yaml",
		[]byte("agents:\n  a: {model: openai/m, instruction: Greet.}\nworkflow:\n  steps: [{id: s, type: agent, "+
			"name: a}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "x"})
	if err != nil || r.Text() != "hello" {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestConfiguration checks that an operator's provider, whose key is a reference, serves agents
// that name none, and that the key is not shown even if the provider echoes it (SEC11).
func TestConfiguration(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w,
			`data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,`+
				`"delta":{"role":"assistant","content":"by %s"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n",
			r.Header.Get("Authorization"))
	}))
	defer srv.Close()
	path := filepath.Join(t.TempDir(), "hocket.yaml")
	text := `{"defaultModel": "fast", "providers": {"lab": {"base_url": "` + srv.URL +
		`", "key": "${env.LAB}"}}, "models": {"fast": {"provider": "lab", "model": "m"}}}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"LAB": "canary-of-the-lab"}
	e, err := hocket.Open(t.Context(), hocket.Config{Env: func(name string) string { return env[name] }},
		documents.All(), provider.All(), hocket.WithConfig(path))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("w.yaml", []byte("agents: {a: {instruction: Greet.}}"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "x"})
	if err != nil || r.Text() != "by Bearer [secret lab_key]" {
		t.Errorf("%+v, %v", r, err)
	}
}
