//go:build unix

package e2e_test

import (
	"bytes"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// pageTools returns the paths of Node, of the folder with the page's specs, and of a browser.
// Without them the test is skipped, unless HOCKET_BROWSER is set.
func pageTools(t *testing.T) (node, specs, chromium string) {
	t.Helper()
	specs, err := filepath.Abs(filepath.Join("..", "..", "web", "specs"))
	if err == nil {
		_, err = os.Stat(filepath.Join(specs, "..", "node_modules", "playwright-core"))
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
		const how = "there is no browser to test the page with: install chromium and run `npm ci` in web, or " +
			"`make test`"
		if os.Getenv("HOCKET_BROWSER") != "" {
			t.Fatal(how)
		}
		t.Skip(how)
	}
	return node, specs, chromium
}

// inNoFile checks that no file in dir contains text.
func inNoFile(t *testing.T, dir, text string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		files++
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(text)) {
			t.Errorf("%s has the code of the link", path)
		}
		return err
	})
	if err != nil || files == 0 {
		t.Errorf("%d files: %v", files, err)
	}
}

var codeLink = regexp.MustCompile(`http://\S+#code=\S+`)

// openLink returns the link that `hocket open` prints in the folder home.
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

// deskTools has a tool that never answers in time, so that the outcome of its calls is unknown.
const deskTools = `toolsets:
  - type: script
    name: desk
    shell:
      pay: {description: Pays., cmd: "sleep 60", args: {to: {type: string}, sum: {type: integer}}}
`

// drawReplies holds the replies for the agents of the workflow that the spec draws.
const drawReplies = `replies:
  - {agent: Agent, text: "Dear Ada, come on Sunday.", times: always}
  - {text: Done., times: always}
`

// TestPage plays the specs of the page (web/specs) in a browser, each against a server on a fresh
// store. They fail on any console error, any violation of the policy and any request to another
// origin. The spec rounds runs the main graph and a branch by hand (S1-27).
func TestPage(t *testing.T) {
	if testing.Short() {
		t.Skip("make test plays them: they take minutes")
	}
	t.Parallel()
	node, specs, chromium := pageTools(t)
	player := startPlayer(t, node, filepath.Join(specs, "run.mjs"), chromium)
	for _, spec := range []struct {
		name string
		env  []string
		// files are written into the server's folder, and args are the arguments of serve.
		files map[string]string
		args  []string
	}{
		{name: "minute", env: []string{"HOCKET_TOKEN="}}, // a first start creates the token
		{name: "hostile"},
		{name: "axe", files: map[string]string{"tools.yaml": deskTools}, args: []string{"--tools", "tools.yaml"}},
		{name: "watch"},
		{name: "decide", files: map[string]string{"tools.yaml": deskTools}, args: []string{"--tools", "tools.yaml"}},
		{name: "answer", files: map[string]string{"tools.yaml": deskTools}, args: []string{"--tools", "tools.yaml"}},
		{name: "session"},
		{name: "tabs"},
		{name: "live"},
		{name: "base_path"},
		{name: "edit"},
		{name: "form_input"},
		{name: "focus"},
		{name: "marks"},
		{name: "draw", files: map[string]string{"replies.yaml": drawReplies},
			args: []string{"--replies", "replies.yaml"}},
		{name: "rounds", files: map[string]string{"replies.yaml": drawReplies},
			args: []string{"--replies", "replies.yaml"}},
		{name: "round_trip"},
		{name: "versions"},
		{name: "write"},
		{name: "repair"},
	} {
		t.Run(spec.name, func(t *testing.T) {
			t.Parallel() // they mostly wait for pages
			home := t.TempDir()
			for name, text := range spec.files {
				if err := os.WriteFile(filepath.Join(home, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			// the models' replies
			if replies, err := os.ReadFile(filepath.Join(specs, spec.name+".replies.yaml")); err == nil {
				if err := os.WriteFile(filepath.Join(home, "replies.yaml"), replies, 0o600); err != nil {
					t.Fatal(err)
				}
				spec.args = append(spec.args, "--replies", "replies.yaml")
			}
			settings := map[string]string{"token": testToken, "program": programOf(t, spec.env), "home": home,
				"scratch": t.TempDir()}
			var p *process
			if spec.env == nil {
				p = serve(t, home, nil, spec.args...)
			} else {
				p, settings["link"] = serveAtTerminal(t, home, spec.env)
				settings["opened"] = openLink(t, home, spec.env)
			}
			settings["origin"] = p.url
			player.play(t, spec.name, settings)
			for name, times := range map[string]int{"link": 1, "opened": 0} { // the link itself is printed once
				if _, code, ok := strings.Cut(settings[name], "#code="); ok {
					if n := strings.Count(p.said(), code); n != times {
						t.Errorf("the server writes the code of the link %d times:\n%s", n, p.said())
					}
					inNoFile(t, home, code)
				}
			}
		})
	}
}
