package provider_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/provider"
)

// A document runs on a provider that Hocket knows, with key and address of the engine's own environment.
func TestAll(t *testing.T) {
	t.Parallel()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer k-1" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"id":"1","object":"chat.completion.chunk","model":"m","choices":[{"index":0,"delta":{"role":"assistant","content":"hello"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	}))
	defer srv.Close()
	env := map[string]string{"OPENAI_API_KEY": "k-1", "OPENAI_BASE_URL": srv.URL}
	e, err := hocket.Open(t.Context(), hocket.Config{Env: func(name string) string { return env[name] }}, provider.All())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	w, err := e.Parse("w.yaml", []byte("agents:\n  a: {model: openai/m, instruction: Greet.}\nworkflow:\n  steps: [{id: s, type: agent, name: a}]\n"))
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.Run(t.Context(), w, hocket.StartOptions{Input: "x"})
	if err != nil || r.Text() != "hello" {
		t.Errorf("%+v, %v", r, err)
	}
}
