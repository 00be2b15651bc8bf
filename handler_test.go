package hocket_test

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestHandler checks that a handler shows the runs of its engine to authorized users, answers the
// wait of a Go graph, and ends its streams with the engine.
func TestHandler(t *testing.T) {
	t.Parallel()
	e, err := hocket.Open(t.Context(), hocket.Config{})
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	if _, err := hocket.Handler(nil, hocket.HandlerConfig{}); err == nil {
		t.Error("a handler without an engine")
	}
	if _, err := hocket.Handler(e, hocket.HandlerConfig{}); err == nil || !strings.Contains(err.Error(), "Authorize") {
		t.Errorf("a handler without Authorize: %v", err)
	}
	h, err := hocket.Handler(e, hocket.HandlerConfig{Authorize: func(r *http.Request, a hocket.Access) (string, error) {
		if user, _, _ := r.BasicAuth(); user == "ann" || a.Action == "show" && a.Run == "r" {
			return "ann", nil
		}
		return "", errors.New("no")
	}})
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(http.StripPrefix("/ops", h))
	defer srv.Close()
	g := compiled(t, graph.New[state]("t").Start(graph.Ask("agree", func(graph.View[state]) string { return "Go on?" },
		nil)))
	if r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}); err != nil ||
		r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	ask := func(method, path, body, user string, headers ...string) *http.Response {
		r, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.SetBasicAuth(user, "")
		for i := 0; i < len(headers); i += 2 {
			r.Header.Set(headers[i], headers[i+1])
		}
		resp, err := srv.Client().Do(r)
		if err != nil {
			t.Fatal(err)
		}
		return resp
	}
	stream := ask(http.MethodGet, "/ops/runs/r/events", "", "", "Accept", "text/event-stream")
	defer stream.Body.Close()
	for user, want := range map[string]int{"bob": http.StatusForbidden, "ann": http.StatusOK} {
		resp := ask(http.MethodPost, "/ops/runs/r/resume", `{"input": "yes"}`, user)
		resp.Body.Close()
		if resp.StatusCode != want {
			t.Errorf("%s: %d", user, resp.StatusCode)
		}
	}
	if r, err := e.Wait(t.Context(), "r"); err != nil || r.Text() != "yes" {
		t.Errorf("%+v, %v", r, err)
	}
	if text, err := io.ReadAll(stream.Body); err != nil || !strings.Contains(string(text), "event: run.completed") {
		t.Errorf("streamed %s, %v", text, err)
	}
	if r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r2"}); err != nil ||
		r.Status != hocket.StatusPaused {
		t.Fatalf("%+v, %v", r, err)
	}
	open := ask(http.MethodGet, "/ops/runs/r2/events", "", "ann", "Accept", "text/event-stream")
	defer open.Body.Close()
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(open.Body); err != nil {
		t.Errorf("the stream of a closed engine ends with %v", err)
	}
}
