//go:build unix

package process

import (
	"os/exec"
	"syscall"
)

// ownGroup puts the process into its own group. This also shields it from the terminal's Ctrl-C,
// which we must handle.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	endWithParent(cmd.SysProcAttr)
}

// killGroup kills a process group. It is not an error if the group has no members.
func killGroup(pid int)      { _ = syscall.Kill(-pid, syscall.SIGKILL) }
func terminateGroup(pid int) { _ = syscall.Kill(-pid, syscall.SIGTERM) }
