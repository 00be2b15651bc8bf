//go:build unix

package shell_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
	"github.com/hocket-run/hocket/internal/tool/shell"
)

// script writes a program that prints says.
func script(t *testing.T, path, says string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755),
		os.WriteFile(path, []byte("#!/bin/sh\necho "+says+"\n"), 0o755)); err != nil {
		t.Fatal(err)
	}
}

// TestCommands_ResolvedPaths checks that `commands: [./build.sh]` refers to one file, whatever
// folder a call runs in, and that a bare name is looked up on PATH once, and never in the folder of
// a call (SEC13).
func TestCommands_ResolvedPaths(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	for path, says := range map[string]string{filepath.Join(dir, "build.sh"): "right",
		filepath.Join(dir, "sub/build.sh"): "wrong", filepath.Join(dir, "sub/greet"): "wrong",
		filepath.Join(dir, "greet"): "wrong", filepath.Join(bin, "greet"): "right"} {
		script(t, path, says)
	}
	ts := open(t, command.Config{Dir: dir}, `{"commands":["./build.sh","greet","absent"]}`)
	script(t, filepath.Join(dir, "absent"), "wrong")
	t.Setenv("PATH", filepath.Join(dir, "sub")+":/usr/bin:/bin") // too late
	for argv0, want := range map[string]string{"./build.sh": "right", "greet": "right",
		filepath.Join(dir, "build.sh"): "right"} {
		for _, cwd := range []string{"", "sub", filepath.Join(dir, "sub")} {
			if r := call(t, ts, "exec", obj{"argv": []string{argv0}, "cwd": cwd}); r.IsError ||
				strings.TrimSpace(r.Text) != want {
				t.Errorf("%s in %q: %+v, want %s", argv0, cwd, r, want)
			}
		}
	}
	for _, argv0 := range []string{"build.sh", "sub/build.sh", "./sub/build.sh", "./greet",
		filepath.Join(dir, "sub/build.sh"), "absent", "./absent", "sub/../build.sh"} {
		if r := call(t, ts, "exec", obj{"argv": []string{argv0}, "cwd": "sub"}); !r.IsError ||
			strings.Contains(r.Text, "wrong") {
			t.Errorf("%s: %+v, want it refused", argv0, r)
		}
	}
}

// TestCwd_Confined checks that a call runs in the folder of its toolset or below it, with links
// resolved (SEC16).
func TestCwd_Confined(t *testing.T) {
	t.Parallel()
	outside, err := filepath.EvalSymlinks(t.TempDir()) // on macOS a parent is a link
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(outside, "top")
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "sub"), 0o755), os.Symlink("..", filepath.Join(dir, "up")),
		os.Symlink("sub", filepath.Join(dir, "in")), os.Symlink(outside, filepath.Join(dir, "abs"))); err != nil {
		t.Fatal(err)
	}
	ts := open(t, command.Config{Dir: dir}, "{}")
	for _, cwd := range []string{"..", "/", outside, "up", "abs", "sub/../..", "in/../../", dir + "/..", dir + "/up",
		"up/top/.."} {
		for _, name := range []string{"shell", "exec", "run_background_job"} {
			args := obj{"cmd": "pwd", "cwd": cwd}
			if name == "exec" {
				args = obj{"argv": []string{"pwd"}, "cwd": cwd}
			}
			if r := call(t, ts, name, args); !r.IsError || !strings.Contains(r.Text, "outside") {
				t.Errorf("%s in %q: %+v, want it refused", name, cwd, r)
			}
		}
	}
	for cwd, want := range map[string]string{"": dir, ".": dir, "sub": dir + "/sub", "in": dir + "/sub", dir: dir,
		dir + "/sub": dir + "/sub", "up/top/sub": dir + "/sub"} {
		if r := call(t, ts, "shell", obj{"cmd": "pwd -P", "cwd": cwd}); r.IsError || strings.TrimSpace(r.Text) != want {
			t.Errorf("in %q: %+v, want %s", cwd, r, want)
		}
	}
}

// TestRules_Cwd checks that rules about cwd apply to the folder, however it is written.
func TestRules_Cwd(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := errors.Join(os.MkdirAll(filepath.Join(dir, "private/x"), 0o755),
		os.MkdirAll(filepath.Join(dir, "pub"), 0o755), os.Symlink("private", filepath.Join(dir, "l")),
		os.Symlink("../private", filepath.Join(dir, "pub/l"))); err != nil {
		t.Fatal(err)
	}
	for cwd, want := range map[string]string{"private": "denied", "./private": "denied", dir + "/private": "denied",
		"pub/../private": "denied", "l": "denied", "pub/l": "denied", "private/x": "denied", "pub": "made",
		dir + "/pub": "made", "": "asked"} {
		s, err := tool.NewSet(tool.Config{
			Agents:      map[string]tool.Grant{"a": {Toolsets: []tool.Spec{spec("{}")}}},
			Types:       map[string]tool.Type{tool.TypeShell: shell.Type(command.Config{Dir: dir})},
			Permissions: tool.Permissions{Deny: []string{"*:path=private/*"}, Allow: []string{"shell:cwd=pub"}},
		})
		if err != nil {
			t.Fatal(err)
		}
		args, _ := json.Marshal(obj{"cmd": "true", "cwd": cwd})
		r, err := s.Call(t.Context(), tool.Call{Run: "r", Agent: "a", Key: "k", Name: "shell", Arguments: args})
		got := "made"
		switch {
		case errors.As(err, new(*tool.HoldError)):
			got = "asked"
		case err != nil:
			t.Error(err)
		case strings.Contains(r.Text, "forbid"):
			got = "denied"
		}
		if got != want {
			t.Errorf("%q: %s, want %s", cwd, got, want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}
