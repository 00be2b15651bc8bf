package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gofrs/flock"
	"github.com/google/uuid"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	ownersSuffix = ".owners" // suffix of the folder next to the file
	lockSuffix   = ".lock"
)

// owners tracks which owners are alive. An owner that executes runs holds an exclusive lock on its
// own file in dir as long as it is alive; the operating system releases the lock however the
// process dies. Others see that immediately: a missing file, or a file that can be locked, means a
// dead owner (D15).
//
// The name of an owner is never reused, and a file is removed only by its owner or under a shared
// lock, so that no process acquires a lock that others do not see:
//
//  1. A creates the file and has not locked it yet.
//  2. B sweeps, locks the file shared, and removes it.
//  3. A fails to lock it, or has locked a file that no longer has a name, which it checks. It takes
//     another name.
type owners struct {
	dir string

	// registering holds one value while a caller registers. mu is not used, because it would be
	// held while others write.
	registering chan struct{}

	mu     sync.Mutex
	self   journal.Owner
	lock   *flock.Flock // nil until the handle owns a run
	number atomic.Int64 // in the table of owners; 0 until then
	closed bool
}

func newOwners(dir string, kind journal.Kind, place string) *owners {
	host, _ := os.Hostname() // without a name it is omitted
	return &owners{dir: dir, registering: make(chan struct{}, 1), self: journal.Owner{ID: uuid.NewString(), Kind: kind,
		PID: os.Getpid(), Host: host, Place: place}}
}

// register makes the handle an owner, if it is not one yet, and returns its number. Handles that
// only read never call it: they leave no trace.
func (o *owners) register(ctx context.Context, w *writer) (int64, error) {
	if n := o.number.Load(); n != 0 {
		return n, nil
	}
	select {
	case o.registering <- struct{}{}:
		defer func() { <-o.registering }()
	case <-ctx.Done():
		return 0, ctx.Err()
	}
	if n := o.number.Load(); n != 0 {
		return n, nil
	}
	if err := o.begin(); err != nil {
		return 0, err
	}
	var number int64
	err := w.write(ctx, 0, func(c *conn) error {
		res, err := c.exec(sqlNewOwner, o.self.ID, string(o.self.Kind), o.self.PID, o.self.Host, o.self.Place)
		if err != nil {
			return err
		}
		number, err = res.LastInsertId()
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("register owner: %w", err)
	}
	o.number.Store(number)
	return number, nil
}

// begin makes the owner alive, if it is not yet.
func (o *owners) begin() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return journal.ErrClosed
	}
	if o.lock != nil {
		return nil
	}
	if err := o.acquireLock(); err != nil {
		return fmt.Errorf("register owner: %w", err)
	}
	o.sweep()
	return nil
}

// acquireLock acquires the lock that shows that this owner is alive.
func (o *owners) acquireLock() error {
	if err := os.MkdirAll(o.dir, 0o700); err != nil {
		return err
	}
	for {
		path := o.path(o.self.ID)
		lock := flock.New(path, flock.SetPermissions(0o600))
		ok, err := lock.TryLock()
		if err != nil {
			return err
		}
		if ok && isSameFile(lock, path) {
			o.lock = lock
			return nil
		}
		if err := lock.Close(); err != nil {
			return err
		}
		o.self.ID = uuid.NewString()
	}
}

func isSameFile(lock *flock.Flock, path string) bool {
	here, err := os.Stat(path)
	if err != nil {
		return false
	}
	locked, err := lock.Stat()
	return err == nil && os.SameFile(here, locked)
}

func (o *owners) path(id string) string { return filepath.Join(o.dir, id+lockSuffix) }

// isAlive reports whether the owner with this ID holds its lock.
func (o *owners) isAlive(id string) (bool, error) {
	isName := uuid.Validate(id) == nil
	if !isName {
		return false, nil // no owner has it, and it must not become a path
	}
	dead, lock, err := o.probe(o.path(id))
	if lock != nil {
		err = errors.Join(err, lock.Close())
	}
	return !dead && err == nil, err
}

// probe reports whether the lock at path is free. If it is and the file exists, probe returns it
// with a shared lock, so that others can probe too.
func (o *owners) probe(path string) (dead bool, _ *flock.Flock, _ error) {
	lock := flock.New(path, flock.SetFlag(os.O_RDONLY))
	ok, err := lock.TryRLock()
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return true, nil, nil
	case err != nil:
		return false, nil, fmt.Errorf("look for owner: %w", err)
	case !ok:
		return false, nil, lock.Close()
	}
	return true, lock, nil
}

// livingOthers returns the living owners other than this one; an owner that cannot be checked
// counts as dead.
func (o *owners) livingOthers() map[string]bool {
	o.mu.Lock()
	self := o.self.ID
	o.mu.Unlock()
	found := map[string]bool{}
	entries, _ := os.ReadDir(o.dir)
	for _, e := range entries {
		id, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		if !isLock || id == self {
			continue
		}
		if alive, err := o.isAlive(id); err == nil && alive {
			found[id] = true
		}
	}
	return found
}

// sweep removes the files of dead owners. A file that cannot be removed is left for the next sweep.
func (o *owners) sweep() {
	entries, err := os.ReadDir(o.dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		id, isLock := strings.CutSuffix(e.Name(), lockSuffix)
		if !isLock || id == o.self.ID {
			continue
		}
		if dead, lock, err := o.probe(o.path(id)); err == nil && dead && lock != nil {
			_ = os.Remove(lock.Path())
			_ = lock.Close()
		}
	}
}

func (o *owners) close() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	if o.lock == nil {
		return nil
	}
	path, err := o.lock.Path(), o.lock.Close()
	o.lock = nil
	if rerr := os.Remove(path); !errors.Is(rerr, fs.ErrNotExist) { // another process may have swept it
		err = errors.Join(err, rerr)
	}
	return err
}

// SetKind implements journal.Sharing. Files are only for the processes of one machine, which own
// their runs.
func (s *Store) SetKind(context.Context, string, journal.Kind) error { return journal.ErrNoCommon }

// StoreID implements journal.Sharing.
func (s *Store) StoreID(context.Context) (string, error) { return "", journal.ErrNoCommon }
