package server_test

import (
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// SEC1, SEC10: an EventSource, which sends no token, is admitted with a ticket for the stream of
// its run, and in no other way and nowhere else; neither tokens nor tickets are logged.
func TestEventStreamByTicket(t *testing.T) {
	t.Parallel()
	w := &world{log: &buffer{}}
	cfg := server.Config{
		Service: service.Config{Documents: linked.Kit(), DB: service.Memory,
			Logger: slog.New(slog.NewTextHandler(w.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
			Env: func(name string) string {
				return map[string]string{server.EnvToken: token}[name]
			}}}
	s, err := server.Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	srv := httptest.NewServer(s)
	defer srv.Close()
	ask := func(method, path, body, auth, accept string) (int, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", accept)
		if auth != "" {
			req.Header.Set("Authorization", "Bearer "+auth)
		}
		resp, err := srv.Client().Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	const doc = `{"document": "{\"nodes\": [{\"id\": \"s\", \"type\": \"start\", \"data\": {\"initialInput\": ` +
		`\"bees\"}}], \"connections\": []}"}`
	code, body := ask("POST", "/api/v1/runs?wait=1m", doc, token, "application/json")
	var run struct{ ID string }
	if err := json.Unmarshal([]byte(body), &run); err != nil || code != http.StatusCreated {
		t.Fatalf("%d %s", code, body)
	}
	at := "/api/v1/runs/" + run.ID + "/events"
	const stream = "text/event-stream"
	if code, _ := ask("GET", at, "", "", stream); code != http.StatusUnauthorized {
		t.Errorf("no caller gets %d", code)
	}
	if code, _ := ask("POST", at+"/ticket", "", "", stream); code != http.StatusUnauthorized {
		t.Errorf("no caller gets a ticket: %d", code)
	}
	code, body = ask("POST", at+"/ticket", "", token, "application/json")
	var issued struct{ Ticket, Path string }
	if err := json.Unmarshal([]byte(body), &issued); err != nil || code != http.StatusCreated || issued.Path != at {
		t.Fatalf("%d %s", code, body)
	}
	q := "?ticket=" + issued.Ticket
	for range 2 { // it reconnects with the same URL
		if code, body := ask("GET", at+q, "", "", stream); code != http.StatusOK ||
			!strings.Contains(body, "event: end\n") {
			t.Errorf("%d %s", code, body)
		}
	}
	for _, path := range []string{"/api/v1/runs/" + run.ID + q, "/api/v1/runs" + q, "/api/v1/runs/other/events" + q,
		at + "/ticket" + q, at + "?ticket=hkt_x"} {
		method := "GET"
		if strings.Contains(path, "/ticket?") {
			method = "POST"
		}
		if code, _ := ask(method, path, "", "", stream); code != http.StatusUnauthorized {
			t.Errorf("%s %s: %d", method, path, code)
		}
	}
	if log := w.log.String(); strings.Contains(log, issued.Ticket) || strings.Contains(log, token) {
		t.Error("a token or a ticket is logged")
	}
}
