package files_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// TestIgnoreLimits checks that if a .gitignore exceeds a limit, its folders are left out, the limit
// is named, and all other folders are shown.
func TestIgnoreLimits(t *testing.T) {
	t.Parallel()
	lines := func(n int) string { return strings.Repeat("none\n", n) }
	for name, c := range map[string]struct{ text, limit string }{
		"bytes":    {strings.Repeat("#\n", 128<<10) + "x", "the limit of 262144 bytes;"},
		"patterns": {lines(5001), "the limit of 5000 patterns;"},
		"length":   {strings.Repeat("x", 1001), "the limit of 1000 bytes in one pattern;"},
		"most":     {lines(4999) + strings.Repeat("x", 1000), ""},
		"comments": {strings.Repeat("#\n", 128<<10), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "a/b/.gitignore", c.text)
			put(t, dir, "a/b/found", "word\n")
			put(t, dir, "a/found", "word\n")
			ts := open(t, dir, "")
			for tool, args := range map[string]obj{"search_files": {"pattern": "found"}, "search_files_content": {
				"query": "word",
			}, "directory_tree": {"path": "."}, "list_directory": {"path": "a/b"}} {
				text := do(t, ts, tool, args).Text
				if c.limit == "" {
					if strings.Contains(text, "limit") || !strings.Contains(text, "found") {
						t.Errorf("%s: %s", tool, text)
					}
					continue
				}
				if want := "[the contents of a/b are left out: a/b/.gitignore has more than " +
					c.limit; !strings.Contains(text, want) {
					t.Errorf("%s: got %s, want %s", tool, text, want)
				}
				if strings.Contains(text, "a/b/found") || tool == "search_files" &&
					!strings.Contains(text, "a/found\n") {
					t.Errorf("%s: %s", tool, text)
				}
			}
			if text := do(t, open(t, dir, `"ignore_vcs":false`), "list_directory",
				obj{"path": "a/b"}).Text; !strings.Contains(text, "FILE found") {
				t.Errorf("with ignore_vcs: false: %s", text)
			}
		})
	}
}

// TestIgnore_NestedLimits checks that the rules of nested folders are limited in total, and so are
// the notes about them.
func TestIgnore_NestedLimits(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	at := ""
	for i := range 6 {
		at += fmt.Sprintf("d%d/", i)
		put(t, dir, at+".gitignore", strings.Repeat("none\n", 4000))
		put(t, dir, at+"found", "")
	}
	for i := range 9 {
		put(t, dir, fmt.Sprintf("e%d/.gitignore", i), strings.Repeat("x", 1001))
	}
	text := do(t, open(t, dir, ""), "search_files", obj{"pattern": "found"}).Text
	if n := strings.Count(text, "/found\n"); n != 5 {
		t.Errorf("%d files were found, want 5: %s", n, text)
	}
	for _, want := range []string{
		"d0/d1/d2/d3/d4/d5/.gitignore has more than the limit of 20000 patterns, " +
			"those of the folders above it included",
		"[5 more folders are left out for the same reasons]",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("got %s, want %s", text, want)
		}
	}
}

// TestIgnoreMemory checks that eight nested files of 256 KB take some MB of memory, not GB. No
// other test runs in parallel.
func TestIgnoreMemory(t *testing.T) { //nolint:paralleltest // it measures what is allocated
	for name, line := range map[string]string{"short": "a\n", "stars": "*a*b*c*d*e*f*g*h*\n",
		"classes": "[[:alnum:]][a-z][!é]?\n", "longest": strings.Repeat("*a", 499) + "\n"} {
		dir, at := t.TempDir(), ""
		for i := range 8 {
			put(t, dir, at+".gitignore", strings.Repeat(line, (256<<10)/len(line)))
			at += fmt.Sprintf("d%d/", i)
			put(t, dir, at+"file", "")
		}
		ts := open(t, dir, "")
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		do(t, ts, "search_files", obj{"pattern": "file"})
		runtime.ReadMemStats(&after)
		const most = 64 << 20
		if n := after.TotalAlloc - before.TotalAlloc; n > most {
			t.Errorf("%s: %d bytes were allocated, want at most %d", name, n, most)
		} else {
			t.Logf("%s: %d KB were allocated", name, n>>10)
		}
	}
}
