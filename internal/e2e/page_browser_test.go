package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// pageTools gives the paths of Node, of the folder with the page's specs, and of a browser. Without them the test is skipped, unless HOCKET_BROWSER is set.
func pageTools(t *testing.T) (node, specs, chromium string) {
	t.Helper()
	specs, err := filepath.Abs(filepath.Join("..", "..", "web", "specs"))
	if err == nil {
		_, err = os.Stat(filepath.Join(specs, "..", "node_modules", "playwright-core"))
	}
	if err == nil {
		node, err = exec.LookPath("node")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, missing := exec.LookPath(name); missing == nil && chromium == "" {
			chromium = path
		}
	}
	if err != nil || chromium == "" {
		const how = "there is no browser to test the page with: install chromium and run `npm ci` in web, or `make test`"
		if os.Getenv("HOCKET_BROWSER") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	return node, specs, chromium
}

var codeLink = regexp.MustCompile(`http://\S+#code=\S+`)

// openLink gives the link that `hocket open` prints in the folder home.
func openLink(t *testing.T, home string, env []string) string {
	t.Helper()
	c := exec.Command(programOf(t, env), "open", "--print")
	c.Dir = home
	c.Env = append([]string{"HOME=" + home, "HOCKET_HOME=" + home, "PATH=" + os.Getenv("PATH")}, env...)
	out, err := c.CombinedOutput()
	link := codeLink.FindString(string(out))
	if err != nil || link == "" {
		t.Fatalf("%v: %s", err, out)
	}
	return link
}

// TestPage plays the specs of the page (web/specs) in a browser, each against a server on a fresh store. They fail on any error of the console, any violation of the policy and
// any request to another origin.
func TestPage(t *testing.T) {
	t.Parallel()
	node, specs, chromium := pageTools(t)
	for _, spec := range []struct {
		name string
		env  []string
	}{
		{"minute", []string{"HOCKET_TOKEN="}}, // a first start: the token is made
		{"hostile", nil},
		{"axe", nil},
		{"decide", nil},
	} {
		t.Run(spec.name, func(t *testing.T) {
			home := t.TempDir()
			p := serve(t, home, spec.env)
			settings := map[string]string{"origin": p.url, "token": testToken}
			if spec.env != nil {
				settings["link"] = openLink(t, home, spec.env)
			}
			in, err := json.Marshal(settings)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
			defer cancel()
			c := exec.CommandContext(ctx, node, filepath.Join(specs, "run.mjs"), spec.name, chromium)
			c.Stdin = bytes.NewReader(in)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
			if _, code, ok := strings.Cut(settings["link"], "#code="); ok && strings.Contains(p.said(), code) {
				t.Error("the code of the link is in the server's log")
			}
		})
	}
}
