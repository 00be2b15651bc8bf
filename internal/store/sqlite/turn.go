package sqlite

import (
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	lookEvery = 5 * time.Millisecond  // between two looks at whether others wait
	stepAside = 50 * time.Millisecond // at most, until one of them has come
	lookLater = time.Second           // after none came: a waiting process may be stopped
)

// turn lets processes that share a file write in turn. SQLite's lock has no line: a process that commits without a pause has it again
// before one that waits has looked. So who waits says so by a shared lock on a file, and who commits looks there now and then, and steps
// aside. Where it does not work, writing is only less fair.
type turn struct {
	path    string
	waiting *flock.Flock
	look    time.Time // not before
}

// wait says that this process waits. It may be called again and again.
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
		_ = lock.Close() // another process looks just now
	}
}

// came says that this process does not wait any more.
func (t *turn) came() {
	if t.waiting != nil {
		_ = t.waiting.Close()
		t.waiting = nil
	}
}

// pass steps aside if others wait.
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

// isWanted tells whether another process waits.
func (t *turn) isWanted() bool {
	lock := flock.New(t.path, flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryLock()
	_ = lock.Close()
	return err == nil && !ok
}
