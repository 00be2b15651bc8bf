//go:build unix

package files

import "syscall"

// openNonblock prevents opening a pipe from blocking until its other end is open.
const openNonblock = syscall.O_NONBLOCK
