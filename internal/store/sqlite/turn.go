package sqlite

import (
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	lookEvery = 5 * time.Millisecond  // interval between checks whether others wait
	stepAside = 50 * time.Millisecond // maximum, until one of them has arrived
	lookLater = time.Second           // delay after none arrived: a waiting process may be stopped
)

// turn makes processes that share a file write in turn. SQLite's lock has no queue: a process that
// commits without a pause has the lock again before a waiting process retries. So a waiting process
// takes a shared lock on a file, and a committing process checks that file now and then, and
// yields. If this does not work, writing is only less fair.
type turn struct {
	path    string
	waiting *flock.Flock
	look    time.Time // time of the next check
}

// wait shows others that this process is waiting. It may be called repeatedly.
func (t *turn) wait() {
	if t.waiting != nil {
		return
	}
	if err := os.MkdirAll(filepath.Dir(t.path), 0o700); err != nil {
		return
	}
	lock := flock.New(t.path, flock.SetPermissions(0o600))
	if ok, err := lock.TryRLock(); ok && err == nil {
		t.waiting = lock
	} else {
		_ = lock.Close() // another process is checking right now
	}
}

// came shows others that this process is no longer waiting.
func (t *turn) came() {
	if t.waiting != nil {
		_ = t.waiting.Close()
		t.waiting = nil
	}
}

// pass yields if others wait.
func (t *turn) pass() {
	start := time.Now()
	if start.Before(t.look) {
		return
	}
	pause := lookEvery
	for t.isWanted() {
		if time.Since(start) > stepAside {
			pause = lookLater
			break
		}
		time.Sleep(lookEvery / 10)
	}
	t.look = time.Now().Add(pause)
}

// isWanted reports whether another process is waiting.
func (t *turn) isWanted() bool {
	lock := flock.New(t.path, flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryLock()
	_ = lock.Close()
	return err == nil && !ok
}
