package postgres

import (
	"errors"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// fullTime is how long an append that found no room keeps the heartbeat from being a good one. Runs try again at least every 5 s.
const fullTime = 10 * time.Second

// fullness remembers that appends found no room. A small write, such as that of the heartbeat, has room in pages that are there, long after tables cannot grow. Safe for concurrent use.
type fullness struct {
	mu  sync.Mutex
	err error // of the last append that found no room
	at  time.Time
}

// note sees the outcome of an append.
func (f *fullness) note(err error) {
	if errors.Is(err, journal.ErrFull) {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.err, f.at = err, time.Now()
	}
}

// recent gives the error of an append that found no room a moment ago; nil: there was none.
func (f *fullness) recent() error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.err == nil || time.Since(f.at) > fullTime {
		return nil
	}
	return f.err
}
