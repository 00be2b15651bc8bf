//go:build unix

package process

import (
	"os"
	"syscall"
)

// readNow reads the available data, without waiting and regardless of the deadline.
func readNow(f *os.File, b []byte) (n int) {
	raw, err := f.SyscallConn()
	if err != nil || len(b) == 0 {
		return 0
	}
	_ = raw.Control(func(fd uintptr) { // Control's own error means that the file is closed
		for {
			var err error
			if n, err = syscall.Read(int(fd), b); err != syscall.EINTR {
				return
			}
		}
	})
	return max(n, 0)
}
