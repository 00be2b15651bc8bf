package process

import (
	"cmp"
	"os"
	"os/exec"
	"syscall"
)

// shellCommand hands the line to cmd.exe as it is: the quoting that other programs undo is not undone there.
func shellCommand(line string) *exec.Cmd {
	shell := cmp.Or(os.Getenv("COMSPEC"), "cmd.exe")
	cmd := exec.Command(shell) //nolint:noctx // Run ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + line + `"`}
	return cmd
}
