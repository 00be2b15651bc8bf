package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestBlocks checks that each Go block in the guides and the README occurs, line by line, in a file
// that the tests compile and run; blank lines and indentation are ignored.
func TestBlocks(t *testing.T) {
	t.Parallel()
	var code []string
	for _, pattern := range []string{"*_test.go", "../examples/go/*/main.go", "../oteltrack/example_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: %v, %v", pattern, files, err)
		}
		for _, f := range files {
			code = append(code, lines(t, f))
		}
	}
	for name, least := range map[string]int{"graphs.md": 10, "graphs-agents.md": 4, "graphs-runs.md": 4,
		"../README.md": 1} {
		blocks := strings.Split(lines(t, name), "```go\n")[1:]
		if len(blocks) < least {
			t.Errorf("%s has %d blocks of Go, want at least %d", name, len(blocks), least)
		}
	blocks:
		for _, b := range blocks {
			block, _, ok := strings.Cut(b, "\n```\n")
			if !ok {
				t.Fatalf("%s: a block does not end:\n%s", name, b)
			}
			for _, c := range code {
				if strings.Contains(c, "\n"+block+"\n") {
					continue blocks
				}
			}
			t.Errorf("%s: no test runs this block:\n%s", name, block)
		}
	}
}

// lines returns the nonblank lines of a file without indentation, with a newline before the first
// and after the last.
func lines(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	b.WriteByte('\n')
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line != "" {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}
