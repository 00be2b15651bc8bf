//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
)

// IsPrivate tells whether only the owner of a file can read it. A file of root may be readable by its group where this process is not root's: that is how Kubernetes gives a secret to a container,
// and libpq accepts the keys of clients so.
func IsPrivate(st fs.FileInfo) bool {
	mode := st.Mode().Perm()
	if sys, ok := st.Sys().(*syscall.Stat_t); ok && sys.Uid == 0 && os.Geteuid() != 0 {
		mode &^= 0o040
	}
	return mode&0o077 == 0
}
