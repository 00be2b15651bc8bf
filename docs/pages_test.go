package docs_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/hocket-run/hocket/internal/cli"
	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/model/script"
	"github.com/hocket-run/hocket/internal/tool"
)

// programs lists the programs that pages may start.
var programs = []string{"hocket", "cat", "ls", "mkdir", "cp", "sed", "grep", "sleep", "true"}

// guides returns the pages whose blocks are run: all but generated ones and notes for maintainers.
func guides(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(pages(t), func(p string) bool {
		return strings.HasPrefix(p, "cli/") || strings.HasPrefix(p, "adr/")
	})
}

// notRunHere lists the pages whose shell blocks are not run by TestPages, with the reason.
var notRunHere = map[string]string{
	"api.md":        "run with curl by TestGuide of internal/api/httpapi",
	"webhooks.md":   "run by TestDocsSender of internal/api/hooks",
	"schedules.md":  "run by the script schedule.txtar of internal/cli",
	"telemetry.md":  "needs a collector",
	"mcp-server.md": "needs an assistant",
	"openai.md":     "needs a server and a client",
	"page.md":       "needs a server that stays",
	"server.md":     "needs a server that stays",
	"deploy.md":     "needs a machine to deploy to",
}

// TestPages runs each page from top to bottom in an empty folder, and the page of the examples in a
// copy of them: blocks that name a file are written, documents, configurations, reply scripts and
// tools files are checked, shell blocks are run, and a text block after a shell block is its
// expected output. A document that is followed by a reply script and a text is run with that
// script. A block preceded by the comment <!-- not run: reason --> is only parsed.
func TestPages(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the pages use a POSIX shell")
	}
	examples := os.DirFS("../examples")
	for _, page := range append(guides(t), "../examples/README.md") {
		found := blocks(t, page)
		dir := t.TempDir()
		if strings.HasPrefix(page, "../") {
			if err := os.CopyFS(filepath.Join(dir, "examples"), examples); err != nil {
				t.Fatal(err)
			}
			dir = filepath.Join(dir, "examples")
		}
		t.Run(page, func(t *testing.T) {
			t.Chdir(dir)
			sh := newShell(t, programs, false)
			for i, b := range found {
				if b.skip != "" {
					continue
				}
				if b.file != "" {
					b.written(t)
				}
				switch b.lang {
				case "yaml", "json":
					if b.invalid {
						continue
					}
					checkText(t, b, found[i+1:])
				case "sh":
					if notRunHere[page] != "" {
						continue
					}
					out := sh.run(b)
					if i+1 < len(found) && found[i+1].lang == "text" && found[i+1].linesBefore <= 2 &&
						found[i+1].skip == "" &&
						!printed(found[i+1].text, out) {
						t.Errorf("%s:%d: printed\n%s\nwant\n%s", page, b.line, out, found[i+1].text)
					}
				}
			}
		})
	}
}

// checkText checks a block of YAML or JSON according to its kind. next holds the blocks after it.
func checkText(t *testing.T, b block, next []block) {
	t.Helper()
	var value any
	unmarshal := yaml.Unmarshal
	if b.lang == "json" {
		unmarshal = json.Unmarshal
	}
	if err := unmarshal([]byte(b.text), &value); err != nil {
		t.Errorf("%s:%d: %v", b.page, b.line, err)
		return
	}
	object, _ := value.(map[string]any)
	has := func(keys ...string) bool {
		return slices.ContainsFunc(keys, func(k string) bool { _, ok := object[k]; return ok })
	}
	text := []byte(b.text)
	switch {
	case has("replies"):
		if _, problems := script.Parse(b.page, text); len(problems) > 0 {
			t.Errorf("%s:%d: %v", b.page, b.line, problems)
		}
	case b.file == "hocket.yaml" || has("server", "budgets", "telemetry", "defaults", "retention"):
		if _, problems := config.Read(b.page, text); problems.HasErrors() {
			t.Errorf("%s:%d: %v", b.page, b.line, problems)
		}
	case !has("status") && has("workflow", "nodes", "entrypointNodeId", "branches") || has("agents") &&
		b.lang == "yaml":
		file := b.file
		if file == "" {
			file = filepath.Join(t.TempDir(), "doc."+b.lang)
			write(t, file, b.text)
		}
		if status, out, errs := hocketMain(t, "validate", file); status != 0 || strings.Contains(out+errs, "warning") {
			t.Errorf("%s:%d: validate ends with %d: %s%s", b.page, b.line, status, out, errs)
		}
		if len(next) >= 2 && strings.HasPrefix(next[0].text, "replies:") && next[1].lang == "text" &&
			next[0].file == "" {
			replies := filepath.Join(t.TempDir(), "replies.yaml")
			write(t, replies, next[0].text)
			status, out, errs := hocketMain(t, "run", file, "--replies", replies, "--trust", "--approve-all", "--db",
				":memory:", "go")
			if status != 0 || strings.TrimSpace(out) != strings.TrimSpace(next[1].text) {
				t.Errorf("%s:%d: status %d, printed %q, want %q\n%s", b.page, b.line, status, out, next[1].text, errs)
			}
		}
	case has("toolsets"):
		if _, problems := tool.ParseToolsFile(b.page, text); problems.HasErrors() {
			t.Errorf("%s:%d: %v", b.page, b.line, problems)
		}
	}
}

var (
	spans = regexp.MustCompile("`([^`\n]+)`")
	flags = regexp.MustCompile(`^--([a-z][a-z-]*)`)
)

// foreign lists flags of other programs that pages mention.
var foreign = []string{"trimpath"}

// TestCommands checks that the verbs and flags of Hocket that pages mention exist, even in blocks
// that are not run.
func TestCommands(t *testing.T) {
	t.Parallel()
	lines := 0
	check := func(at string, words []string, whole bool) {
		lines++
		if err := cli.CheckLine(words, whole); err != nil {
			t.Errorf("%s: hocket %s: %v", at, strings.Join(words, " "), err)
		}
	}
	for _, page := range append(pages(t), "../README.md", "../examples/README.md") {
		if strings.HasPrefix(page, "adr/") {
			continue // decisions name what existed then, the status what is planned
		}
		for _, b := range blocks(t, page) {
			if b.lang != "sh" && b.lang != "console" {
				continue
			}
			calls, err := commands(b.text)
			if err != nil {
				t.Errorf("%s:%d: %v", page, b.line, err)
			}
			for _, words := range calls {
				check(page, words, true)
			}
		}
		for _, m := range spans.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, page), ""), -1) {
			if f := flags.FindStringSubmatch(m[1]); f != nil && !cli.HasFlag(f[1]) && !slices.Contains(foreign, f[1]) {
				t.Errorf("%s: no verb has the flag --%s", page, f[1])
			}
			if strings.HasPrefix(m[1], "hocket ") {
				calls, err := commands(m[1])
				if err != nil {
					continue // such as `hocket run …` with a bracket
				}
				for _, words := range calls {
					check(page, words, false)
				}
			}
		}
	}
	if lines < 100 {
		t.Errorf("found %d command lines", lines)
	}
}
