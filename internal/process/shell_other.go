//go:build !windows

package process

import "os/exec"

func shellCommand(line string) *exec.Cmd {
	return exec.Command("/bin/sh", "-c", line) //nolint:noctx // Run ends it
}
