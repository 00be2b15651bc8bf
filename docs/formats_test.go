package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestFormatsGuide: the page has a document of each format, in which validate finds no problem, and which prints what the page says with the reply script
// that follows it.
func TestFormatsGuide(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("formats.md")
	if err != nil {
		t.Fatal(err)
	}
	var ran []string
	for _, section := range strings.Split(string(page), "\n## ")[1:] {
		title, _, _ := strings.Cut(section, "\n")
		blocks := fenced(section)
		if len(blocks) != 3 {
			t.Fatalf("%s: found %d blocks, want a document, replies and an output", title, len(blocks))
		}
		ran = append(ran, strings.ToLower(title))
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			document, replies := filepath.Join(t.TempDir(), "doc"), filepath.Join(t.TempDir(), "replies.yaml")
			for name, text := range map[string]string{document: blocks[0], replies: blocks[1]} {
				if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if status, out, errs := hocketMain(t, "validate", document); status != 0 || out != "" {
				t.Fatalf("validate: status %d: %s%s", status, out, errs)
			}
			status, out, errs := hocketMain(t, "run", document, "--replies", replies, "--approve-all", "--db", ":memory:", "--format", strings.ToLower(title), "go")
			if status != 0 || out != blocks[2] {
				t.Errorf("status %d, printed %q, want %q\n%s", status, out, blocks[2], errs)
			}
		})
	}
	if got := strings.Join(ran, " "); got != "steps canvas rounds routes" {
		t.Errorf("the page has the formats %s", got)
	}
}
