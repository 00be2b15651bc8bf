package files_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

func TestWrite(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "run.sh", "old")
	if err := os.Chmod(filepath.Join(dir, "run.sh"), 0o750); err != nil {
		t.Fatal(err)
	}
	ts := open(t, dir, "")
	for range 2 { // repeating the call has the same result (P12)
		if r := do(t, ts, "write_file", obj{"path": "a/b/new.txt", "content": "text"}); r.IsError ||
			r.Text != "wrote 4 bytes to a/b/new.txt" {
			t.Errorf("%+v", r)
		}
	}
	if got := get(t, dir, "a/b/new.txt"); got != "text" {
		t.Errorf("the file holds %q", got)
	}
	do(t, ts, "write_file", obj{"path": "run.sh", "content": "new"})
	if st, err := os.Stat(filepath.Join(dir, "run.sh")); err != nil || runtime.GOOS != "windows" &&
		st.Mode().Perm() != 0o750 || get(t, dir, "run.sh") != "new" {
		t.Errorf("mode %v, %v; a file keeps its mode", st.Mode(), err)
	}
	if r := do(t, ts, "write_file", obj{"path": "a", "content": "x"}); !r.IsError || r.Text != `"a" is a folder` {
		t.Errorf("over a folder: %+v", r)
	}
	entries, err := os.ReadDir(dir)
	if err != nil || len(entries) != 2 {
		t.Errorf("files are left behind: %v, %v", entries, err)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	const before = "one\ntwo\ntwo\nthree\n"
	for name, c := range map[string]struct {
		content string
		edits   []obj
		after   string // "" means unchanged
		answer  string
		isError bool
	}{
		"one": {before, []obj{{"oldText": "one", "newText": "1"}}, "1\ntwo\ntwo\nthree\n",
			"edited f:\nedit 1: replaced at line 1", false},
		"in order": {before, []obj{{"oldText": "three", "newText": "four"}, {"oldText": "four\n", "newText": ""}},
			"one\ntwo\ntwo\n", "edited f:\nedit 1: replaced at line 4\nedit 2: replaced at line 4", false},
		"absent": {before, []obj{{"oldText": "one", "newText": "1"}, {"oldText": "zero", "newText": "0"}}, "",
			"edit 2: oldText is not in the file; nothing was changed", true},
		"ambiguous": {before, []obj{{"oldText": "two", "newText": "2"}}, "",
			"edit 1: oldText occurs 2 times in the file; add surrounding lines until it is unique, or set " +
				"replaceAll; nothing was changed", true},
		"all": {before, []obj{{"oldText": "two", "newText": "2", "replaceAll": true}}, "one\n2\n2\nthree\n",
			"edited f:\nedit 1: replaced in 2 places, the first at line 2", false},
		"empty": {before, []obj{{"oldText": "", "newText": "2"}}, "",
			"edit 1: oldText is empty; nothing was changed", true},
		"line ends": {"one\r\ntwo\r\n", []obj{{"oldText": "one\ntwo", "newText": "x"}}, "",
			`edit 1: oldText is not in the file; the file ends its lines with \r\n; nothing was changed`, true},
		"no template": {before, []obj{{"oldText": "one", "newText": "$0 ${file} {{x}}"}},
			"$0 ${file} {{x}}\ntwo\ntwo\nthree\n", "edited f:\nedit 1: replaced at line 1", false},
		"bytes": {"caf\xe9 x", []obj{{"oldText": "x", "newText": "y"}}, "caf\xe9 y",
			"edited f:\nedit 1: replaced at line 1", false},
		"grows": {strings.Repeat("a", 1<<20),
			[]obj{{"oldText": "a", "newText": strings.Repeat("b", 100), "replaceAll": true}}, "",
			"edit 1: the file would have 104857600 bytes, more than the limit of 10485760 for edits; nothing " +
				"was changed", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			put(t, dir, "f", c.content)
			r := do(t, open(t, dir, ""), "edit_file", obj{"path": "f", "edits": c.edits})
			if r.Text != c.answer || r.IsError != c.isError {
				t.Errorf("got %+v, want %q", r, c.answer)
			}
			want := c.after
			if want == "" {
				want = c.content
			}
			if got := get(t, dir, "f"); got != want {
				t.Errorf("the file holds %q, want %q", got, want)
			}
		})
	}
}

// TestEdit_Concurrent checks that no edit is lost when edits are made concurrently.
func TestEdit_Concurrent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "f", "abcdefghijklmnop")
	ts := open(t, dir, "")
	var wg sync.WaitGroup
	for _, r := range "abcdefghijklmnop" {
		wg.Go(func() {
			do(t, ts, "edit_file",
				obj{"path": "f", "edits": []obj{{"oldText": string(r), "newText": strings.ToUpper(string(r))}}})
		})
	}
	wg.Wait()
	if got := get(t, dir, "f"); got != "ABCDEFGHIJKLMNOP" {
		t.Errorf("the file holds %q", got)
	}
}

func TestFolders(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "full/a.txt", "x")
	put(t, dir, "there.txt", "x")
	ts := open(t, dir, "")
	for i, s := range []struct {
		tool    string
		args    obj
		want    string
		isError bool
	}{
		{"create_directory", obj{"paths": []string{"x/y", "full"}}, "created x/y, full", false},
		{"remove_directory", obj{"paths": []string{"x/y", "full"}},
			"remove_directory: full: directory not empty; 1 of 2 folders were removed", true},
		{"remove_directory", obj{"paths": []string{"there.txt"}},
			`"there.txt" is not a folder; 0 of 1 folders were removed`, true},
		{"remove_directory", obj{"paths": []string{"."}, "recursive": true},
			`path "." is the folder of the toolset itself`, true},
		{"move_file", obj{"source": "full/a.txt", "destination": "there.txt"},
			`"there.txt" already exists; nothing was moved`, true},
		{"move_file", obj{"source": "full", "destination": "x/full"}, "moved full to x/full", false},
		{"move_file", obj{"source": "none", "destination": "x/none"}, `file "none" not found`, true},
		{"remove_directory", obj{"paths": []string{"x"}, "recursive": true}, "removed x", false},
	} {
		if r := do(t, ts, s.tool, s.args); r.Text != s.want || r.IsError != s.isError {
			t.Errorf("%d: %+v, want %q", i, r, s.want)
		}
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != "there.txt" {
		t.Errorf("left: %v, %v", entries, err)
	}
}

// TestPostEdit checks that post_edit commands get the path in an environment variable, because a
// file name must not be run as code (SEC3), and that failures are reported.
func TestPostEdit(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	ts := open(t, dir, `"post_edit":[{"path":"*.up","cmd":"tr a-z A-Z <\"${file}\" >t && cp t `+
		`\"${file}\""},{"path":"src/**/*.bad","cmd":"echo no good; exit 3"}]`)
	for _, name := range []string{"plain.up", "$(touch hacked).up", "`touch hacked`.up", "a'; touch hacked; '.up",
		"-rf.up", "two words.up"} {
		if r := do(t, ts, "write_file", obj{"path": name, "content": "text"}); r.IsError {
			t.Errorf("%q: %+v", name, r)
		}
		if got := get(t, dir, name); got != "TEXT" {
			t.Errorf("%q holds %q", name, got)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "hacked")); err == nil {
		t.Error("a name was run as code")
	}
	r := do(t, ts, "write_file", obj{"path": "src/x/y.bad", "content": "text"})
	if want := "wrote 4 bytes to src/x/y.bad\nthe file was written, but the command after edits \"echo no good; exit " +
		"3\" failed (exit status 3): no good"; r.Text != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
	if r := do(t, ts, "write_file", obj{"path": "y.bad", "content": "text"}); r.Text != "wrote 4 bytes to y.bad" {
		t.Errorf("a pattern of paths took a name: %q", r.Text)
	}
}
