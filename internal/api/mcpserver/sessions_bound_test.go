package mcpserver_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
)

// raw is a client without a library, which disconnects without notice.
type raw struct {
	*world
	token string
}

// send makes a request and returns the response with its body open.
func (c raw) send(method, session, body string) *http.Response {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.url, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Authorization": {"Bearer " + c.token}}
	if session != "" {
		req.Header.Set("Mcp-Session-Id", session)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		c.t.Fatal(err)
	}
	c.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp
}

// open opens a session, and returns its id, or the status and text of a rejection.
func (c raw) open() (id, refusal string) {
	c.t.Helper()
	resp := c.send(http.MethodPost, "",
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},`+
			`"clientInfo":{"name":"c","version":"1"}}}`)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		c.t.Fatal(err)
	}
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Sprint(resp.StatusCode, " ", resp.Header.Get("Retry-After"), " ", string(text))
	}
	return resp.Header.Get("Mcp-Session-Id"), ""
}

// ping uses a session, and returns the status.
func (c raw) ping(session string) int {
	c.t.Helper()
	resp := c.send(http.MethodPost, session, `{"jsonrpc":"2.0","id":2,"method":"ping"}`)
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// mustOpen opens n sessions.
func (c raw) mustOpen(n int) []string {
	c.t.Helper()
	var out []string
	for range n {
		id, refusal := c.open()
		if refusal != "" {
			c.t.Fatal(refusal)
		}
		out = append(out, id)
	}
	return out
}

// TestSessionLimit_EvictsIdle checks that abandoned sessions lock no client out (SEC17): beyond the
// limit of a token, the session that has been idle longest is ended. Sessions used since and
// sessions with a request in progress stay; if all have one, a new session is rejected.
func TestSessionLimit_EvictsIdle(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{MaxSessions: 3}, echoModel)
	c := raw{w, w.token(access.RoleRun, false)}
	old := c.mustOpen(3)
	if got := c.ping(old[0]); got != http.StatusOK {
		t.Fatal(got)
	}
	stream := c.send(http.MethodGet, old[1], "") // stays open until it is closed
	if stream.StatusCode != http.StatusOK {
		t.Fatal(stream.Status)
	}
	fresh := c.mustOpen(1)[0]
	for i, want := range []int{http.StatusOK, http.StatusOK, http.StatusNotFound} {
		if got := c.ping(old[i]); got != want {
			t.Errorf("session %d: %d, want %d", i, got, want)
		}
	}
	if got := c.ping(fresh); got != http.StatusOK {
		t.Errorf("the new session: %d", got)
	}
	for _, id := range []string{old[0], fresh} {
		more := c.send(http.MethodGet, id, "")
		defer more.Body.Close()
		if more.StatusCode != http.StatusOK {
			t.Fatal(more.Status)
		}
	}
	if _, refusal := c.open(); !strings.HasPrefix(refusal, "429 60 ") ||
		!strings.Contains(refusal, "max_mcp_sessions") {
		t.Errorf("all have a request under way: %q", refusal)
	}
	if id := (raw{w, w.token(access.RoleRun, false)}).mustOpen(1)[0]; id == "" {
		t.Error("another token is locked out")
	}
	if err := stream.Body.Close(); err != nil {
		t.Error(err)
	}
	for {
		id, refusal := c.open()
		if refusal == "" {
			if got := c.ping(id); got != http.StatusOK {
				t.Errorf("after the stream ended: %d", got)
			}
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(refusal)
		}
	}
}

// TestSessionLimit_AllTokens checks that beyond the process-wide limit a session of the token with
// the most sessions is ended, not one of a token that has few (SEC17).
func TestSessionLimit_AllTokens(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{MaxSessions: 100, MaxAllSessions: 6}, echoModel)
	few, many, other := raw{w, w.token(access.RoleRun, false)}, raw{w, w.token(access.RoleRun, false)},
		raw{w, w.token(access.RoleRun, false)}
	mine := few.mustOpen(1)[0]
	theirs := many.mustOpen(20)
	for range 3 {
		other.mustOpen(1)
	}
	if got := few.ping(mine); got != http.StatusOK {
		t.Errorf("the token with one session: %d", got)
	}
	open := 0
	for _, id := range theirs {
		if many.ping(id) == http.StatusOK {
			open++
		}
	}
	if open < 2 || open > 4 || many.ping(theirs[19]) != http.StatusOK {
		t.Errorf("%d sessions of the token with many are open", open)
	}
}

// TestSessionLimit_Concurrent checks that clients that open sessions concurrently neither exceed
// the limit nor are rejected while idle sessions can be ended.
func TestSessionLimit_Concurrent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{MaxSessions: 8}, echoModel)
	c := raw{w, w.token(access.RoleRun, false)}
	var (
		mu  sync.Mutex
		ids []string
		all sync.WaitGroup
	)
	for range 4 {
		all.Go(func() {
			for range 10 {
				id, refusal := c.open()
				if refusal != "" {
					t.Error(refusal)
					return
				}
				mu.Lock()
				ids = append(ids, id)
				mu.Unlock()
			}
		})
	}
	all.Wait()
	open := 0
	for _, id := range ids {
		if c.ping(id) == http.StatusOK {
			open++
		}
	}
	if open == 0 || open > 8 {
		t.Errorf("%d sessions are open", open)
	}
}
