package hooks_test

import (
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/hooks"
)

// TestDocsSender runs the sender of docs/webhooks.md, which nobody here signs for, against the handler (SEC18).
func TestDocsSender(t *testing.T) {
	t.Parallel()
	for _, tool := range []string{"curl", "openssl", "od"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Fatalf("the example needs %s: %v", tool, err)
		}
	}
	text, err := os.ReadFile("../../docs/webhooks.md")
	if err != nil {
		t.Fatal(err)
	}
	_, script, _ := strings.Cut(string(text), "```sh\n")
	script, _, ok := strings.Cut(script, "```")
	if !ok || !strings.Contains(script, "openssl") {
		t.Fatal("the page has no sender")
	}
	w := newWorld(t, setup{})
	c := w.create(hooks.CreateRequest{})
	s := httptest.NewServer(w.hooks.Receive())
	defer s.Close()
	for secret, want := range map[string]string{c.Secret: `"status":"pending"`, "whsec_" + strings.Repeat("A", 44): `"code":"not_found"`} {
		cmd := exec.CommandContext(t.Context(), "sh", "-eu", "-c", script)
		cmd.Env = append(os.Environ(), "URL="+s.URL+hooks.Path("default", c.Of), "SECRET="+secret, "no_proxy=127.0.0.1")
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), want) {
			t.Errorf("%v: %s", err, out)
		}
	}
	if n := len(w.runs()); n != 1 {
		t.Errorf("%d runs", n)
	}
}
