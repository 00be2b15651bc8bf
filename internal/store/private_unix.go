//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// IsPrivate reports whether only the owner of a file can read it. A file owned by root may be
// readable by its group if this process does not run as root: Kubernetes mounts secrets in
// containers that way, and libpq accepts client keys with such modes.
func IsPrivate(st fs.FileInfo) bool {
	mode := st.Mode().Perm()
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid == 0 && os.Geteuid() != 0 {
		mode &^= 0o040
	}
	return mode&0o077 == 0
}
