//go:build !unix

package process

import (
	"os"
	"os/exec"
)

// ownGroup does nothing: without process groups only the process itself is ended; children that it
// leaves behind lose their input and output.
func ownGroup(*exec.Cmd) {}

func killGroup(pid int) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Kill()
	}
}

func terminateGroup(pid int) { killGroup(pid) }
