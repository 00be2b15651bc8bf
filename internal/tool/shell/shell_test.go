//go:build unix

package shell_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/internal/tool/command"
	"github.com/hocket-run/hocket/internal/tool/shell"
	"github.com/hocket-run/hocket/internal/tool/tooltest"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

func TestConform(t *testing.T) {
	t.Parallel()
	tooltest.Conform(t, tooltest.Case{
		Open: func(t *testing.T) tool.Toolset { t.Helper(); return open(t, command.Config{}, "") },
		Good: tool.Call{Name: "shell", Arguments: json.RawMessage(`{"cmd":"echo hello"}`)},
	})
}

func spec(options string) tool.Spec {
	return tool.Spec{Type: tool.TypeShell, Trusted: true, Options: json.RawMessage(options)}
}

func open(t *testing.T, cfg command.Config, options string) *shell.Toolset {
	t.Helper()
	ts, err := shell.New(cfg, spec(options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ts.Close() })
	return ts
}

type obj = map[string]any

func try(ctx context.Context, t *testing.T, ts *shell.Toolset, name, key string, args obj) (tool.Result, error) {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := ts.Tools(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, tl := range tools {
		if tl.Def().Name == name {
			return tl.Call(ctx, tool.Call{Name: name, Arguments: b, Key: key})
		}
	}
	t.Fatalf("no tool %q", name)
	return tool.Result{}, nil
}

func call(t *testing.T, ts *shell.Toolset, name string, args obj) tool.Result {
	t.Helper()
	r, err := try(t.Context(), t, ts, name, "", args)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestUntrusted checks that no untrusted spec is served (SEC4, SEC5).
func TestUntrusted(t *testing.T) {
	t.Parallel()
	sp := spec(`{"commands":["git"]}`)
	sp.Trusted = false
	_, err := shell.New(command.Config{}, sp)
	if e, ok := errors.AsType[*tool.UntrustedError](err); !ok ||
		!strings.Contains(e.Error(), "run git with any arguments") {
		t.Errorf("New: %v", err)
	}
}

func TestCalls(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir()) // on macOS a parent is a link
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	// Variables of the process that are not named reach no program (SEC4).
	environ := []string{"PATH=" + os.Getenv("PATH"), "HOME=/home/x", "OPENAI_API_KEY=canary-key",
		"HOCKET_DB=/canary.db", "HOCKET_HOME=/canary", "LD_PRELOAD=canary"}
	ts := open(t, command.Config{
		Dir: dir, Environ: func() []string { return environ },
		Expand: func(s string) (string, error) { return strings.ReplaceAll(s, "${KEY}", "canary-secret"), nil },
	}, `{"env":{"TOKEN":"${KEY}","MODE":"fast"}}`)
	for name, c := range map[string]struct {
		tool    string
		args    obj
		want    string
		isError bool
	}{
		"shell":  {"shell", obj{"cmd": "echo a | tr a b; echo $MODE"}, "b\nfast", false},
		"silent": {"shell", obj{"cmd": "true"}, "[no output]", false},
		"fails": {"shell", obj{"cmd": "echo half; echo why >&2; exit 3"},
			"half\n[standard error]\nwhy\n[exit status 3]", true},
		"no such": {"shell", obj{"cmd": "no-such-program-x 2>/dev/null"}, "[exit status 127]", true},
		"killed":  {"shell", obj{"cmd": "kill -9 $$"}, "[signal: killed]", true},
		"secret": {"shell", obj{"cmd": "echo $TOKEN; echo $TOKEN >&2"},
			"[redacted]\n[standard error]\n[redacted]", false},
		"folder": {"shell", obj{"cmd": "pwd", "cwd": "sub"}, filepath.Join(dir, "sub"), false},
		"no folder": {"shell", obj{"cmd": "pwd", "cwd": "none"}, "the program was not run: folder " +
			filepath.Join(dir, "none") + " not found", true},
		"environment": {"shell", obj{"cmd": `echo "$OPENAI_API_KEY$HOCKET_DB$HOCKET_HOME$LD_PRELOAD|$HOME"`},
			"|/home/x", false},
		"blank": {"shell", obj{"cmd": " "}, "no program given", true},
		"exec": {"exec", obj{"argv": []string{"printf", "%s|", "$HOME", "a b", "", "*", "; id"}},
			"$HOME|a b||*|; id|", false},
		"exec, input": {"exec", obj{"argv": []string{"tr", "a-z", "A-Z"}, "stdin": "loud"}, "LOUD", false},
		"exec, none":  {"exec", obj{"argv": []string{""}}, "no program given", true},
		"exec, absent": {"exec", obj{"argv": []string{"no-such-program-x"}},
			`the program was not run: start program: exec: "no-such-program-x": executable file not found in $PATH`,
			true},
		"input is empty": {"shell", obj{"cmd": "cat; echo end"}, "end", false},
		"no UTF-8":       {"shell", obj{"cmd": `printf 'a\377b'`}, "a\uFFFDb", false},
		"time": {"shell", obj{"cmd": "echo begun; sleep 1000", "timeout": 3},
			"begun\n[it timed out after 3s and was stopped]", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if r := call(t, ts, c.tool, c.args); r.Text != c.want || r.IsError != c.isError {
				t.Errorf("got %+v, want %q", r, c.want)
			}
		})
	}
	var a command.Answer
	if err := json.Unmarshal(call(t, ts, "shell", obj{"cmd": "echo out; echo err >&2; exit 2"}).Structured,
		&a); err != nil || a != (command.Answer{ExitCode: 2, Stdout: "out\n", Stderr: "err\n"}) {
		t.Errorf("structured: %+v, %v", a, err)
	}
	r := call(t, ts, "shell", obj{"cmd": "head -c 20000000 /dev/zero | tr '\\0' x; echo end"})
	if len(r.Text) > 40_000 || !strings.HasSuffix(r.Text, "xxend") ||
		!strings.Contains(r.Text, " bytes left out ...]") {
		t.Errorf("a flood: %d bytes, %q", len(r.Text), r.Text[max(0, len(r.Text)-50):])
	}
	if r := call(t, ts, "shell", obj{"cmd": "env"}); strings.Contains(r.Text, "canary") {
		t.Errorf("the environment holds what is ours: %s", r.Text)
	}
}

// TestCommands checks that if commands are listed, only those exact names are run, and no shell
// (SEC13).
func TestCommands(t *testing.T) {
	t.Parallel()
	ts := open(t, command.Config{}, `{"commands":["printf","/bin/echo"]}`)
	tools, err := ts.Tools(t.Context())
	if err != nil || len(tools) != 1 || tools[0].Def().Name != "exec" || tools[0].Policy() != tool.PolicyAsk {
		t.Fatalf("%v, %v; want exec alone, which asks (P12)", tools, err)
	}
	for program, want := range map[string]bool{
		"printf": true, "/bin/echo": true, "echo": false, "print": false, "\x20printf": false, "/usr/bin/printf": false,
		"./printf": false, "printf;id": false, "PRINTF": false, "sh": false, "": false,
		"bin/../printf": false,
	} {
		r := call(t, ts, "exec", obj{"argv": []string{program, "x"}})
		if r.IsError == want || !want && r.Text != "no program given" &&
			!strings.HasPrefix(r.Text, "this program is not allowed; allowed programs: printf, /bin/echo") {
			t.Errorf("%q: %+v", program, r)
		}
	}
	if !strings.Contains(ts.Instructions(), "printf, /bin/echo") {
		t.Error(ts.Instructions())
	}
}

func TestOptions(t *testing.T) {
	t.Parallel()
	for options, want := range map[string]string{
		`{"comands":["x"]}`: `unknown field "comands"`, `{"commands":"x"}`: "cannot unmarshal string",
		`{"env":{"a=b":"x"}}`: `"a=b" is not a valid variable name`,
	} {
		if _, err := shell.New(command.Config{}, spec(options)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", options, err)
		}
	}
	missing := command.Config{Expand: func(string) (string, error) { return "", errors.New("variable KEY is not set") }}
	if _, err := shell.New(missing, spec(`{"env":{"A":"${KEY}"}}`)); err == nil ||
		!strings.Contains(err.Error(), "env A: variable KEY is not set") {
		t.Errorf("a reference without a value: %v", err)
	}
}

// TestCall_KillsProcesses checks that a call that is cancelled, and a toolset that is closed, leave
// no process behind, whatever the program started (P11).
func TestCall_KillsProcesses(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no setsid")
	}
	t.Parallel()
	for name, stop := range map[string]func(cancel context.CancelFunc, ts *shell.Toolset){
		"cancel": func(cancel context.CancelFunc, _ *shell.Toolset) { cancel() },
		"close":  func(_ context.CancelFunc, ts *shell.Toolset) { _ = ts.Close() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			ready := filepath.Join(dir, "ready")
			if err := syscall.Mkfifo(ready, 0o600); err != nil {
				t.Fatal(err)
			}
			ts := open(t, command.Config{Dir: dir}, "")
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() {
				if _, err := os.ReadFile(ready); err != nil {
					t.Error(err)
				}
				stop(cancel, ts)
			}()
			_, err := try(ctx, t, ts, "shell", "",
				obj{"timeout": 600, "cmd": `trap "" TERM; (setsid sh -c 'echo $$ >>pids; trap "" TERM HUP; echo ` +
					`>ready; while :; do sleep 0.1; done' &); echo $$ >>pids; sleep 1000 & echo $! >>pids; wait`})
			if want := map[string]error{"cancel": context.Canceled, "close": tool.ErrClosed}[name]; !errors.Is(err,
				want) {
				t.Errorf("got %v, want %v", err, want)
			}
			gone(t, filepath.Join(dir, "pids"))
		})
	}
}

// gone checks that every process whose ID is in file is gone. It waits for them, since a killed
// process takes a moment to exit.
func gone(t *testing.T, file string) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	deadline := time.Now().Add(5 * time.Minute)
	for word := range strings.FieldsSeq(string(b)) {
		pid, err := strconv.Atoi(word)
		if err != nil {
			t.Fatal(err)
		}
		for alive(pid) {
			if time.Now().After(deadline) {
				t.Fatalf("process %d is still there", pid)
			}
			runtime.Gosched()
		}
	}
}

func alive(pid int) bool {
	if state, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid)); err == nil &&
		strings.Contains(string(state), ") Z ") {
		return false
	}
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

var jobID = regexp.MustCompile(`^started job (job_\d+)$`)

// TestJobs checks that background jobs keep running between calls, report their output, are started
// once per key (P12), are limited (SEC17), and end with the toolset (P11).
func TestJobs(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range []string{"go", "done"} {
		if err := syscall.Mkfifo(filepath.Join(dir, name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	ts := open(t, command.Config{Dir: dir}, "")
	if r := call(t, ts, "list_background_jobs", obj{}); r.Text != "[no jobs]" {
		t.Errorf("%+v", r)
	}
	start := func(key, cmd string) string {
		t.Helper()
		r, err := try(t.Context(), t, ts, "run_background_job", key, obj{"cmd": cmd})
		m := jobID.FindStringSubmatch(r.Text)
		if err != nil || m == nil {
			t.Fatalf("%+v, %v", r, err)
		}
		return m[1]
	}
	const work = `echo $$ >>pids; echo begun; echo >done; cat go >/dev/null; echo more; echo >done; sleep 1000`
	first := start("k1", work)
	if again := start("k1", work); again != first {
		t.Errorf("the same key started %s and %s", first, again)
	}
	await(t, dir, "done")
	view(t, ts, first, "begun\n[running]")
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	await(t, dir, "done")
	view(t, ts, first, "begun\nmore\n[running]")
	if r := call(t, ts, "stop_background_job", obj{"job_id": first}); !strings.HasPrefix(r.Text,
		"begun\nmore\n[stopped]") {
		t.Errorf("%+v", r)
	}
	gone(t, filepath.Join(dir, "pids"))
	for range 10 {
		start("", `echo $$ >>pids; echo >done; sleep 1000`)
		await(t, dir, "done")
	}
	if r := call(t, ts, "run_background_job", obj{"cmd": "true"}); !r.IsError ||
		r.Text != "10 jobs are running, which is the limit; stop one" {
		t.Errorf("%+v", r)
	}
	if r := call(t, ts, "list_background_jobs", obj{}); strings.Count(r.Text, ": running: ") != 10 ||
		!strings.Contains(r.Text, "job_1: stopped: ") {
		t.Errorf("%s", r.Text)
	}
	for _, name := range []string{"view_background_job", "stop_background_job"} {
		if r := call(t, ts, name, obj{"job_id": "job_99"}); !r.IsError || r.Text != `job "job_99" not found` {
			t.Errorf("%+v", r)
		}
	}
	if err := ts.Close(); err != nil {
		t.Errorf("Close: %v", err)
	}
	gone(t, filepath.Join(dir, "pids"))
}

// view polls a job until its output is want, because output is read with a slight delay.
func view(t *testing.T, ts *shell.Toolset, id, want string) {
	t.Helper()
	for deadline := time.Now().Add(5 * time.Minute); ; runtime.Gosched() {
		r := call(t, ts, "view_background_job", obj{"job_id": id})
		if r.Text == want && !r.IsError {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, want %q", r, want)
		}
	}
}

// await waits until a process writes to a pipe.
func await(t *testing.T, dir, name string) {
	t.Helper()
	if _, err := os.ReadFile(filepath.Join(dir, name)); err != nil {
		t.Fatal(err)
	}
}

// TestIdempotencyKey checks that programs get the idempotency key of their call, the same for each
// attempt, and jobs as well, and that neither the environment nor the spec can set another one
// (P12, D6).
func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	environ := func() []string { return []string{"PATH=" + os.Getenv("PATH"), tool.EnvKey + "=of another call"} }
	ts := open(t, command.Config{Dir: t.TempDir(), Environ: environ}, `{"env":{"`+tool.EnvKey+`":"of the spec"}}`)
	for _, key := range []string{"run/step/call", "run/step/call", "run/step/other", ""} {
		r, err := try(t.Context(), t, ts, "shell", key, obj{"cmd": `printf '<%s>' "$` + tool.EnvKey + `"`})
		if err != nil || r.Text != "<"+key+">" {
			t.Errorf("the call %q got %q, %v", key, r.Text, err)
		}
	}
	if r, err := try(t.Context(), t, ts, "exec", "k", obj{"argv": []string{"env"}}); err == nil && !r.IsError &&
		!strings.Contains(r.Text, tool.EnvKey+"=k") {
		t.Errorf("exec: %q", r.Text)
	}
}

// TestRules_RenamedShell checks that rules that forbid shell commands apply to a shell with another
// name (SEC13).
func TestRules_RenamedShell(t *testing.T) {
	t.Parallel()
	renamed := spec("{}")
	renamed.Name = "helpers"
	s, err := tool.NewSet(tool.Config{
		Agents:      map[string]tool.Grant{"a": {Toolsets: []tool.Spec{renamed}}},
		Types:       map[string]tool.Type{tool.TypeShell: shell.Type(command.Config{Dir: t.TempDir()})},
		Permissions: tool.Permissions{Deny: []string{"shell:cmd=touch *"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	for name, args := range map[string]string{"exec": `{"argv":["touch","x"]}`,
		"run_background_job": `{"cmd":"touch x"}`, "shell": `{"cmd":"touch x"}`} {
		r, err := s.Call(t.Context(), tool.Call{Run: "r", Agent: "a", Key: "k", Name: name, Arguments: []byte(args)})
		if err != nil || !strings.Contains(r.Text, "forbid") {
			t.Errorf("%s: %+v, %v, want it refused", name, r, err)
		}
	}
}
