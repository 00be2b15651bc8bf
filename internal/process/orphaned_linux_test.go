package process_test

import (
	"os"
	"os/exec"
	"slices"
	"syscall"
	"testing"

	"github.com/hocket-run/hocket/internal/process"
	"github.com/hocket-run/hocket/internal/process/supervise"
)

// TestSupervisor_OtherPIDNamespace checks that a Hocket process in another PID namespace, as in a
// container, is seen with a process id other than its own. Its supervisors are not orphaned, so no
// start waits for them.
func TestSupervisor_OtherPIDNamespace(t *testing.T) {
	t.Parallel()
	needSupervisor(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir, ready := hold(t)
	c := exec.Command(self)
	c.Dir, c.Env = dir, append(os.Environ(), holdVar+"=echo >ready; exec sleep 1000")
	c.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Pdeathsig: syscall.SIGKILL}
	if id := os.Getuid(); id != 0 {
		c.SysProcAttr.Cloneflags |= syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: id, HostID: id, Size: 1}}
	}
	if err := c.Start(); err != nil {
		t.Skipf("the system makes no PID namespace for this user: %v", err)
	}
	defer func() {
		_ = c.Process.Kill()
		_ = c.Wait() // it was killed
	}()
	await(t, ready)
	found := 0
	for _, pid := range supervise.Children(c.Process.Pid) {
		found++
		if slices.Contains(process.Orphaned(), pid) {
			t.Errorf("supervisor %d of a process that lives is taken for orphaned", pid)
		}
	}
	if found == 0 {
		t.Error("the process has no supervisor")
	}
}
