package pgtest

import "syscall"

// memoryFolder returns a folder for files in memory, if there is one with room for the servers of
// several packages. The tests create and drop thousands of tables, each of which is a file: with a
// folder on disk, that is a sixth of all processor time of a server. What a killed server wrote is
// as durable as on disk; only a test about the machine needs more, and chooses a folder.
func memoryFolder() (string, bool) {
	const (
		dir   = "/dev/shm"
		tmpfs = 0x01021994
		least = 4 << 30
	)
	var st syscall.Statfs_t
	err := syscall.Statfs(dir, &st)
	return dir, err == nil && st.Type == tmpfs && st.Bavail*uint64(st.Bsize) >= least
}
