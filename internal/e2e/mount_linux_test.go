//go:build unix

package e2e_test

import "syscall"

// mountTmpfs mounts a separate in-memory file system on a folder.
func mountTmpfs(dir, options string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, options) }

func unmount(dir string) error { return syscall.Unmount(dir, 0) }
