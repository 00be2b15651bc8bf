package files_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/files"
)

// ruled returns a Set whose only agent has access to the files of dir under the given permissions.
func ruled(t *testing.T, dir, options string, rules tool.Permissions) *tool.Set {
	t.Helper()
	s, err := tool.NewSet(tool.Config{
		Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{spec(t, dir, options)}}}, Permissions: rules,
		Types: map[string]tool.Type{tool.TypeFilesystem: files.Type(files.Config{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// decided makes a call and returns its outcome (made, asked or denied) and its message.
func decided(t *testing.T, s *tool.Set, name string, args any) (string, string) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	r, err := s.Call(t.Context(), tool.Call{Run: "r", Agent: "a", Key: "k", Name: name, Arguments: raw})
	switch {
	case errors.As(err, new(*tool.HoldError)):
		return "asked", err.Error()
	case err != nil:
		t.Fatalf("%s %s: %v", name, raw, err)
	case strings.Contains(r.Text, "the permissions of this run forbid it"):
		return "denied", r.Text
	}
	return "made", r.Text
}

// grove returns a folder with a part that rules protect, and with links to that part.
func grove(t *testing.T) string {
	t.Helper()
	return groveIn(t, t.TempDir())
}

func groveIn(t *testing.T, above string) string {
	t.Helper()
	dir := filepath.Join(above, "wood")
	if err := errors.Join(os.RemoveAll(dir), os.RemoveAll(filepath.Join(above, "other"))); err != nil {
		t.Fatal(err)
	}
	put(t, dir, "private/diary.md", "canary-diary")
	put(t, dir, "pub/open.md", "open")
	put(t, dir, "notes.md", "open")
	for link, target := range map[string]string{"l": "private", "pub/l": "../private",
		"pub/d.md": "../private/diary.md", "chain": "pub/l", "pub/self": "."} {
		if err := os.Symlink(target, filepath.Join(dir, filepath.FromSlash(link))); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, filepath.Join(filepath.Dir(dir), "other")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// detours returns alternative spellings of the path of the diary in private.
func detours(dir string) map[string]string {
	return map[string]string{
		"plain": "private/diary.md", "dot": "./private/diary.md", "detour": "a/../private/diary.md",
		"long detour": "./private/../private/./diary.md", "slashes": "private//diary.md",
		"absolute": filepath.Join(dir, "private/diary.md"), "absolute, slashes": dir + "//private/diary.md",
		"absolute, detour": dir + "/pub/../private/diary.md",
		"link":             "l/diary.md", "link below": "pub/l/diary.md", "chain": "chain/diary.md",
		"link to itself": "pub/self/self/l/diary.md", "absolute link": filepath.Join(dir, "pub/l/diary.md"),
	}
}

// TestRules_Files checks that a rule that denies or asks applies to the file, however its path is
// written and whatever links lead to it, with every tool (SEC13).
func TestRules_Files(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for verdict, list := range map[string]func(tools ...string) tool.Permissions{
		"denied": func(p ...string) tool.Permissions { return tool.Permissions{Deny: p} },
		"asked":  func(p ...string) tool.Permissions { return tool.Permissions{Ask: p} },
	} {
		for _, at := range []string{"private/*", "ABSOLUTE/private/*", "PRIVATE/*", "*/diary.md", "./private/*",
			"~/wood/private/*"} {
			t.Run(verdict+" "+strings.ReplaceAll(at, "/", "|"), func(t *testing.T) {
				dir := groveIn(t, home)
				glob := strings.ReplaceAll(at, "ABSOLUTE", dir)
				s := ruled(t, dir, "", list("*:path="+glob))
				before := state(t, dir)
				for name, p := range detours(dir) {
					for tool, args := range map[string]obj{
						"read_file": {"path": p}, "read_multiple_files": {"paths": []string{"notes.md", p}},
						"write_file": {"path": p, "content": "x"},
						"edit_file": {"path": p,
							"edits": []obj{{"oldText": "canary-diary", "newText": "x"}}},
						"search_files_content": {"path": p, "query": "canary"},
						"move_file":            {"source": p, "destination": "stolen.md"},
						"create_directory":     {"paths": []string{p}},
					} {
						if got, text := decided(t, s, tool, args); got != verdict {
							t.Errorf("%s, %s: %s, want %s: %s", tool, name, got, verdict, text)
						}
					}
				}
				if got, _ := decided(t, s, "move_file",
					obj{"source": "notes.md", "destination": "pub/l/diary.md"}); got != verdict {
					t.Errorf("moving to it by a link: %s, want %s", got, verdict)
				}
				for tool, args := range map[string]obj{"read_file": {"path": "pub/open.md"},
					"search_files_content": {"query": "open"}} {
					if got, text := decided(t, s, tool, args); got != "made" {
						t.Errorf("%s of another file: %s: %s", tool, got, text)
					}
				}
				same(t, before, state(t, dir))
			})
		}
	}
}

// TestRules_FilesInFolder checks what a call reaches without naming it: searches and lists leave
// out forbidden files, and a folder that contains one is not removed or moved.
func TestRules_FilesInFolder(t *testing.T) {
	t.Parallel()
	dir := grove(t)
	s := ruled(t, dir, "", tool.Permissions{Deny: []string{"search_*:path=private/*", "directory_tree:path=private/*",
		"list_directory:path=private/*", "move_file:source=private/*", "remove_directory:paths=private/*"}})
	for tool, args := range map[string]obj{
		"search_files_content": {"query": "canary"}, "search_files": {"pattern": "*.md"},
		"directory_tree": {"path": "."}, "list_directory": {"path": "private"},
	} {
		if got, text := decided(t, s, tool, args); got != "made" || strings.Contains(text, "canary") ||
			strings.Contains(text, "diary") {
			t.Errorf("%s %v: %s and shows what is forbidden: %s", tool, args, got, text)
		}
	}
	for name, p := range map[string]string{"folder": "private", "absolute": dir + "/private",
		"detour": "pub/../private"} {
		if got, text := decided(t, s, "move_file", obj{"source": p, "destination": "elsewhere"}); got != "denied" {
			t.Errorf("moving the %s: %s: %s", name, got, text)
		}
		if got, text := decided(t, s, "remove_directory",
			obj{"paths": []string{p}, "recursive": true}); got != "denied" {
			t.Errorf("removing the %s: %s: %s", name, got, text)
		}
	}
	if got, text := decided(t, s, "move_file", obj{"source": "pub", "destination": "public"}); got != "made" ||
		strings.Contains(text, "forbid") {
		t.Errorf("moving another folder: %s: %s", got, text)
	}
}

// TestRules_PathNamesEveryPath checks that a rule about path applies to each argument that is a
// path: to lists, to both paths of a move, to a folder that contains what the rule names, and to
// folders that are created or removed. A rule about source applies to source only.
func TestRules_PathNamesEveryPath(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		rule, tool string
		args       obj
		want       string
	}{
		"a list": {"path", "read_multiple_files", obj{"paths": []string{"notes.md",
			"private/diary.md"}}, "denied"},
		"by paths":             {"paths", "read_file", obj{"path": "private/diary.md"}, "denied"},
		"move a file out":      {"path", "move_file", obj{"source": "private/diary.md", "destination": "x"}, "denied"},
		"move a file into":     {"path", "move_file", obj{"source": "notes.md", "destination": "private/x"}, "denied"},
		"into, by a link":      {"path", "move_file", obj{"source": "notes.md", "destination": "pub/l/x"}, "denied"},
		"move the folder":      {"path", "move_file", obj{"source": "private", "destination": "x"}, "denied"},
		"a folder to its name": {"path", "move_file", obj{"source": "pub", "destination": "private"}, "denied"},
		"a folder into":        {"path", "move_file", obj{"source": "pub", "destination": "private/pub"}, "denied"},
		"create a folder":      {"path", "create_directory", obj{"paths": []string{"new", "private/x"}}, "denied"},
		"remove the folder": {"path", "remove_directory", obj{"paths": []string{"private"}, "recursive": true},
			"denied"},
		"a move elsewhere":      {"path", "move_file", obj{"source": "notes.md", "destination": "pub/x"}, "made"},
		"another folder":        {"path", "create_directory", obj{"paths": []string{"privat"}}, "made"},
		"source is out":         {"source", "move_file", obj{"source": "private", "destination": "x"}, "denied"},
		"source is not into":    {"source", "move_file", obj{"source": "notes.md", "destination": "private/x"}, "made"},
		"destination, not read": {"destination", "read_file", obj{"path": "private/diary.md"}, "made"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := ruled(t, grove(t), "", tool.Permissions{Deny: []string{"*:" + tc.rule + "=private/*"}})
			if got, text := decided(t, s, tc.tool, tc.args); got != tc.want {
				t.Errorf("%s, want %s: %s", got, tc.want, text)
			}
		})
	}
}

// TestRules_AllowFollowsLinks checks that a rule that allows applies to the target of a path, not
// to its spelling: `pub/*` does not follow a link out of pub.
func TestRules_AllowFollowsLinks(t *testing.T) {
	t.Parallel()
	dir := grove(t)
	s := ruled(t, dir, "", tool.Permissions{Default: "ask", Allow: []string{"read_file:path=pub/*",
		"read_multiple_files:paths=pub/*", "write_file:path=" + dir + "/pub/*", "search_files_content:path=pub"}})
	for p, want := range map[string]string{
		"pub/open.md": "made", "./pub/open.md": "made", dir + "/pub/open.md": "made", "private/../pub/open.md": "made",
		"pub/self/open.md": "made",
		"pub/l/diary.md":   "asked", "pub/d.md": "asked", "pub/self/l/diary.md": "asked",
		"pub/../private/diary.md": "asked", "l/diary.md": "asked", "private/diary.md": "asked", "notes.md": "asked",
		"PUB/open.md": "asked",
	} {
		if got, text := decided(t, s, "read_file", obj{"path": p}); got != want || strings.Contains(text, "canary") {
			t.Errorf("read_file %s: %s, want %s: %s", p, got, want, text)
		}
		if got, text := decided(t, s, "read_multiple_files", obj{"paths": []string{"pub/open.md", p}}); got != want ||
			strings.Contains(text, "canary") {
			t.Errorf("read_multiple_files %s: %s, want %s: %s", p, got, want, text)
		}
	}
	for p, want := range map[string]string{"pub/new.md": "made", dir + "/pub/new/deep.md": "made",
		"pub/l/new.md": "asked", dir + "/pub/l/new.md": "asked"} {
		if got, text := decided(t, s, "write_file", obj{"path": p, "content": "x"}); got != want {
			t.Errorf("write_file %s: %s, want %s: %s", p, got, want, text)
		}
	}
	if got, text := decided(t, s, "search_files_content", obj{"path": "pub", "query": "."}); got != "made" ||
		strings.Contains(text, "canary") {
		t.Errorf("a search of pub: %s: %s", got, text)
	}
}

// TestApproval_BoundToLinkTarget checks that an approval applies to the file that the path led to
// (SEC12). If the link leads elsewhere when the call is made, the person is asked again.
func TestApproval_BoundToLinkTarget(t *testing.T) {
	t.Parallel()
	dir := grove(t)
	s := ruled(t, dir, "", tool.Permissions{Ask: []string{"read_file"}})
	call := tool.Call{Run: "r", Agent: "a", Key: "k", Name: "read_file",
		Arguments: json.RawMessage(`{"path":"now.md"}`)}
	link := filepath.Join(dir, "now.md")
	if err := os.Symlink("pub/open.md", link); err != nil {
		t.Fatal(err)
	}
	_, err := s.Call(t.Context(), call)
	hold, ok := errors.AsType[*tool.HoldError](err)
	if !ok || !strings.Contains(hold.Hold.Prompt, `It reaches "pub/open.md" by path.`) {
		t.Fatalf("held %v, want a question that shows where the path leads", err)
	}
	call.Approved = hold.Hold.Binding
	if r, err := s.Call(t.Context(), call); err != nil || r.Text != "open" {
		t.Fatalf("approved: %+v, %v", r, err)
	}
	if err := errors.Join(os.Remove(link), os.Symlink("private/diary.md", link)); err != nil {
		t.Fatal(err)
	}
	if r, err := s.Call(t.Context(), call); !errors.As(err, new(*tool.HoldError)) {
		t.Errorf("the link leads elsewhere: %+v, %v; want it asked about", r, err)
	}
}

// TestRules_ChangedLink checks that the file that is opened is the one that the permission decision
// was about, whatever links are put in the way meanwhile.
func TestRules_ChangedLink(t *testing.T) {
	t.Parallel()
	dir := grove(t)
	s := ruled(t, dir, "", tool.Permissions{Deny: []string{"*:path=private/*"}})
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			target := []string{"pub", "private"}[i%2]
			temp := filepath.Join(dir, "temp")
			_ = os.Symlink(target, temp)
			_ = os.Rename(temp, filepath.Join(dir, "turn"))
		}
	}()
	put(t, dir, "pub/diary.md", "open")
	for range 300 {
		for tool, args := range map[string]obj{"read_file": {"path": "turn/diary.md"}, "search_files_content": {
			"path": "turn", "query": "canary",
		}, "write_file": {"path": "turn/new.md", "content": "x"}} {
			if _, text := decided(t, s, tool, args); strings.Contains(text, "canary") {
				t.Errorf("%s reached what is forbidden: %s", tool, text)
			}
		}
	}
	close(stop)
	<-done
	if _, err := os.Lstat(filepath.Join(dir, "private/new.md")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("something was written to what is forbidden: %v", err)
	}
}

// TestRules_OperatorFiles checks that the operator's own files are out of reach, even through
// links, through hard links and in any letter case, unless the toolset names them.
func TestRules_OperatorFiles(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // on macOS a parent is a link
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"hocket.yaml", ".git/hooks/pre-commit", ".git/config", "sub/.git/hooks/x",
		".git/modules/m/hooks/x", ".git/HEAD"} {
		put(t, dir, name, "canary")
	}
	if err := errors.Join(os.Symlink("hocket.yaml", filepath.Join(dir, "l")), os.Symlink(".git",
		filepath.Join(dir, "g")), os.Link(filepath.Join(dir, "hocket.yaml"), filepath.Join(dir, "hard"))); err != nil {
		t.Fatal(err)
	}
	own := filepath.Join(dir, "hocket.yaml")
	cfg := files.Config{Own: func(path string, info fs.FileInfo, _ bool) bool {
		is, err := os.Stat(own)
		return path == own || info != nil && err == nil && os.SameFile(is, info)
	}}
	served := func(options string) *files.Toolset {
		ts, err := files.New(cfg, spec(t, dir, options))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = ts.Close() })
		if _, err := ts.Tools(t.Context()); err != nil {
			t.Fatal(err)
		}
		return ts
	}
	ts := served("")
	before := state(t, dir)
	for _, p := range []string{"hocket.yaml", "l", "hard", own, ".git/hooks/pre-commit", ".git/config",
		".GIT/hooks/new", "g/config", "g/hooks/new", "sub/.git/hooks/x", ".git/modules/m/hooks/x",
		".git/commondir", ".git/worktrees/w/gitdir", ".git/rebase-merge/git-rebase-todo", ".git/hooks./new",
		".g\u200cit/config", "git~1/config"} {
		for name, args := range map[string]obj{"read_file": {"path": p}, "write_file": {"path": p, "content": "x"},
			"move_file": {"source": "other", "destination": p}} {
			if p == "hard" && name != "read_file" {
				continue // writing creates a new file with that name
			}
			if r := do(t, ts, name, args); !r.IsError || strings.Contains(r.Text, "canary") {
				t.Errorf("%s %s: %+v, want it refused", name, p, r)
			}
		}
	}
	for name, args := range map[string]obj{"move_file": {"source": ".git/modules", "destination": "x"},
		"create_directory": {"paths": []string{"new/.git"}},
		"remove_directory": {"paths": []string{".git"}, "recursive": true}} {
		if r := do(t, ts, name, args); !r.IsError || !strings.Contains(r.Text, "operator's own") {
			t.Errorf("%s: %+v, want it refused", name, r)
		}
	}
	for _, args := range []obj{{"source": ".git", "destination": "x"},
		{"source": "sub", "destination": ".git/modules/n"}} {
		if r := do(t, ts, "move_file", args); !r.IsError || !strings.Contains(r.Text, "operator's own") {
			t.Errorf("move_file %v: %+v, want it refused", args, r)
		}
	}
	if r := do(t, ts, "search_files_content", obj{"query": "canary"}); strings.Contains(r.Text, "hocket.yaml") ||
		strings.Contains(r.Text, "hooks") {
		t.Errorf("a search shows them: %s", r.Text)
	}
	same(t, before, state(t, dir))
	if r := do(t, ts, "read_file", obj{"path": ".git/HEAD"}); r.IsError {
		t.Errorf("another file of .git: %+v", r)
	}
	if r := do(t, served(`"own_files":["hocket.yaml",".git/hooks"]`), "read_multiple_files",
		obj{"paths": []string{"hocket.yaml", ".git/hooks/pre-commit"}}); strings.Count(r.Text, "canary") != 2 {
		t.Errorf("files that the toolset names: %+v", r)
	}
}
