package sqlite

import (
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// markSuffix is that of the file that says which process of Hocket writes: it is locked as long as the process has SQLite's write lock, and holds a line about it.
// SQLite itself does not tell who has its locks.
const markSuffix = "/writing"

// markBytes is the size of the line: always the same, so that a shorter one leaves nothing of a longer one.
const markBytes = 128

// Words for who holds a store.
const (
	someProgram = "another program"
	someHocket  = "another hocket process"
)

// holderOf says who has the write lock of the store whose mark is at path.
func holderOf(path string) string {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if cerr := lock.Close(); err != nil || free || cerr != nil {
		return someProgram // also where there is no mark, or none can be locked
	}
	text, err := os.ReadFile(path)
	if line := strings.TrimSpace(string(text)); err == nil && line != "" {
		return line
	}
	return someHocket
}

// markLine gives the line about this process.
func markLine(o string) []byte {
	return []byte((o + strings.Repeat(" ", markBytes))[:markBytes-1] + "\n")
}
