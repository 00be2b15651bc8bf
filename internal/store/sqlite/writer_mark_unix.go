//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
)

// mark shows others that this process is writing. It is not safe for concurrent use. If it does not
// work, they report another program as the holder.
type mark struct {
	file *os.File // nil if it does not work
	line []byte
	// current is the buffer into which the file's current line is read.
	current []byte
}

// openMark opens the file at path and creates it if it does not exist.
func openMark(path, owner string) *mark {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &mark{}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return &mark{}
	}
	return &mark{file: f, line: markLine(owner), current: make([]byte, markBytes)}
}

// set marks this process as writing from now on.
func (m *mark) set() {
	if m.file == nil || syscall.Flock(int(m.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	// The line is still there unless another process wrote since; reading it is cheaper than
	// changing the file each time.
	if n, _ := m.file.ReadAt(m.current, 0); n < len(m.line) || !bytes.Equal(m.current, m.line) {
		// others need it, but this process does not, and a full disk must not prevent writing
		_, _ = m.file.WriteAt(m.line, 0)
	}
}

// clear undoes set.
func (m *mark) clear() {
	if m.file != nil {
		_ = syscall.Flock(int(m.file.Fd()), syscall.LOCK_UN)
	}
}

func (m *mark) close() {
	if m.file != nil {
		_ = m.file.Close()
		m.file = nil
	}
}
