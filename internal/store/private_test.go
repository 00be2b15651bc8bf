//go:build unix

package store

import (
	"io/fs"
	"os"
	"syscall"
	"testing"
	"time"
)

// statOf is the fs.FileInfo of a file with an owner and a mode.
type statOf struct {
	mode fs.FileMode
	uid  uint32
}

func (statOf) Name() string        { return "hocket.key" }
func (statOf) Size() int64         { return KeyBytes }
func (s statOf) Mode() fs.FileMode { return s.mode }
func (statOf) ModTime() time.Time  { return time.Time{} }
func (statOf) IsDir() bool         { return false }
func (s statOf) Sys() any          { return &syscall.Stat_t{Uid: s.uid} }

// TestIsPrivate checks that a secret mounted by Kubernetes, which belongs to root and is readable
// by the group of the container, is private.
func TestIsPrivate(t *testing.T) {
	t.Parallel()
	other := os.Geteuid() != 0
	for _, tc := range []struct {
		file statOf
		want bool
	}{
		{statOf{0o600, 1000}, true}, {statOf{0o400, 0}, true}, {statOf{0o440, 0}, other}, {statOf{0o640, 0}, other},
		{statOf{0o660, 0}, false}, {statOf{0o444, 0}, false}, {statOf{0o440, 1000}, false},
		{statOf{0o604, 1000}, false},
	} {
		if got := IsPrivate(tc.file); got != tc.want {
			t.Errorf("%04o of user %d: %t, not %t", tc.file.mode, tc.file.uid, got, tc.want)
		}
	}
}
