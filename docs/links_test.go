package docs_test

import (
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/cli"
)

var (
	linked     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	codeBlock  = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	unanchored = regexp.MustCompile("[^a-z0-9 _-]")
)

// pages returns the slash-separated paths of all pages under docs/.
func pages(t *testing.T) []string {
	t.Helper()
	var found []string
	err := fs.WalkDir(os.DirFS("."), ".", func(name string, _ fs.DirEntry, err error) error {
		if path.Ext(name) == ".md" {
			found = append(found, name)
		}
		return err
	})
	if err != nil || len(found) < 60 {
		t.Fatalf("found %d pages: %v", len(found), err)
	}
	return found
}

// outside lists the other files of the repository whose links are checked.
var outside = []string{"../README.md", "../ARCHITECTURE.md", "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md",
	"../examples/README.md"}

// TestLinks checks that every page can be reached from docs/README.md, which is linked from
// README.md, and that links within the repository lead to existing files and headings.
func TestLinks(t *testing.T) {
	t.Parallel()
	all := pages(t)
	if !targets(t, "../README.md")["docs/README.md"] {
		t.Error("README.md does not link to docs/README.md")
	}
	reached := map[string]bool{}
	for open := []string{"README.md"}; len(open) > 0; {
		page := open[0]
		open = open[1:]
		if reached[page] {
			continue
		}
		reached[page] = true
		for target := range targets(t, page) {
			file, _, _ := strings.Cut(target, "#")
			if to := path.Join(path.Dir(page), file); file != "" && slices.Contains(all, to) {
				open = append(open, to)
			}
		}
	}
	for _, page := range all {
		if !reached[page] {
			t.Errorf("no link leads from docs/README.md to docs/%s, directly or by other pages", page)
		}
	}
	for _, page := range append(all, outside...) {
		for target := range targets(t, page) {
			checkLink(t, page, target)
		}
	}
}

// TestCommandLine checks that docs/cli is the reference of the current commands.
func TestCommandLine(t *testing.T) {
	t.Parallel()
	want := cli.ReferencePages()
	for name, text := range want {
		if got, err := os.ReadFile(filepath.Join("cli", name)); err != nil || string(got) != text {
			t.Errorf("docs/cli/%s is not up to date: run make docs", name)
		}
	}
	files, err := filepath.Glob("cli/*")
	if err != nil || len(files) != len(want) {
		t.Errorf("docs/cli holds %v, want %v: run make docs", files, slices.Sorted(maps.Keys(want)))
	}
}

// targets returns the targets of a page's links within the repository, both complete and without
// the part after #.
func targets(t *testing.T, page string) map[string]bool {
	t.Helper()
	found := map[string]bool{}
	for _, m := range linked.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, page), ""), -1) {
		if !strings.Contains(m[1], "://") && !strings.HasPrefix(m[1], "mailto:") {
			file, _, _ := strings.Cut(m[1], "#")
			found[m[1]], found[file] = true, true
		}
	}
	return found
}

func checkLink(t *testing.T, page, target string) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")
	to := page
	if file != "" {
		to = filepath.Join(filepath.Dir(page), filepath.FromSlash(file))
	}
	if _, err := os.Stat(to); err != nil {
		t.Errorf("%s links to %s: %v", page, target, err)
		return
	}
	if anchor == "" {
		return
	}
	for _, m := range heading.FindAllStringSubmatch(codeBlock.ReplaceAllString(read(t, to), ""), -1) {
		if strings.ReplaceAll(unanchored.ReplaceAllString(strings.ToLower(m[1]), ""), " ", "-") == anchor {
			return
		}
	}
	t.Errorf("%s links to %s, which has no such heading", page, target)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestPageSize checks that no page has more than 400 lines, and no line outside tables and blocks
// more than 160 characters.
func TestPageSize(t *testing.T) {
	t.Parallel()
	for _, page := range append(pages(t), "../README.md", "../examples/README.md") {
		text := read(t, page)
		if n := strings.Count(text, "\n"); n > 400 {
			t.Errorf("%s has %d lines, want at most 400", page, n)
		}
		if strings.HasPrefix(page, "adr/") {
			continue // notes for maintainers; accepted decisions are not edited
		}
		blocks := strings.Repeat("\n", strings.Count(text, "\n")) // replaces each block with as many empty lines
		prose := codeBlock.ReplaceAllStringFunc(text, func(b string) string { return blocks[:strings.Count(b, "\n")] })
		for i, line := range strings.Split(prose, "\n") {
			if n := len([]rune(line)); n > 160 && !strings.HasPrefix(line, "|") {
				t.Errorf("%s:%d has %d characters, want at most 160", page, i+1, n)
			}
		}
	}
}
