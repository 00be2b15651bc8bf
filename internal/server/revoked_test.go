package server_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/server"
	"github.com/hocket-run/hocket/internal/service"
)

// reply is a response whose head has been read. The test closes its body.
type reply struct {
	StatusCode int
	Status     string
	Header     http.Header
	Body       io.Reader
}

// with sends a request over the network with a token, "" meaning none, and returns the response
// once its head has arrived. The caller need not read the body.
func (s *served) with(t *testing.T, token, method, path, body string, headers ...string) reply {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = answer.Body.Close() })
	return reply{answer.StatusCode, answer.Status, answer.Header, answer.Body}
}

// SEC1: when a token is revoked, its event streams end, including those opened with its tickets,
// and so do its MCP sessions; its tickets no longer open anything. This holds whether this server
// or another process revokes it. Streams of other tokens continue.
func TestRevokedStreams(t *testing.T) {
	t.Parallel()
	s := serve(t,
		server.Config{Service: service.Config{Documents: linked.Kit(), DB: filepath.Join(t.TempDir(), "hocket.db")}})
	kept, _ := s.create(t, access.Grant{Name: "kept", Namespace: "b", Role: access.RoleAdmin})
	s.fill(t, "b", kept)
	const at = "/api/v1/runs/run-of-b/events"
	stream := func(t *testing.T, token, path string, headers ...string) *bufio.Reader {
		t.Helper()
		answer := s.with(t, token, "GET", path, "", append(headers, "Accept", "text/event-stream")...)
		if answer.StatusCode != http.StatusOK {
			t.Fatalf("%s: status %d", path, answer.StatusCode)
		}
		return bufio.NewReader(answer.Body)
	}
	other := stream(t, kept, at)
	for _, way := range []string{"here", "elsewhere"} {
		t.Run(way, func(t *testing.T) {
			text, made := s.create(t, access.Grant{Name: way, Namespace: "b", Role: access.RoleRun})
			var issued struct{ Ticket string }
			if err := json.NewDecoder(s.with(t, text, "POST", at+"/ticket", "").Body).Decode(&issued); err != nil {
				t.Fatal(err)
			}
			const hello = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": ` +
				`"2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}`
			opened := s.with(t, text, "POST", "/mcp", hello, "Accept", "application/json, text/event-stream")
			session := opened.Header.Get("Mcp-Session-Id")
			if _, err := io.ReadAll(opened.Body); err != nil || session == "" {
				t.Fatal(err, opened.Status)
			}
			streams := map[string]*bufio.Reader{
				"token": stream(t, text, at), "ticket": stream(t, "", at+"?ticket="+issued.Ticket),
				"mcp": stream(t, text, "/mcp", "Mcp-Session-Id", session),
			}
			if way == "here" {
				if answer := s.with(t, kept, "DELETE", "/api/v1/tokens/"+made.ID,
					""); answer.StatusCode != http.StatusNoContent {
					t.Fatal(answer.Status)
				}
			} else if _, err := s.Store().Revoke(t.Context(), "b", made.ID); err != nil {
				t.Fatal(err)
			}
			for name, r := range streams {
				if rest, err := io.ReadAll(r); err != nil || strings.Contains(string(rest), "event: end") {
					t.Errorf("the stream of the %s: %v, %q", name, err, rest)
				}
			}
			for path, with := range map[string]string{at + "?ticket=" + issued.Ticket: "", at: text, "/mcp": text} {
				if answer := s.with(t, with, "GET", path, "", "Accept", "text/event-stream", "Mcp-Session-Id",
					session); answer.StatusCode != http.StatusUnauthorized {
					t.Errorf("%s: status %d", path, answer.StatusCode)
				}
			}
		})
	}
	if answer := s.with(t, kept, "POST", "/api/v1/runs/run-of-b/cancel", "{}"); answer.StatusCode != http.StatusOK {
		t.Error(answer.Status)
	}
	if rest, err := io.ReadAll(other); err != nil || !strings.Contains(string(rest), "event: end") {
		t.Errorf("the stream of the other token: %v, %q", err, rest)
	}
}

// TestRevoke_OwnToken checks that a token may revoke itself, and receives the response.
func TestRevoke_OwnToken(t *testing.T) {
	t.Parallel()
	s := serve(t, server.Config{})
	text, made := s.create(t, access.Grant{Name: "a", Role: access.RoleAdmin})
	for _, want := range []int{http.StatusNoContent, http.StatusUnauthorized} {
		if answer := s.with(t, text, "DELETE", "/api/v1/tokens/"+made.ID, ""); answer.StatusCode != want {
			t.Errorf("status %d, want %d", answer.StatusCode, want)
		}
	}
}
