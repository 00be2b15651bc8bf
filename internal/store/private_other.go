//go:build !unix

package store

import "io/fs"

// IsPrivate reports whether only the owner of a file can read it. File modes do not show that on
// this platform.
func IsPrivate(fs.FileInfo) bool { return true }
