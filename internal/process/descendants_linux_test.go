package process_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/process"
)

// holdVar names the environment variable with the shell line that the test binary runs until it is
// killed; howVar names the one that specifies with which function.
const (
	holdVar = "HOCKET_TEST_HOLD"
	howVar  = "HOCKET_TEST_HOW"
)

func TestMain(m *testing.M) {
	if line := os.Getenv(holdVar); line != "" {
		env := []string{"PATH=" + os.Getenv("PATH")}
		switch os.Getenv(howVar) {
		case "protected", "dumpable":
			if err := process.Protect(os.Getenv(howVar) == "dumpable"); err != nil {
				os.Exit(3)
			}
			out, err := process.Run(context.Background(), process.Program{Shell: line, Env: env})
			if err != nil {
				os.Exit(3)
			}
			b, err := os.ReadFile("pids")
			if err != nil {
				os.Exit(4)
			}
			if left := existing(string(b)); len(left) > 0 {
				fmt.Println("left:", left)
			}
			fmt.Print(out.State, "\n", out.Stdout)
			os.Exit(0)
		case "start":
			p, err := process.Start(context.Background(), []string{"/bin/sh", "-c", line}, "", env, nil,
				func(string) {})
			if err != nil {
				os.Exit(3)
			}
			<-p.Gone()
		default:
			if _, err := process.Run(context.Background(), process.Program{Shell: line, Env: env}); err != nil {
				os.Exit(3)
			}
		}
		os.Exit(0)
	}
	leaktest.Main(m)
}

// escapes are ways in which a program can leave descendants behind. Each writes its process ids to
// pids and then to the pipe ready.
var escapes = map[string]string{
	"same group": `sleep 1000 & echo $! >>pids; echo $$ >>pids; echo >ready; wait`,
	"nohup":      `nohup sleep 1000 >/dev/null 2>&1 & echo $! >>pids; echo >ready; wait`,
	"setsid": `setsid sh -c 'trap "" TERM HUP; echo $$ >>pids; echo >ready; while :; do sleep 1; ` +
		`done' & wait`,
	"setsid and env -i": `env -i /usr/bin/setsid /bin/sh -c 'echo $$ >>pids; echo >ready; exec /bin/sleep ` +
		`1000' & wait`,
	"double fork": `(env -i setsid /bin/sh -c '(/bin/sleep 1000 & echo $! >>pids; echo >ready) &' &) ; exec ` +
		`sleep 1000`,
	"deep": `env -i setsid sh -c 'echo $$ >>pids; env -i setsid sh -c "echo \$\$ >>pids; env -i ` +
		`setsid sh -c \"echo \\\$\\\$ >>pids; echo >ready; exec sleep 1000\" & wait" & wait' & wait`,
	"stopped": `env -i setsid sh -c 'echo $$ >>pids; (sleep 0; echo >ready) & kill -STOP $$' & wait`,
	"stops supervisor": `echo $$ >>pids; env -i setsid /bin/sleep 1000 & echo $! >>pids; kill -STOP $PPID; echo ` +
		`>ready; wait`,
	"stops it at once": `kill -STOP $PPID; echo $$ >>pids; echo >ready; exec sleep 1000`,
	"ends at once": `env -i setsid /bin/sh -c 'echo $$ >>pids; exec /bin/sleep 1000' >/dev/null 2>&1 & until ` +
		`test -s pids; do :; done; echo >ready; exit 0`,
	"closed streams": `env -i setsid /bin/sh -c 'exec <&- >&- 2>&-; echo $$ >>pids; echo >ready; exec ` +
		`/bin/sleep 1000' & wait`,
	"forks without an end": `env -i setsid /bin/sh -c 'echo $$ >>pids; n() { (if [ "$1" -gt 3000 ]; then exec sleep ` +
		`1000; fi; n $(($1+1)) &) ; }; echo >ready; n 0; exec sleep 1000' & wait`,
}

// TestRun_DescendantsKilled checks P11: no descendant of a program outlives it, however it tries
// to: neither when the context is done, nor when the program ends.
func TestRun_DescendantsKilled(t *testing.T) {
	t.Parallel()
	needSupervisor(t)
	for name, line := range escapes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, ready := hold(t)
			why := errors.New("that is enough")
			ctx, cancel := context.WithCancelCause(t.Context())
			go func() {
				await(t, ready)
				cancel(why)
			}()
			_, err := process.Run(ctx, process.Program{Shell: line, Dir: dir,
				Env: []string{"PATH=" + os.Getenv("PATH")}, Grace: time.Millisecond})
			if err != nil && !errors.Is(err, why) {
				t.Errorf("got %v", err)
			}
			if left := living(t, dir); len(left) > 0 {
				t.Errorf("Run returned while processes %v were there", left)
			}
		})
	}
}

// TestRun_DescendantsKilledWithParent checks that a SIGKILL of the process that started a program
// also ends the program with all its descendants.
func TestRun_DescendantsKilledWithParent(t *testing.T) {
	t.Parallel()
	needSupervisor(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for name, line := range escapes {
		for _, how := range []string{"run", "start"} {
			if name == "ends at once" || how == "start" && name != "setsid and env -i" && name != "deep" {
				continue // nothing is killed with the parent; both functions launch programs alike
			}
			t.Run(name+"/"+how, func(t *testing.T) {
				t.Parallel()
				dir, ready := hold(t)
				c := exec.Command(self)
				c.Dir, c.Env = dir, append(os.Environ(), holdVar+"="+line, howVar+"="+how)
				if err := c.Start(); err != nil {
					t.Fatal(err)
				}
				await(t, ready)
				_ = c.Process.Kill()
				_ = c.Wait() // it was killed
				// A program started by another process now waits until they are gone.
				if _, err := process.Run(t.Context(),
					process.Program{Argv: []string{"true"}, Env: []string{"PATH=" + os.Getenv("PATH")}}); err != nil {
					t.Fatal(err)
				}
				if left := living(t, dir); len(left) > 0 {
					t.Errorf("processes %v are there when the next program runs", left)
				}
			})
		}
	}
}

func needSupervisor(t *testing.T) {
	t.Helper()
	if !process.Supervised() {
		t.Fatal("programs have no supervisor in this test, though this is Linux")
	}
}

// hold returns a folder with a pipe named ready.
func hold(t *testing.T) (dir, ready string) {
	t.Helper()
	dir = t.TempDir()
	ready = filepath.Join(dir, "ready")
	if err := syscall.Mkfifo(ready, 0o600); err != nil {
		t.Fatal(err)
	}
	return dir, ready
}

// await waits for a writer of a pipe.
func await(t *testing.T, ready string) {
	t.Helper()
	if _, err := os.ReadFile(ready); err != nil {
		t.Error(err)
	}
}

// living returns the processes listed in the file pids that still exist.
func living(t *testing.T, dir string) (list []string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(dir, "pids"))
	if err != nil {
		t.Error(err)
	}
	return existing(string(b))
}

// existing returns the process ids that exist and have not ended.
func existing(pids string) (list []string) {
	for pid := range strings.FieldsSeq(pids) {
		state, err := os.ReadFile("/proc/" + pid + "/stat")
		if err == nil && !strings.Contains(string(state), ") Z ") {
			list = append(list, pid)
		}
	}
	return list
}
