package postgres

import (
	"errors"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// fullWindow is how long an append that found no space makes the heartbeat report an error. Runs
// retry at least every 5 s.
const fullWindow = 10 * time.Second

// fullness remembers that appends found no space. A small write, such as the heartbeat, fits into
// existing pages long after tables can no longer grow. It is safe for concurrent use.
type fullness struct {
	mu  sync.Mutex
	err error // of the last append that found no space
	at  time.Time
}

// record records the outcome of an append.
func (f *fullness) record(err error) {
	if errors.Is(err, journal.ErrFull) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err, f.at = err, time.Now()
	}
}

// recent returns the error of an append that recently found no space, or nil if there was none.
func (f *fullness) recent() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || time.Since(f.at) > fullWindow {
		return nil
	}
	return f.err
}
