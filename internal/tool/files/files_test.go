package files_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/files"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestConform(t *testing.T) {
	t.Parallel()
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset {
			t.Helper()
			dir := t.TempDir()
			put(t, dir, "a.txt", "text")
			return open(t, dir, "")
		},
		Good: tool.Call{Name: "read_file", Arguments: json.RawMessage(`{"path":"a.txt"}`)},
	})
}

// open returns a trusted toolset on dir; options holds additional members of its JSON form.
func open(t *testing.T, dir, options string) *files.Toolset {
	t.Helper()
	ts, err := files.New(files.Config{}, spec(t, dir, options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ts.Close() })
	if _, err := ts.Tools(t.Context()); err != nil {
		t.Fatal(err)
	}
	return ts
}

func spec(t *testing.T, dir, options string) tool.Spec {
	t.Helper()
	path, err := json.Marshal(dir)
	if err != nil {
		t.Fatal(err)
	}
	text := `{"path":` + string(path)
	if options != "" {
		text += "," + options
	}
	return tool.Spec{Type: tool.TypeFilesystem, Trusted: true, Options: json.RawMessage(text + "}")}
}

// do executes one call and returns what the model reads.
func do(t *testing.T, ts *files.Toolset, name string, args any) tool.Result {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := ts.Tools(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Def().Name == name {
			r, err := tl.Call(t.Context(), tool.Call{Name: name, Arguments: b})
			if err != nil {
				t.Fatalf("%s %s: %v", name, b, err)
			}
			return r
		}
	}
	t.Fatalf("no tool %q", name)
	return tool.Result{}
}

type obj = map[string]any

func put(t *testing.T, dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
}

func get(t *testing.T, dir, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestUntrusted checks that neither the package itself nor a Set opens anything for an untrusted
// spec, and that the error says what was requested (SEC4, SEC5).
func TestUntrusted(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sp := spec(t, dir, "")
	sp.Trusted = false
	_, err := files.New(files.Config{}, sp)
	untrusted, ok := errors.AsType[*tool.UntrustedError](err)
	if want := "read and write files under " + dir + " (toolset filesystem)"; !ok || len(untrusted.Access) != 1 ||
		untrusted.Access[0] != want {
		t.Errorf("New: %v, want %q", err, want)
	}
	set, err := tool.NewSet(tool.Config{
		Agents: map[string]tool.Grant{"a": {Toolsets: []tool.Spec{sp}}},
		Types:  map[string]tool.Type{tool.TypeFilesystem: files.Type(files.Config{})},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	_, err = set.Defs(t.Context(), "a")
	if e, ok := errors.AsType[*tool.Error](err); !ok || e.Kind != tool.KindUntrusted {
		t.Errorf("Defs: %v, want an error of kind untrusted", err)
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for name, options := range map[string]string{
		"unknown option":      `"paht":"x"`,
		"wrong type":          `"read_only":"yes"`,
		"post_edit, no cmd":   `"post_edit":[{"path":"*.go"}]`,
		"post_edit, no match": `"post_edit":[{"cmd":"true"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := files.New(files.Config{}, spec(t, t.TempDir(), options)); err == nil {
				t.Error("New accepts it")
			}
		})
	}
	missing, err := files.New(files.Config{}, spec(t, filepath.Join(t.TempDir(), "none"), ""))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := missing.Tools(t.Context()); err == nil || !strings.Contains(err.Error(), "open folder") {
		t.Errorf("Tools of a folder that is not there: %v", err)
	}
}

// TestRelative checks that a relative path is resolved against the folder of Config, which is the
// one that was shown.
func TestRelative(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, dir, "sub/a.txt", "here")
	ts, err := files.New(files.Config{Dir: dir}, tool.Spec{Type: tool.TypeFilesystem, Trusted: true,
		Options: json.RawMessage(`{"path":"sub"}`)})
	if err != nil {
		t.Fatal(err)
	}
	defer ts.Close()
	for _, path := range []string{"a.txt", "./a.txt", filepath.Join(dir, "sub", "a.txt")} {
		if r := do(t, ts, "read_file", obj{"path": path}); r.Text != "here" || r.IsError {
			t.Errorf("%s: %+v", path, r)
		}
	}
	if want := filepath.Join(dir, "sub"); !strings.Contains(ts.Instructions(), want) {
		t.Errorf("instructions do not name %s: %s", want, ts.Instructions())
	}
}

// TestTools_ReadOnly checks that read_only offers only tools that read (SEC13), and that every tool
// has a policy for unknown outcomes (P12).
func TestTools_ReadOnly(t *testing.T) {
	t.Parallel()
	want := map[string]tool.Policy{
		"read_file": tool.PolicyRetry, "read_multiple_files": tool.PolicyRetry, "write_file": tool.PolicyRetry,
		"edit_file":      tool.PolicyAsk,
		"list_directory": tool.PolicyRetry, "directory_tree": tool.PolicyRetry, "search_files": tool.PolicyRetry,
		"search_files_content": tool.PolicyRetry,
		"create_directory":     tool.PolicyRetry, "remove_directory": tool.PolicyAsk, "move_file": tool.PolicyAsk,
	}
	for name, c := range map[string]struct {
		options string
		changes func(name string) (tool.Policy, bool)
	}{
		"all": {"", func(n string) (tool.Policy, bool) { return want[n], true }},
		"read_only": {`"read_only":true`, func(n string) (tool.Policy, bool) {
			return tool.PolicyRetry, !strings.ContainsAny(n[:1], "wcem") && n != "remove_directory"
		}},
		"post_edit": {`"post_edit":[{"path":"*","cmd":"true"}]`, func(n string) (tool.Policy, bool) {
			if n == "write_file" || n == "create_directory" {
				return tool.PolicyAsk, true
			}
			return want[n], true
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tools, err := open(t, t.TempDir(), c.options).Tools(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			got := map[string]tool.Policy{}
			for _, tl := range tools {
				got[tl.Def().Name] = tl.Policy()
			}
			for n := range want {
				policy, offered := c.changes(n)
				if g, ok := got[n]; ok != offered || ok && g != policy {
					t.Errorf("%s: offered %v with policy %q; want %v, %q", n, ok, g, offered, policy)
				}
			}
		})
	}
}
