package engine_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	shownTranscript = regexp.MustCompile(`(?s)<!-- transcript (\w+) -->\n.*?<!-- /transcript -->`)
	listed          = regexp.MustCompile(`(?s)<!-- transcripts -->\n.*?<!-- /transcripts -->`)
)

// TestTranscriptsInDocs checks that docs/engine.md shows the transcript that it names, and lists
// all transcripts, in their current form.
func TestTranscriptsInDocs(t *testing.T) {
	t.Parallel()
	const page = "../../docs/engine.md"
	old, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	fresh := shownTranscript.ReplaceAllFunc(old, func(m []byte) []byte {
		name := shownTranscript.FindSubmatch(m)[1]
		_, body, _ := strings.Cut(readTranscript(t, filepath.Join(transcriptDir, string(name)+".txt")), "\n\n")
		return fmt.Appendf(nil, "<!-- transcript %s -->\n\n```text\n%s\n```\n\n<!-- /transcript -->", name,
			strings.TrimSpace(body))
	})
	var list strings.Builder
	for _, file := range transcripts(t) {
		comment, _, _ := strings.Cut(readTranscript(t, file), "\n\n")
		about, _, _ := strings.Cut(strings.ReplaceAll(strings.TrimPrefix(comment, "# "), "\n# ", " "), ". ")
		fmt.Fprintf(&list, "| [%s](../internal/engine/%s) | %s |\n", strings.TrimSuffix(filepath.Base(file), ".txt"),
			filepath.ToSlash(file), strings.TrimSuffix(about, "."))
	}
	fresh = listed.ReplaceAllLiteral(fresh,
		fmt.Appendf(nil, "<!-- transcripts -->\n\n| scenario | what it shows |\n| --- | --- |\n%s\n<!-- "+
			"/transcripts -->", list.String()))
	if string(fresh) == string(old) {
		return
	}
	if !*updateFiles {
		t.Errorf("%s is not up to date: run go test ./internal/engine -run Transcripts -update", page)
		return
	}
	if err := os.WriteFile(page, fresh, 0o644); err != nil {
		t.Fatal(err)
	}
}

func readTranscript(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
