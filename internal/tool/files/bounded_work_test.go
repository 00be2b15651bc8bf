package files

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

// works holds calls that do a large amount of work, with the minimum number of pieces in which they
// must do it.
var works = []struct {
	name, tool, args string
	pieces           int
	make             func(t *testing.T, dir string)
}{
	{"regular expression over a long line", "search_files_content", `{"query": "(.{40}x){10}y", "is_regex": true}`, 15,
		long},
	{"text in many lines", "search_files_content", `{"query": "none"}`, 100_000, func(t *testing.T, dir string) {
		content(t, dir, "f", strings.Repeat("\n", 100_000))
	}},
	{"large files", "search_files_content", `{"query": "none"}`, 60, func(t *testing.T, dir string) {
		sparse(t, dir, "f", 4<<20)
	}},
	{"excluded patterns", "search_files_content", `{"query": "none", "excludePatterns": [` + patterns + `]}`, 100 * 100,
		many},
	{"excluded patterns of names", "search_files", `{"pattern": "none", "excludePatterns": [` + patterns + `]}`,
		100 * 100, many},
	{"sparse file", "read_file", `{"path": "f", "offset": 100000}`, 1000, func(t *testing.T, dir string) {
		sparse(t, dir, "f", 64<<20)
	}},
	{"sparse files", "read_multiple_files", `{"paths": ["f", "f", "f"]}`, 6, func(t *testing.T, dir string) {
		sparse(t, dir, "f", 1<<20)
	}},
	{"edits", "edit_file", `{"path": "f", "edits": [` +
		strings.TrimSuffix(strings.Repeat(`{"oldText": "a", "newText": "a"},`, 100), ",") + `]}`, 100,
		func(t *testing.T, dir string) { content(t, dir, "f", "a\n") }},
	{"large file to be edited", "edit_file", `{"path": "f", "edits": [{"oldText": "first", "newText": "1"}]}`, 100,
		func(t *testing.T, dir string) { sparse(t, dir, "f", 9<<20) }},
	{"folder of many files", "list_directory", `{"path": "."}`, 300, many},
	{"tree", "directory_tree", `{"path": ".", "maxDepth": 60}`, 100, deep},
	{"folders to be removed", "remove_directory", `{"paths": ["d"], "recursive": true}`, 100, deep},
	{"folders to be made", "create_directory", `{"paths": [` + strings.TrimSuffix(strings.Repeat(`"n/m",`, 100), ",") +
		`]}`, 100, func(*testing.T, string) {}},
	{"patterns of .gitignore", "search_files", `{"pattern": "none"}`, 300 * 5000 / 64, func(t *testing.T, dir string) {
		t.Helper()
		many(t, dir)
		content(t, dir, ".gitignore", strings.Repeat("none\n", maxIgnorePatterns))
	}},
	{"large .gitignore files", "search_files", `{"pattern": "none"}`, 4 * 4, func(t *testing.T, dir string) {
		t.Helper()
		for i := range 4 {
			content(t, dir, fmt.Sprintf("d%d/.gitignore", i), "#"+strings.Repeat("x", maxIgnoreBytes-1))
		}
	}},
}

var patterns = strings.TrimSuffix(strings.Repeat(`"*x*y*",`, 100), ",")

func content(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// sparse creates a file of size bytes that begins with text.
func sparse(t *testing.T, dir, name string, size int64) {
	t.Helper()
	content(t, dir, name, "first\n"+strings.Repeat("text\n", 2000))
	if err := os.Truncate(filepath.Join(dir, name), size); err != nil {
		t.Fatal(err)
	}
}

func long(t *testing.T, dir string) {
	t.Helper()
	content(t, dir, "f", strings.Repeat("x", 50_000))
}

func many(t *testing.T, dir string) {
	t.Helper()
	for i := range 300 {
		content(t, dir, fmt.Sprintf("f%d", i), "")
	}
}

func deep(t *testing.T, dir string) {
	t.Helper()
	for i := range 10 {
		for j := range 10 {
			content(t, dir, fmt.Sprintf("d/%d/%d/f", i, j), "")
		}
	}
}

// TestTools_ContextDone checks that each tool does its work in pieces, that the context is checked
// before each piece, and that nothing is done once the context is done.
func TestTools_ContextDone(t *testing.T) {
	t.Parallel()
	tried := map[string]bool{"write_file": true, "move_file": true} // a single system operation each
	for _, w := range works {
		tried[w.tool] = true
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			w.make(t, dir)
			run := func(ctx context.Context) error {
				ts, err := New(Config{Dir: dir}, tool.Spec{Type: tool.TypeFilesystem, Trusted: true})
				if err != nil {
					t.Fatal(err)
				}
				defer ts.Close()
				if _, err := ts.Tools(t.Context()); err != nil {
					t.Fatal(err)
				}
				for _, e := range catalog {
					if e.def.Name == w.tool {
						_, err := e.run(ctx, call{set: ts, root: ts.root}, json.RawMessage(w.args))
						return err
					}
				}
				t.Fatalf("unknown tool %s", w.tool)
				return nil
			}
			half := &tooltest.Countdown{Context: context.Background(), Until: w.pieces / 2}
			err := run(half)
			if err == nil {
				t.Fatalf("it went on to its end, and asked %d times", half.Asked)
			}
			// The call itself asks again why it ended, at most once per level.
			if more := half.Asked - half.Until; more > 8 {
				t.Errorf("it asked %d times after the end", more)
			}
			whole := &tooltest.Countdown{Context: context.Background(), Until: 1 << 40}
			if err := run(whole); err != nil {
				t.Fatal(err)
			}
			if whole.Asked < w.pieces {
				t.Errorf("the work was done in %d pieces, want %d at least", whole.Asked, w.pieces)
			}
		})
	}
	for _, e := range catalog {
		if !tried[e.def.Name] {
			t.Errorf("no work of %s is tried", e.def.Name)
		}
	}
}

// TestRead_NotRegularFile checks that anything that is not a regular file is not read, because it
// might be endless.
func TestRead_NotRegularFile(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/zero"); err != nil {
		t.Skip("there are no such devices here")
	}
	ts, err := New(Config{Dir: "/dev"}, tool.Spec{Type: tool.TypeFilesystem, Trusted: true})
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Close()
	if _, err := ts.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, e := range catalog {
		for _, args := range []string{`{"path": "zero"}`, `{"paths": ["zero"]}`, `{"path": "zero", "query": "x"}`,
			`{"path": "zero", "edits": [{"oldText": "a", "newText": "b"}]}`} {
			if e.writes && e.def.Name != "edit_file" {
				continue
			}
			text, err := e.run(t.Context(), call{set: ts, root: ts.root}, json.RawMessage(args))
			if strings.Contains(text, "\x00") || err == nil && strings.Contains(text, "bytes of") {
				t.Errorf("%s %s: %q, %v", e.def.Name, args, text, err)
			}
		}
	}
}

// TestQueryLimit checks that the size of a regular expression is limited and that the error names
// the limit.
func TestQueryLimit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`(.{100}){10}`, strings.Repeat("(.{1000})", 9)} {
		if _, err := newQuery(text, true); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := newQuery(strings.Repeat("(.{1000})", 100), true)
	if err == nil || !strings.Contains(err.Error(), "more than the limit of 10000") {
		t.Errorf("got %v", err)
	}
}
