package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	linked     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading    = regexp.MustCompile(`(?m)^#+ +(.+)$`)
	codeBlock  = regexp.MustCompile("(?ms)^```.*?^```")
	unanchored = regexp.MustCompile("[^a-z0-9 _-]")
)

// TestLinks: each page is one click from the index of docs, which is one click from README; links within the repository lead to files and headings that are there.
func TestLinks(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("*.md")
	if err != nil || len(pages) < 15 {
		t.Fatalf("found the pages %v, %v", pages, err)
	}
	fromIndex := targets(t, "README.md")
	for _, page := range pages {
		if page != "README.md" && !fromIndex[page] {
			t.Errorf("docs/README.md does not lead to %s", page)
		}
	}
	if !targets(t, "../README.md")["docs/README.md"] {
		t.Error("README.md does not lead to docs/README.md")
	}
	for _, page := range append(pages, "../README.md", "../ARCHITECTURE.md", "../CONTRIBUTING.md", "../SECURITY.md") {
		for target := range targets(t, page) {
			checkLink(t, page, target)
		}
	}
}

// targets gives what a page links to within the repository, whole and without the part behind #.
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
	t.Errorf("%s links to %s, and there is no such heading", page, target)
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
