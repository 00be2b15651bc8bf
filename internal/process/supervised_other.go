//go:build !linux

package process

import (
	"errors"
	"os/exec"
)

// canSupervise reports whether programs can be supervised here.
func canSupervise() bool { return false }

func launchSupervised(*exec.Cmd) (running, error) { return nil, errors.ErrUnsupported }

// Protect does nothing on this system.
func Protect(bool) error { return nil }
