package sqlite

import (
	"os"
	"strings"

	"github.com/gofrs/flock"
)

// markSuffix is the suffix of the file that shows which Hocket process is writing: it is locked as
// long as the process holds SQLite's write lock, and contains a line about it. SQLite itself does
// not report who holds its locks.
const markSuffix = "/writing"

// markBytes is the fixed size of the line, so that a shorter line leaves nothing of a longer one.
const markBytes = 128

// Descriptions of the holder of a store.
const (
	someProgram = "another program"
	someHocket  = "another hocket process"
)

// holderOf describes who holds the write lock of the store whose mark is at path.
func holderOf(path string) string {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	free, err := lock.TryRLock()
	if cerr := lock.Close(); err != nil || free || cerr != nil {
		return someProgram // also if there is no mark, or it cannot be locked
	}
	text, err := os.ReadFile(path)
	if line := strings.TrimSpace(string(text)); err == nil && line != "" {
		return line
	}
	return someHocket
}

// markLine returns the line about this process.
func markLine(o string) []byte {
	return []byte((o + strings.Repeat(" ", markBytes))[:markBytes-1] + "\n")
}
