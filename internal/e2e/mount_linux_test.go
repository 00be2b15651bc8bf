//go:build unix

package e2e_test

import "syscall"

// mountTmpfs puts a file system of its own, in memory, on a folder.
func mountTmpfs(dir, options string) error { return syscall.Mount("tmpfs", dir, "tmpfs", 0, options) }

func unmount(dir string) error { return syscall.Unmount(dir, 0) }
