//go:build unix

package files

import "syscall"

// noWait prevents opening a pipe from blocking until its other end is open.
const noWait = syscall.O_NONBLOCK
