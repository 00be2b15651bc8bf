package docs_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
)

// TestToolsGuide: every document in the page on tools is run with the reply script that follows it, in a folder of its own, and prints what the page
// says. A run that does not trust it is refused where it wants something of the machine (SEC4, SEC5); validate accepts it and touches nothing.
func TestToolsGuide(t *testing.T) {
	page, err := os.ReadFile("tools.md")
	if err != nil {
		t.Fatal(err)
	}
	sections := strings.Split(string(page), "\n## ")
	ran := 0
	for _, section := range sections {
		title, _, _ := strings.Cut(section, "\n")
		blocks := fenced(section)
		for i, document := range blocks {
			if !strings.HasPrefix(document, "agents:") {
				continue
			}
			ran++
			t.Run(title, func(t *testing.T) {
				if i+2 >= len(blocks) || !strings.HasPrefix(blocks[i+1], "replies:") {
					t.Fatal("the document is not followed by a reply script and what it prints")
				}
				dir := t.TempDir()
				t.Chdir(dir)
				for name, text := range map[string]string{"doc.yaml": document, "replies.yaml": blocks[i+1]} {
					if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
						t.Fatal(err)
					}
				}
				before := names(t, dir)
				if status, _, errs := hocketMain(t, "validate", "doc.yaml"); status != 0 {
					t.Fatalf("validate: status %d: %s", status, errs)
				}
				if after := names(t, dir); after != before {
					t.Errorf("validate changed the folder: %s", after)
				}
				status, out, errs := hocketMain(t, "run", "doc.yaml", "--replies", "replies.yaml", "--trust", "--db", ":memory:", "go")
				if want := blocks[i+2]; status != 0 || out != want {
					t.Errorf("status %d, printed %q, want %q\n%s", status, out, want, errs)
				}
			})
		}
	}
	if ran == 0 {
		t.Error("the page has no documents")
	}
}

// fenced gives the blocks of a section in order, their fences left out.
func fenced(section string) []string {
	var out []string
	parts := strings.Split("\n"+section, "\n```")
	for i := 1; i < len(parts); i += 2 {
		_, text, _ := strings.Cut(parts[i], "\n")
		out = append(out, text+"\n")
	}
	return out
}

func hocketMain(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs strings.Builder
	home := t.TempDir()
	env := func(name string) string {
		if name == "HOME" || name == "HOCKET_HOME" {
			return home
		}
		return ""
	}
	status = cli.Main(context.Background(), args, cli.Streams{In: strings.NewReader(""), Out: &out, Err: &errs, Env: env}, cli.Wiring{})
	return status, out.String(), errs.String()
}

func names(t *testing.T, dir string) string {
	t.Helper()
	found, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(found, " ")
}
