//go:build unix

package files_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
)

// TestRead checks that reads are limited and that the result states what was left out (SEC17).
func TestRead(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.txt", "one\ntwo\nthree\nfour")
	put(t, dir, "crlf.txt", "one\r\ntwo\r\n")
	put(t, dir, "empty.txt", "")
	put(t, dir, "binary.png", "\x89PNG\r\n\x1a\n\x00\x00")
	put(t, dir, "latin1.txt", "caf\xe9")
	put(t, dir, "long.txt", strings.Repeat("x", 300_000))
	put(t, dir, "many.txt", strings.Repeat("0123456789abcde\n", 20_000))
	if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	ts := open(t, dir, "")
	for name, c := range map[string]struct {
		args    obj
		want    string // part of the answer
		isError bool
	}{
		"whole": {obj{"path": "a.txt"}, "one\ntwo\nthree\nfour", false},
		"some lines": {obj{"path": "a.txt", "offset": 2, "limit": 2},
			"two\nthree\n[lines from 4 on are left out; continue with offset 4; the file has 18 bytes]", false},
		"last lines":       {obj{"path": "a.txt", "offset": 3, "limit": 9}, "three\nfour", false},
		"exactly the rest": {obj{"path": "a.txt", "offset": 4, "limit": 1}, "four", false},
		"beyond the end":   {obj{"path": "a.txt", "offset": 5}, "[a.txt has no line 5]", false},
		"line ends":        {obj{"path": "crlf.txt"}, "one\r\ntwo\r\n", false},
		"empty":            {obj{"path": "empty.txt"}, "", false},
		"no text": {obj{"path": "binary.png"}, "[binary.png is not a text file: 10 bytes of image/png]",
			false},
		"other encoding": {obj{"path": "latin1.txt"}, "caf\xe9", false}, // the Set converts it to text
		"a long line": {obj{"path": "long.txt"},
			"[line 1 is longer than the 131072 bytes of an answer; the rest of it and of the file is left out; the " +
				"file has 300000 bytes]", false},
		"many lines": {obj{"path": "many.txt"}, "[lines from 8193 on are left out, since an answer has at most " +
			"131072 bytes; continue with offset 8193; the file has 320000 bytes]", false},
		"go on":  {obj{"path": "many.txt", "offset": 19_999}, "0123456789abcde\n0123456789abcde\n", false},
		"absent": {obj{"path": "none.txt"}, `file "none.txt" not found`, true},
		"folder": {obj{"path": "."}, `"." is a folder; list_directory lists it`, true},
		"pipe":   {obj{"path": "pipe"}, `"pipe" is not a regular file`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := do(t, ts, "read_file", c.args)
			ok := strings.HasSuffix(r.Text, c.want)
			if len(r.Text) < 1000 {
				ok = r.Text == c.want
			}
			if !ok || r.IsError != c.isError {
				t.Errorf("error %v, %q; want %v, %q", r.IsError, tail(r.Text), c.isError, c.want)
			}
		})
	}
}

func tail(s string) string { return s[max(0, len(s)-300):] }

func TestReadMany(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "a.txt", "one")
	put(t, dir, "b.txt", "two\n")
	put(t, dir, "big.txt", strings.Repeat("0123456789abcde\n", 20_000))
	ts := open(t, dir, "")
	r := do(t, ts, "read_multiple_files", obj{"paths": []string{"a.txt", "none.txt", "../x", "b.txt"}})
	want := "=== a.txt ===\none\n=== none.txt ===\n[file \"none.txt\" not found]\n=== ../x ===\n[path \"../x\" is " +
		"outside of the folder " + dir +
		"; only paths inside it are accessible]\n=== b.txt ===\ntwo\n"
	if r.Text != want {
		t.Errorf("got %q, want %q", r.Text, want)
	}
	r = do(t, ts, "read_multiple_files", obj{"paths": []string{"big.txt", "b.txt", "a.txt"}})
	if len(r.Text) > 132_000 || !strings.Contains(r.Text, "=== a.txt ===\n[left out") &&
		!strings.Contains(r.Text, "bytes of an answer") {
		t.Errorf("%d bytes: %q", len(r.Text), tail(r.Text))
	}
	if r := do(t, ts, "read_multiple_files", obj{"paths": make([]string, 51)}); !r.IsError ||
		!strings.Contains(r.Text, "limit of 50") {
		t.Errorf("51 files: %+v", r)
	}
}

func TestLists(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{
		"main.go", "go.mod", ".gitignore", "build/out.bin", "src/a.ts", "src/deep/b.ts", "src/deep/gen.ts",
		"src/.gitignore", ".git/config", "notes.log", "src/keep.log",
		"logs/x.txt", "src/logs/y.txt", "a b/c.txt",
	} {
		put(t, dir, name, "needle in "+name)
	}
	put(t, dir, ".gitignore", "# made\n/build/\n*.log\n!keep.log\n/logs\n\\#x\n")
	put(t, dir, "src/.gitignore", "gen.*\n")
	if err := os.Symlink("main.go", filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	tracked, all := open(t, dir, ""), open(t, dir, `"ignore_vcs":false`)
	for name, c := range map[string]struct {
		tool string
		args obj
		want string
	}{
		"list": {"list_directory", obj{"path": "."},
			"FILE .gitignore (41 bytes)\nDIR  a b/\nFILE go.mod (16 bytes)\nLINK link\nFILE main.go (17 " +
				"bytes)\nDIR  src/\n"},
		"list below": {"list_directory", obj{"path": "src/deep"}, "FILE b.ts (23 bytes)\n"},
		"tree": {"directory_tree", obj{"path": "."},
			".gitignore\na b/\n  c.txt\ngo.mod\nlink@\nmain.go\nsrc/\n  .gitignore\n  a.ts\n  deep/\n    b.ts\n  " +
				"keep.log\n  logs/\n    y.txt\n"},
		"flat tree": {"directory_tree", obj{"path": "src", "maxDepth": 1},
			".gitignore\na.ts\ndeep/ ...\nkeep.log\nlogs/ ...\n"},
		"by name":       {"search_files", obj{"path": ".", "pattern": "*.ts"}, "src/a.ts\nsrc/deep/b.ts\n"},
		"by path":       {"search_files", obj{"pattern": "src/*/*.{ts,}"}, "[nothing]"},
		"by folders":    {"search_files", obj{"pattern": "**/deep/*"}, "src/deep/b.ts\n"},
		"but not those": {"search_files", obj{"pattern": "*.ts", "excludePatterns": []string{"deep"}}, "src/a.ts\n"},
		"content": {"search_files_content", obj{"path": "src", "query": "needle in src/d"},
			"src/deep/b.ts:1: needle in src/deep/b.ts\n"},
		"expression": {"search_files_content", obj{"path": ".", "query": `needle.*\.(go|mod)$`, "is_regex": true},
			"go.mod:1: needle in go.mod\nmain.go:1: needle in main.go\n"},
		"literal": {"search_files_content", obj{"path": ".", "query": `needle.*`}, "[no line matches]"},
		"one file": {"search_files_content", obj{"path": "go.mod", "query": "needle"},
			"go.mod:1: needle in go.mod\n"},
		"excluded": {"search_files_content", obj{"query": "needle",
			"excludePatterns": []string{"src", "*.txt", "go.*"}}, "main.go:1: needle in main.go\n"},
		"no expression": {"search_files_content", obj{"path": ".", "query": "(", "is_regex": true},
			"query is not a valid regular expression (RE2): error parsing regexp: missing closing ): `(`"},
		"no folder":      {"directory_tree", obj{"path": "go.mod"}, `"go.mod" is not a folder`},
		"absent":         {"list_directory", obj{"path": "none"}, `file "none" not found`},
		"ignored folder": {"list_directory", obj{"path": "build"}, "FILE out.bin (23 bytes)\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := do(t, tracked, c.tool, c.args); r.Text != c.want {
				t.Errorf("got %q, want %q", r.Text, c.want)
			}
		})
	}
	r := do(t, all, "search_files", obj{"pattern": "*"})
	for _, name := range []string{".git/config", "build/out.bin", "notes.log", "src/deep/gen.ts", "logs/x.txt"} {
		if !strings.Contains(r.Text, name+"\n") {
			t.Errorf("ignore_vcs: false leaves out %s: %s", name, r.Text)
		}
	}
}

// TestBounds checks that the results of lists and searches are limited (SEC17).
func TestBounds(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for i := range 2100 {
		put(t, dir, fmt.Sprintf("f%04d", i), "needle")
	}
	put(t, dir, "zbig", strings.Repeat("x", 6<<20))
	put(t, dir, "along", strings.Repeat("x", 1000)+"pin"+strings.Repeat("y", 1000))
	ts := open(t, dir, "")
	for name, c := range map[string]struct {
		args obj
		want string
	}{
		"list_directory": {obj{"path": "."},
			"[more is left out: an answer has at most 2000 lines; look into one folder at a time]"},
		"search_files_content": {obj{"path": ".", "query": "needle"},
			"[more lines match: an answer has at most 200; search for something narrower]"},
	} {
		if r := do(t, ts, name, c.args); !strings.HasSuffix(r.Text, c.want) {
			t.Errorf("%s: %q", name, tail(r.Text))
		}
	}
	r := do(t, ts, "search_files_content", obj{"query": "pin"})
	if !strings.HasSuffix(r.Text, "[1 files of more than 5242880 bytes were not searched]") || len(r.Text) > 500 ||
		!strings.Contains(r.Text, "xpiny") {
		t.Errorf("%q", r.Text)
	}
	ctx, cancel := context.WithCancel(t.Context())
	tools, err := ts.Tools(ctx)
	if err != nil {
		t.Fatal(err)
	}
	cancel()
	for _, tl := range tools {
		if _, err := tl.Call(ctx, tool.Call{Name: tl.Def().Name,
			Arguments: json.RawMessage(`{"path":".","query":"x","pattern":"x"}`)}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s with a done context: %v", tl.Def().Name, err)
		}
	}
}
