package files_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	_ "github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/tool"
)

const secret = "canary-of-the-outside"

// arena creates a folder to be served inside a folder that holds files that must not be reached.
func arena(t *testing.T) (inside, outside string) {
	t.Helper()
	outside = t.TempDir()
	inside = filepath.Join(outside, "root")
	put(t, outside, "secret.txt", secret)
	put(t, outside, "dir/secret.txt", secret)
	put(t, inside, "in.txt", "inside")
	put(t, inside, "sub/in.txt", "inside")
	for link, target := range map[string]string{
		"link.txt": "../secret.txt", "abs.txt": filepath.Join(outside, "secret.txt"), "linkdir": "../dir",
		"absdir": outside,
		"chain":  "linkdir", "sub/up": "../..", "dangling": "../new.txt", "self": "self",
	} {
		if err := os.Symlink(target, filepath.Join(inside, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	return inside, outside
}

// state returns every file below dir with its content, and links with their targets.
func state(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			out[path] = "folder"
			return err
		}
		if d.Type()&fs.ModeSymlink != 0 {
			out[path], err = os.Readlink(path)
			return err
		}
		b, err := os.ReadFile(path)
		out[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, before, after map[string]string) {
	t.Helper()
	for path, content := range after {
		if was, ok := before[path]; !ok || was != content {
			t.Errorf("%s holds %q, before: %q", path, content, was)
		}
	}
	for path := range before {
		if _, ok := after[path]; !ok {
			t.Errorf("%s is gone", path)
		}
	}
}

// escapes returns paths that must not be served, keyed by the reason why they are not valid.
func escapes(outside string) map[string]string {
	return map[string]string{
		"parent":              "../secret.txt",
		"parent of a folder":  "sub/../../secret.txt",
		"parent of nothing":   "none/../../secret.txt",
		"only a parent":       "..",
		"many parents":        strings.Repeat("../", 40) + "etc/passwd",
		"absolute":            filepath.Join(outside, "secret.txt"),
		"absolute, by root":   filepath.Join(outside, "root") + "/../secret.txt",
		"absolute, sibling":   filepath.Join(outside, "root") + "x/secret.txt",
		"system file":         "/etc/passwd",
		"two slashes":         "//etc/passwd",
		"process":             "/proc/self/environ",
		"home":                "~/.ssh/id_rsa",
		"link to a file":      "link.txt",
		"absolute link":       "abs.txt",
		"link to a folder":    "linkdir/secret.txt",
		"absolute link, dir":  "absdir/secret.txt",
		"chain of links":      "chain/secret.txt",
		"link below":          "sub/up/secret.txt",
		"link to nothing":     "dangling",
		"link to itself":      "self",
		"drive":               `C:\Windows\win.ini`,
		"drive with slashes":  "C:/Windows/win.ini",
		"drive, relative":     "c:secret.txt",
		"backslashes":         `..\secret.txt`,
		"backslash below":     `sub\..\..\secret.txt`,
		"verbatim":            `\\?\C:\secret.txt`,
		"device path":         `\\.\PhysicalDrive0`,
		"share":               `\\server\share\secret.txt`,
		"share with slashes":  "//server/share/secret.txt",
		"encoded dots":        "%2e%2e/secret.txt",
		"encoded slash":       "..%2fsecret.txt",
		"encoded backslash":   "..%5Csecret.txt",
		"encoded twice":       "%252e%252e%252fsecret.txt",
		"encoded thrice":      "%25252e%25252e/secret.txt",
		"encoded NUL":         "in.txt%00.png",
		"NUL":                 "in.txt\x00.png",
		"invalid UTF-8":       "\xc0\xae\xc0\xae/secret.txt",
		"empty":               "",
		"too long":            strings.Repeat("a/", 3000) + "x",
		"a name too long":     strings.Repeat("a", 300),
		"file as folder":      "in.txt/../../secret.txt",
		"file URL":            "file:///etc/passwd",
		"trailing parent":     "sub/../..",
		"device, Windows":     "NUL",
		"device, extension":   "sub/con.txt",
		"device, superscript": "COM¹",
	}
}

// TestEscapes checks that every tool rejects a path that leads out of the folder, whatever its
// form, with an explanation, and that nothing outside is read and nothing anywhere is written
// (SEC16).
func TestEscapes(t *testing.T) {
	t.Parallel()
	inside, outside := arena(t)
	ts := open(t, inside, `"ignore_vcs":false`)
	before := state(t, outside)
	calls := map[string]func(path string) any{
		"read_file":           func(p string) any { return obj{"path": p} },
		"read_multiple_files": func(p string) any { return obj{"paths": []string{p}} },
		"write_file":          func(p string) any { return obj{"path": p, "content": "overwritten"} },
		"edit_file": func(p string) any {
			return obj{"path": p, "edits": []obj{{"oldText": secret, "newText": "overwritten"}}}
		},
		"list_directory":       func(p string) any { return obj{"path": p} },
		"directory_tree":       func(p string) any { return obj{"path": p} },
		"search_files":         func(p string) any { return obj{"path": p, "pattern": "*secret*"} },
		"search_files_content": func(p string) any { return obj{"path": p, "query": "canary"} },
		"create_directory":     func(p string) any { return obj{"paths": []string{p}} },
		"remove_directory":     func(p string) any { return obj{"paths": []string{p}, "recursive": true} },
		"move_file":            func(p string) any { return obj{"source": "in.txt", "destination": p} },
		"move_file from":       func(p string) any { return obj{"source": p, "destination": "moved.txt"} },
	}
	for why, path := range escapes(outside) {
		for name, args := range calls {
			tool, _, _ := strings.Cut(name, " ")
			if path == "" && (tool == "list_directory" || tool == "directory_tree" ||
				strings.HasPrefix(tool, "search_")) {
				continue // the folder itself
			}
			// The link itself is in the folder and may be moved; its target may not.
			if strings.HasPrefix(why, "link to ") && name == "move_file from" || why == "absolute link" &&
				name == "move_file from" {
				continue
			}
			r := do(t, ts, tool, args(path))
			if strings.Contains(r.Text, secret) || strings.Contains(r.Text, "root:") {
				t.Errorf("%s, %s: it was read: %s", why, name, r.Text)
			}
			searched := tool == "search_files_content" && strings.Contains(r.Text, "no line matches")
			if tool != "read_multiple_files" && !searched && (!r.IsError || r.Text == "") {
				t.Errorf("%s, %s: %+v; want a clear error", why, name, r)
			}
		}
	}
	same(t, before, state(t, outside))
}

// TestWalk_SymlinksNotFollowed checks that no walk follows a link (SEC16).
func TestWalk_SymlinksNotFollowed(t *testing.T) {
	t.Parallel()
	inside, _ := arena(t)
	ts := open(t, inside, "")
	for _, name := range []string{"directory_tree", "search_files", "search_files_content"} {
		r := do(t, ts, name, obj{"path": ".", "pattern": "*secret*", "query": "canary", "maxDepth": 20})
		if r.IsError || strings.Contains(r.Text, "secret") || strings.Contains(r.Text, secret) {
			t.Errorf("%s: %+v", name, r)
		}
	}
}

// TestSwappedFolder checks that a folder that is replaced by a link during reads and writes leads
// nowhere (SEC16).
func TestSwappedFolder(t *testing.T) {
	t.Parallel()
	inside, outside := arena(t)
	ts := open(t, inside, "")
	put(t, inside, "swap/secret.txt", "inside")
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		a, b := filepath.Join(inside, "swap"), filepath.Join(inside, "real")
		for {
			select {
			case <-stop:
				return
			default:
			}
			_ = os.Rename(a, b)
			_ = os.Symlink("../dir", a)
			_ = os.Remove(a)
			_ = os.Rename(b, a)
		}
	})
	for range 300 {
		if r := do(t, ts, "read_file", obj{"path": "swap/secret.txt"}); strings.Contains(r.Text, secret) {
			t.Errorf("read through the link: %+v", r)
		}
		do(t, ts, "write_file", obj{"path": "swap/secret.txt", "content": "overwritten"})
		do(t, ts, "edit_file",
			obj{"path": "swap/secret.txt", "edits": []obj{{"oldText": "canary", "newText": "overwritten"}}})
		do(t, ts, "remove_directory", obj{"paths": []string{"swap/none"}, "recursive": true})
	}
	close(stop)
	wg.Wait()
	if got := get(t, outside, "dir/secret.txt"); got != secret {
		t.Errorf("the file outside holds %q", got)
	}
	if entries, err := os.ReadDir(filepath.Join(outside, "dir")); err != nil || len(entries) != 1 {
		t.Errorf("the folder outside holds %v, %v", entries, err)
	}
}

// TestPath_Random checks the property that, whatever parts a path consists of, nothing outside the
// folder is read or changed (SEC16).
func TestPath_Random(t *testing.T) {
	t.Parallel()
	inside, outside := arena(t)
	ts := open(t, inside, "")
	guarded := func() map[string]string {
		all := state(t, outside)
		for path := range all {
			if strings.HasPrefix(path, inside) {
				delete(all, path)
			}
		}
		return all
	}
	before := guarded()
	rapid.Check(t, func(rt *rapid.T) {
		part := rapid.SampledFrom([]string{"..", ".", "", "sub", "up", "linkdir", "absdir", "secret.txt", "in.txt", "~",
			"%2e%2e", `\`, "C:", outside, "dir", "root"})
		path := strings.Join(rapid.SliceOfN(part, 1, 8).Draw(rt, "parts"),
			rapid.SampledFrom([]string{"/", "//", `\`}).Draw(rt, "separator"))
		var r tool.Result
		switch rapid.IntRange(0, 2).Draw(rt, "tool") {
		case 0:
			r = do(t, ts, "read_file", obj{"path": path})
		case 1:
			r = do(t, ts, "write_file", obj{"path": path, "content": "overwritten"})
		case 2:
			r = do(t, ts, "search_files_content", obj{"path": path, "query": "canary"})
		}
		if strings.Contains(r.Text, secret) {
			rt.Fatalf("%q: %s", path, r.Text)
		}
	})
	same(t, before, guarded())
}
