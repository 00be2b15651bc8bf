package sqlite

import (
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	checkInterval = 5 * time.Millisecond  // interval between checks whether others wait
	yieldTime     = 50 * time.Millisecond // maximum wait until one of them has arrived
	checkBackoff  = time.Second           // delay after none arrived: a waiting process may be stopped
)

// turn makes processes that share a file write in turn. SQLite's lock has no queue: a process that
// commits without a pause has the lock again before a waiting process retries. So a waiting process
// takes a shared lock on a file, and a committing process checks that file now and then, and
// yields. If this does not work, writing is only less fair.
type turn struct {
	path      string
	waiting   *flock.Flock
	nextCheck time.Time // time of the next check
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

// stopWaiting shows others that this process is no longer waiting.
func (t *turn) stopWaiting() {
	if t.waiting != nil {
		_ = t.waiting.Close()
		t.waiting = nil
	}
}

// yield yields if others wait.
func (t *turn) yield() {
	start := time.Now()
	if start.Before(t.nextCheck) {
		return
	}
	pause := checkInterval
	for t.othersWait() {
		if time.Since(start) > yieldTime {
			pause = checkBackoff
			break
		}
		time.Sleep(checkInterval / 10)
	}
	t.nextCheck = time.Now().Add(pause)
}

// othersWait reports whether another process is waiting.
func (t *turn) othersWait() bool {
	lock := flock.New(t.path, flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryLock()
	_ = lock.Close()
	return err == nil && !ok
}
