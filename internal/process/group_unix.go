//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into a group of its own. It also keeps it from the terminal's Ctrl-C, which is for us to act on.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
}

// A group without members is no error here.
func killGroup(pid int)      { _ = syscall.Kill(-pid, syscall.SIGKILL) }
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
