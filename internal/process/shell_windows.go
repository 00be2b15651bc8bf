package process

import (
	"cmp"
	"os"
	"os/exec"
	"syscall"
)

// shellCommand passes the line to cmd.exe verbatim, since cmd.exe does not undo the quoting that
// other programs undo.
func shellCommand(line string) *exec.Cmd {
	shell := cmp.Or(os.Getenv("COMSPEC"), "cmd.exe")
	cmd := exec.Command(shell) //nolint:noctx // Run ends it
	cmd.SysProcAttr = &syscall.SysProcAttr{CmdLine: `cmd.exe /d /s /c "` + line + `"`}
	return cmd
}
