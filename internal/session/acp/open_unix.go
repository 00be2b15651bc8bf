//go:build unix

package acp

import "syscall"

// noWait keeps the opening of a pipe from blocking until its other end is open.
const noWait = syscall.O_NONBLOCK
