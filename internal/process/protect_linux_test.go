package process_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestSupervisorKilled checks that a program that kills its supervisor leaves nothing behind
// either, as long as Hocket is running.
func TestSupervisorKilled(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"by the program": `env -i setsid /bin/sh -c 'echo $$ >>pids; exec /bin/sleep 1000' & until test -s pids; ` +
			`do :; done; kill -9 $PPID; wait`,
		"by a descendant": `s=$PPID; export s; setsid /bin/sh -c 'echo $$ >>pids; kill -9 $s; env -i setsid /bin/sh ` +
			`-c "echo \$\$ >>pids; exec /bin/sleep 1000" & wait' & wait`,
		"again and again": `for i in 1 2 3 4 5 6 7 8; do env -i setsid /bin/sh -c 'echo $$ >>pids; exec /bin/sleep ` +
			`1000' & done; until test "$(wc -l <pids)" = 8; do :; done; kill -9 $PPID; wait`,
		"stopped for ever": `s=$PPID; export s; setsid /bin/sh -c 'echo $$ >>pids; while :; do kill -STOP $s ` +
			`2>/dev/null || exec sleep 1000; done' & until test -s pids; do :; done; kill -9 $PPID; wait`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if said := helper(t, "protected", line); !strings.HasPrefix(said, "its supervisor was killed") {
				t.Errorf("got %s", said)
			}
		})
	}
}

// TestEnvironmentUnreadable checks that a program cannot read the environment, the memory or the
// descriptors of Hocket through /proc. The same program can read them if the process was left
// dumpable, which proves that the test looks in the right place.
func TestEnvironmentUnreadable(t *testing.T) {
	t.Parallel()
	const line = `echo $$ >pids; h=$(cut -d" " -f4 /proc/$PPID/stat)
for p in $PPID $h; do
	tr '\0' '\n' </proc/$p/environ | grep HOCKET_TEST_SECRET
	head -c 1 /proc/$p/maps >/dev/null && echo maps
	ls /proc/$p/fd >/dev/null && echo fd
	readlink /proc/$p/cwd >/dev/null && echo cwd
done 2>/dev/null
for p in /proc/[0-9]*; do tr '\0' '\n' <$p/task/${p#/proc/}/environ | grep HOCKET_TEST_SECRET; done 2>/dev/null; exit 0`
	said := helper(t, "dumpable", line)
	for _, want := range []string{"HOCKET_TEST_SECRET=of the test", "maps", "fd", "cwd"} {
		if !strings.Contains(said, want) {
			t.Errorf("in a process that is dumpable, the program does not see %q, so this test proves nothing: %s",
				want, said)
		}
	}
	if said := helper(t, "protected", line); strings.TrimSpace(said) != "exit status 0" {
		t.Errorf("the program saw %s", said)
	}
}

// helper runs a shell line in a process as `how` specifies, as an unprivileged user, and returns
// that process's output.
func helper(t *testing.T, how, line string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	c := exec.CommandContext(t.Context(), self)
	if os.Getuid() == 0 { // root can read everything
		const unprivilegedID = 65534
		c.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: unprivilegedID, Gid: unprivilegedID}}
		c.Path = filepath.Join(dir, "hocket.test")
		// Not written by this process: a file that is open for writing in a newly forked child
		// cannot be executed.
		if os.Link(self, c.Path) != nil {
			if out, err := exec.CommandContext(t.Context(), "cp", self, c.Path).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		}
		for _, d := range []string{filepath.Dir(dir), dir} {
			if err := os.Chmod(d, 0o777); err != nil {
				t.Fatal(err)
			}
		}
	}
	c.Dir, c.Stderr = dir, os.Stderr
	c.Env = []string{"PATH=" + os.Getenv("PATH"), holdVar + "=" + line, howVar + "=" + how,
		"HOCKET_TEST_SECRET=of the test"}
	out, err := c.Output()
	if err != nil {
		t.Fatalf("%s: %v: %s", how, err, out)
	}
	return string(out)
}
