package browsertest

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/testinput"
)

// Find returns the paths of Node, of a script in scripts/browser and of a browser. If they are
// missing, the test is skipped, unless HOCKET_BROWSER is set. Tests must call it from a package
// three directories below the root.
func Find(t *testing.T, name string) (node, script, chromium string) {
	t.Helper()
	dir, err := filepath.Abs(filepath.Join("..", "..", "..", "scripts", "browser"))
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", "playwright-core"))
	}
	if err == nil {
		node, err = exec.LookPath("node")
	}
	for _, name := range []string{"chromium-headless-shell", "chromium", "chromium-browser", "google-chrome"} {
		if path, missing := exec.LookPath(name); missing == nil && chromium == "" {
			chromium = path
		}
	}
	if err != nil || chromium == "" {
		const how = "there is no browser to test with: install chromium and run `npm ci` in scripts/browser, or " +
			"`make test`"
		if os.Getenv("HOCKET_BROWSER") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	testinput.Files(t, "scripts/browser")
	return node, filepath.Join(dir, name), chromium
}
