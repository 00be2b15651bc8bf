//go:build unix

package process_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/process"
	_ "github.com/hocket-run/hocket/internal/randtest"
)

func run(t *testing.T, p process.Program) process.Outcome {
	t.Helper()
	out, err := process.Run(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func TestRun(t *testing.T) {
	t.Parallel()
	env := []string{"PATH=" + os.Getenv("PATH"), "NAME=value"}
	for name, c := range map[string]struct {
		p    process.Program
		want process.Outcome
	}{
		"shell": {process.Program{Shell: "echo out; echo err >&2"},
			process.Outcome{Stdout: "out\n", Stderr: "err\n", State: "exit status 0"}},
		"argv": {process.Program{Argv: []string{"printf", "%s|", "a b", "$HOME", "", "*"}},
			process.Outcome{Stdout: "a b|$HOME||*|", State: "exit status 0"}},
		"status":   {process.Program{Shell: "exit 7"}, process.Outcome{Code: 7, State: "exit status 7"}},
		"signal":   {process.Program{Shell: "kill -9 $$"}, process.Outcome{Code: -1, State: "signal: killed"}},
		"no input": {process.Program{Argv: []string{"cat"}}, process.Outcome{State: "exit status 0"}},
		"input": {process.Program{Argv: []string{"cat"}, Stdin: []byte("in")},
			process.Outcome{Stdout: "in", State: "exit status 0"}},
		"unread input": {process.Program{Argv: []string{"true"}, Stdin: make([]byte, 1<<20)},
			process.Outcome{State: "exit status 0"}},
		"environment": {process.Program{Shell: `echo "$NAME-$HOME-$HOCKET_DB"`},
			process.Outcome{Stdout: "value--\n", State: "exit status 0"}},
		"folder": {process.Program{Argv: []string{"pwd"}, Dir: "/"},
			process.Outcome{Stdout: "/\n", State: "exit status 0"}},
		"no UTF-8": {process.Program{Argv: []string{"printf", `a\377b`}},
			process.Outcome{Stdout: "a\uFFFDb", State: "exit status 0"}},
		"flood": {process.Program{Shell: "printf 12345; printf 67890", MaxBytes: 6},
			process.Outcome{Stdout: "123\n[... 4 bytes left out ...]\n890", State: "exit status 0", Dropped: 4}},
		"just no flood": {process.Program{Shell: "printf 123456", MaxBytes: 6},
			process.Outcome{Stdout: "123456", State: "exit status 0"}},
		"big arguments": {process.Program{Argv: []string{"sh", "-c", `echo ${#1}`, "sh",
			strings.Repeat("x", 100_000)}}, process.Outcome{Stdout: "100000\n", State: "exit status 0"}},
		"child survives": {process.Program{Shell: "sleep 1000 & echo done"},
			process.Outcome{Stdout: "done\n", State: "exit status 0"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.p.Env = env
			if got := run(t, c.p); got != c.want {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	for name, p := range map[string]process.Program{
		"nothing":       {},
		"no program":    {Argv: []string{"no-such-program-here"}},
		"no folder":     {Argv: []string{"true"}, Dir: "/no/such/folder"},
		"huge argument": {Argv: []string{"true", strings.Repeat("x", 8<<20)}},
		"NUL":           {Argv: []string{"true", "a\x00b"}},
	} {
		if _, err := process.Run(t.Context(), p); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	mark := filepath.Join(t.TempDir(), "mark")
	if _, err := process.Run(ctx, process.Program{Argv: []string{"touch", mark}}); !errors.Is(err, context.Canceled) {
		t.Errorf("with a done context: %v", err)
	}
	if _, err := os.Stat(mark); err == nil {
		t.Error("the program was started")
	}
}

// TestFlood checks that excessive output is read to its end and not kept (SEC17).
func TestFlood(t *testing.T) {
	t.Parallel()
	out := run(t, process.Program{Shell: "head -c 50000000 /dev/zero | tr '\\0' x",
		Env: []string{"PATH=" + os.Getenv("PATH")}})
	if len(out.Stdout) > 70_000 || out.Dropped != 50_000_000-65536 {
		t.Errorf("kept %d bytes, dropped %d", len(out.Stdout), out.Dropped)
	}
}

// TestStop checks P11: when the context is done, nothing of the program is left: neither a program
// that ignores SIGTERM, nor its children, nor their children.
func TestStop(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"obeys":   `echo $$ >>pids; echo >ready; sleep 1000`,
		"ignores": `trap "" TERM INT HUP; echo $$ >>pids; echo >ready; while :; do sleep 0.1; done`,
		"children": `sh -c 'trap "" TERM; echo $$ >>pids; sh -c "trap \"\" TERM; echo \$\$ >>pids; echo >ready; ` +
			`while :; do sleep 0.1; done"'`,
		"daemon": `setsid sh -c 'trap "" TERM HUP; echo $$ >>pids; echo >ready; while :; do sleep 0.1; ` +
			`done' & wait`,
		"in background": `(trap "" TERM; while :; do sleep 0.1; done) & echo $! >>pids; echo $$ >>pids; echo ` +
			`>ready; wait`,
		"floods":        `echo $$ >>pids; echo >ready; exec yes`,
		"fails at once": `trap "exit 3" TERM; echo $$ >>pids; echo >ready; while :; do sleep 0.05; done`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name == "daemon" && runtime.GOOS != "linux" {
				t.Skip("there is no setsid")
			}
			dir := t.TempDir()
			ready := filepath.Join(dir, "ready")
			if err := syscall.Mkfifo(ready, 0o600); err != nil {
				t.Fatal(err)
			}
			why := errors.New("that is enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				if _, err := os.ReadFile(ready); err != nil { // blocks until there is a writer
					t.Error(err)
				}
				cancel(why)
			}()
			_, err := process.Run(ctx, process.Program{Shell: script, Dir: dir,
				Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: 200 * time.Millisecond})
			if !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
			gone(t, filepath.Join(dir, "pids"))
		})
	}
}

// TestGrace checks P11: the time allowed for a program and for its pipes when it is stopped is less
// than 5 s in total.
func TestGrace(t *testing.T) {
	t.Parallel()
	if process.DefaultGrace+process.DrainAfter >= 5*time.Second {
		t.Errorf("%s and %s", process.DefaultGrace, process.DrainAfter)
	}
}

// gone checks that the processes in a file of process ids no longer exist. It waits for them, since
// a killed process takes time to die.
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

// alive reports whether a process exists; a process that died but was not reaped does not count.
func alive(pid int) bool {
	if state, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat"); err == nil &&
		strings.Contains(string(state), ") Z ") {
		return false
	}
	return !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
}

// TestCapture checks that, however output arrives, its first and last bytes are kept, and the count
// of omitted bytes is correct.
func TestCapture(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		limit := rapid.IntRange(1, 12).Draw(rt, "limit")
		parts := rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,9}`), 0, 6).Draw(rt, "parts")
		all := strings.Join(parts, "")
		want, dropped := all, 0
		if len(all) > limit {
			head, last := limit-limit/2, limit/2
			dropped = len(all) - limit
			want = all[:head] + "\n[... " + strconv.Itoa(dropped) + " bytes left out ...]\n" + all[len(all)-last:]
		}
		if got, n := process.Captured(limit, parts...); got != want || n != int64(dropped) {
			rt.Fatalf("of %q kept %q and dropped %d; want %q, %d", all, got, n, want, dropped)
		}
	})
}

// BenchmarkRun measures the cost of a supervisor compared with a process group.
func BenchmarkRun(b *testing.B) {
	for name, run := range map[string]func() (process.Outcome, error){
		"supervised": func() (process.Outcome, error) {
			return process.Run(b.Context(), process.Program{Argv: []string{"/bin/true"}})
		},
		"group": func() (process.Outcome, error) {
			return process.RunGroup(b.Context(), process.Program{Argv: []string{"/bin/true"}})
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := run(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestRun_NoDescriptors checks that a program for which no file descriptor is left starts when
// there is one again, and that any other failure, or the end of its context, ends the waiting.
func TestRun_NoDescriptors(t *testing.T) {
	t.Parallel()
	hello := process.Program{Shell: "echo hello"}
	for _, errno := range []syscall.Errno{syscall.EMFILE, syscall.ENFILE} {
		out, err := process.RunAfter(t.Context(), hello, 2, os.NewSyscallError("pipe2", errno))
		if err != nil || out.Stdout != "hello\n" {
			t.Errorf("%v: %+v, %v, want the program's output", errno, out, err)
		}
	}
	if _, err := process.RunAfter(t.Context(), hello, 1, syscall.ENOENT); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("got %v, want the failure", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := process.RunAfter(ctx, hello, 1<<30, syscall.EMFILE); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
}

// TestStart_NoDescriptors checks the same for programs that run beside us.
func TestStart_NoDescriptors(t *testing.T) {
	t.Parallel()
	argv := []string{"/bin/sh", "-c", "cat"}
	p, err := process.StartAfter(t.Context(), argv, 2, os.NewSyscallError("pipe2", syscall.EMFILE))
	if err != nil {
		t.Fatalf("got %v, want a process", err)
	}
	if err := p.Stop(10 * time.Second); err != nil {
		t.Error(err)
	}
	if _, err := process.StartAfter(t.Context(), argv, 1, syscall.ENOENT); !errors.Is(err, syscall.ENOENT) {
		t.Errorf("got %v, want the failure", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if _, err := process.StartAfter(ctx, argv, 1<<30, syscall.EMFILE); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the end of the context", err)
	}
}
