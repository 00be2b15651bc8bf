package examples_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/testinput"
)

// TestGoExamples builds the programs under go and runs them as their comments say, each call in a
// separate process.
func TestGoExamples(t *testing.T) {
	t.Parallel()
	testinput.Files(t, ":!docs")
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), "go", "build", "-ldflags=-s -w", "-o", dir, "./go/...")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	// do runs a program and returns its output.
	do := func(t *testing.T, succeeds bool, name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), filepath.Join(dir, name), args...)
		c.Dir = dir
		out, err := c.CombinedOutput()
		if (err == nil) != succeeds {
			t.Fatalf("%s %q: %v\n%s", name, args, err, out)
		}
		return string(out)
	}
	same := func(t *testing.T, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	}

	t.Run("review", func(t *testing.T) {
		t.Parallel()
		first := `Draft: Good news: the town library opens on Sundays.
  - it names no day and no hour
  - readers will not be excited
Publish it? Answer yes, or what to add.
`
		same(t, do(t, true, "review", "the town library opens on Sundays"), first)
		same(t, do(t, true, "review"), first)
		same(t, do(t, true, "review", "-answer", "From 10 on!"),
			`Draft: Good news: the town library opens on Sundays. From 10 on!
Publish it? Answer yes, or what to add.
`)
		published := `Published: GOOD NEWS: THE TOWN LIBRARY OPENS ON SUNDAYS. FROM 10 ON!
Nodes that ran: loop_start_1 write check ask loop_check_2 write check ask loop_check_2 decision_3 publish merge_4
`
		same(t, do(t, true, "review", "-answer", "yes"), published)
		same(t, do(t, true, "review"), published)
		same(t, do(t, false, "review", "-id", "other", "-answer", "yes"), "review: look up run other: not found\n")
	})

	t.Run("hello", func(t *testing.T) {
		t.Parallel()
		same(t, do(t, true, "hello"), "completed ON TIDES\n")
	})

	t.Run("research", func(t *testing.T) {
		t.Parallel()
		steps, report, ok := strings.Cut(do(t, true, "research"), "\n\n")
		if lines := strings.Split(steps, "\n"); !ok || len(lines) != 7 ||
			!slices.ContainsFunc(lines, func(l string) bool { return strings.HasPrefix(l, "far: ") }) {
			t.Errorf("steps\n%s\nwant seven, far cancelled", steps)
		}
		same(t, report, `The hocket:
- The hocket is a medieval technique (near mirror).
- Two voices share one melody, note by note.
- The historian agrees with all 2 facts.
- The singer agrees with all 2 facts.

It cost 4 cents.
`)
	})

	t.Run("tool", func(t *testing.T) {
		t.Parallel()
		same(t, do(t, true, "tool", "Where is order 118?"),
			"Order 118 is in the depot and arrives on Monday.\n(completed, 2 model calls, 1 tool calls)\n")
	})
}
