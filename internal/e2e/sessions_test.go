//go:build unix

package e2e_test

import (
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
)

// TestAbandonedSessions checks that clients that open MCP sessions and leave without closing them
// lock no client out, not even one that uses the same token, and that the memory of their sessions
// is limited (SEC17). A session in use is kept.
func TestAbandonedSessions(t *testing.T) {
	attacks := size(t, "HOCKET_LOAD_SESSIONS", 260) // a token may have 200 sessions
	w := newWorld(t, "\n")
	before := w.p.rss()
	open := func() string {
		t.Helper()
		a := w.do("POST", "/mcp",
			`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18",`+
				`"capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
			"Accept", "application/json, text/event-stream").is(http.StatusOK)
		return a.header.Get("Mcp-Session-Id")
	}
	var calls atomic.Int64 // ids of concurrent calls in a session must differ
	use := func(id string) int {
		return w.do("POST", "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`, 2+calls.Add(1)),
			"Accept", "application/json, text/event-stream", "Mcp-Session-Id", id).status
	}
	first, mine := open(), open()
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			for i := range attacks / 4 {
				open()
				if i%20 != 19 {
					continue
				}
				if got := use(mine); got != http.StatusOK {
					t.Errorf("a session in use after %d of %d: %d", i, attacks/4, got)
				}
			}
		})
	}
	all.Wait()
	if got := use(first); got != http.StatusNotFound {
		t.Errorf("the session that was idle for longest: %d", got)
	}
	if got := use(mine); got != http.StatusOK {
		t.Errorf("the session in use: %d", got)
	}
	if got := use(open()); got != http.StatusOK {
		t.Errorf("a new session: %d", got)
	}
	t.Logf("%d sessions were opened and left: none was refused; memory %d MiB before, %d MiB after", attacks/4*4,
		before, w.p.rss())
}
