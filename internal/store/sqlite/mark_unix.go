//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package sqlite

import (
	"bytes"
	"os"
	"path/filepath"
	"syscall"
)

// mark says to others that this process writes. Not safe for concurrent use. Where it does not work, others see another program.
type mark struct {
	file *os.File // nil: it does not work
	line []byte
	// there is where the line that the file has is read.
	there []byte
}

// openMark opens the file at path and makes it where there is none.
func openMark(path, owner string) *mark {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return &mark{}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return &mark{}
	}
	return &mark{file: f, line: markLine(owner), there: make([]byte, markBytes)}
}

// set says that this process writes from now on.
func (m *mark) set() {
	if m.file == nil || syscall.Flock(int(m.file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) != nil {
		return
	}
	// The line is still there unless another process wrote since: to read it is cheaper than to change the file each time.
	if n, _ := m.file.ReadAt(m.there, 0); n < len(m.line) || !bytes.Equal(m.there, m.line) {
		_, _ = m.file.WriteAt(m.line, 0) // of no use to this process, and a full disk is no reason not to write
	}
}

// clear takes it back.
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
