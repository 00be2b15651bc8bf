// Package testinput registers the files that a test uses through other programs.
//
// The go command takes a test's result from its cache unless the test binary, or a file or variable
// that the test itself read, has changed. It does not notice what a program started by the test
// reads, nor the files from which the test builds a program.
package testinput

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Files makes the result of the running test depend on the files of this repository that match the
// patterns, which are patterns of git ls-files relative to the root of the repository; without
// patterns, on all files. Files that git ignores do not count. If the sources are not in a clone of
// the repository, Files logs that and does nothing.
func Files(t testing.TB, patterns ...string) {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "git", "rev-parse", "--show-toplevel").Output()
	if err != nil {
		t.Logf("git does not know these sources (%v): a result of this test may be taken from the cache though "+
			"they changed", err)
		return
	}
	c := exec.CommandContext(t.Context(), "git",
		append([]string{"ls-files", "--cached", "--others", "--exclude-standard", "-z", "--"}, patterns...)...)
	c.Dir = string(bytes.TrimSpace(root))
	out, err := c.Output()
	switch {
	case err != nil:
		t.Fatalf("git ls-files: %v", err)
	case len(out) == 0:
		t.Fatalf("no files match %q", patterns)
	}
	seen := map[string]bool{c.Dir: true} // the root itself changes with each commit
	for name := range bytes.SplitSeq(bytes.TrimSuffix(out, []byte{0}), []byte{0}) {
		path := filepath.Join(c.Dir, string(name))
		_, _ = os.Stat(path) // the go command records the access, also for a deleted file
		for dir := filepath.Dir(path); !seen[dir]; dir = filepath.Dir(dir) {
			seen[dir] = true
			_, _ = os.Stat(dir) // for files that are added
		}
	}
}
