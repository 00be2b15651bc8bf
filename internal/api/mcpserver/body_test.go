package mcpserver_test

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/api/mcpserver"
)

// TestTooLarge checks that a message that is too large and has no declared length yields a problem
// with a code (SEC17).
func TestTooLarge(t *testing.T) {
	t.Parallel()
	w := newWorld(t, mcpserver.Config{MaxBody: 1024}, nil)
	post := func(body string) (int, string, string) {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url,
			io.MultiReader(strings.NewReader(body)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		res, err := (&http.Client{Transport: bearer{w.token(access.RoleRun, false)}}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		data, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, res.Header.Get("Content-Type"), string(data)
	}
	const hello = `{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"protocolVersion": "2025-06-18", ` +
		`"capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}`
	if status, _, body := post(hello); status != http.StatusOK || !strings.Contains(body, "serverInfo") {
		t.Errorf("of a fitting size: %d %s", status, body)
	}
	if status, _, body := post("\uFEFF" + hello); status != http.StatusOK || !strings.Contains(body, "serverInfo") {
		t.Errorf("behind a byte order mark: %d %s", status, body)
	}
	var p struct{ Code string }
	status, kind, body := post(hello + strings.Repeat(" ", 1024))
	if err := json.Unmarshal([]byte(body), &p); err != nil || status != http.StatusRequestEntityTooLarge ||
		kind != "application/problem+json" || p.Code != "too_large" {
		t.Errorf("too large: %d %s %s", status, kind, body)
	}
}
