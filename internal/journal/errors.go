package journal

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound says that there is no such run, blob or request.
	ErrNotFound = errors.New("not found")
	// ErrExists says that a run with this id exists.
	ErrExists = errors.New("already exists")
	// ErrConflict says that Record.First does not continue the journal. The caller's copy of the run is stale: it reads the journal again.
	ErrConflict = errors.New("record does not continue the journal")
	// ErrFenced says that the caller does not own the run, or no longer in this epoch. It stops driving it.
	ErrFenced = errors.New("run is not owned in this epoch")
	// ErrOwned says that a living owner has the run. The error is an *OwnedError, which names it.
	ErrOwned = errors.New("run has an owner")
	// ErrChanged: what is to be replaced is another revision than the caller read.
	ErrChanged = errors.New("it was changed at the same time")
	// ErrNoCommon says that a store cannot hold runs in common.
	ErrNoCommon = errors.New("the store cannot hold runs in common; runs on Temporal need a store in PostgreSQL")
	// ErrBusy says that a session has a run that has not ended. The error is a *BusyError, which names it.
	ErrBusy = errors.New("session is busy")
	// ErrCursor says that a cursor was not given out by List.
	ErrCursor = errors.New("no such cursor")
	// ErrClosed says that the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrNotStore says that the file or database is not a store of Hocket.
	ErrNotStore = errors.New("not a store of hocket")
	// ErrUnfinished says that a store is what a copy has written so far that has not ended.
	ErrUnfinished = errors.New("the store is an unfinished copy; run hocket store copy again, which completes it")
	// ErrOldStore says that a store was made before the first release. It cannot be migrated.
	ErrOldStore = errors.New("the store was made by a build of Hocket before the first release, which is not read any more; name a new one")
	// ErrUnavailable matches errors of a store that cannot be used right now, so that the same may be tried later: its disk is full, does not answer or is read-only, or
	// others hold it. No other error of a store passes by itself.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrFull matches those errors of ErrUnavailable that come of a disk without room.
	ErrFull = errors.New("no room for the store")
)

// OwnedError says who has the run. errors.Is(err, ErrOwned) holds.
type OwnedError struct {
	Run   string
	Owner Owner
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("run %s is driven by another process (%s)", e.Run, e.Owner)
}

// Is makes errors.Is(err, ErrOwned) hold.
func (e *OwnedError) Is(target error) bool { return target == ErrOwned }

// BusyError says which run of a session has not ended (P19). errors.Is(err, ErrBusy) holds.
type BusyError struct{ Session, Run string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %q is busy: its run %s has not ended", e.Session, e.Run)
}

// Is makes errors.Is(err, ErrBusy) hold.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// CorruptError says that stored data is damaged. Nothing was repaired and nothing was left out.
//
// Run is empty where the damage is not that of one run (a blob, the file). Seq is the first event that cannot be trusted; 0 where that is
// not known.
type CorruptError struct {
	Run    string
	Seq    uint64
	Reason string
}

func (e *CorruptError) Error() string {
	switch {
	case e.Run == "":
		return "store is damaged: " + e.Reason
	case e.Seq == 0:
		return fmt.Sprintf("journal of run %s is damaged: %s", e.Run, e.Reason)
	}
	return fmt.Sprintf("journal of run %s is damaged from event %d on: %s", e.Run, e.Seq, e.Reason)
}

// InRun names the run in damage that was found by code that did not know it, as Decode does. Other errors stay as they are.
func InRun(run string, err error) error {
	var c *CorruptError
	if errors.As(err, &c) && c.Run == "" {
		return &CorruptError{Run: run, Seq: c.Seq, Reason: c.Reason}
	}
	return err
}

// NewerError says that a newer Hocket wrote this. Have is the newest version that this program reads, Found the one that is there; What
// names the thing: "record", "store".
type NewerError struct {
	What        string
	Have, Found int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has format version %d, written by a newer hocket; this one reads up to %d", e.What, e.Found, e.Have)
}

// LockedError says that another process held the store for longer than a caller was ready to wait. Nothing was changed, and the same may be asked for again.
type LockedError struct {
	// Holder says who holds it: `hocket serve, process 4242`, or `another program`.
	Holder string
	For    time.Duration
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("the store is locked: %s has held it for %s; nothing is lost", e.Holder, e.For.Round(time.Second/10))
}

// Is makes errors.Is(err, ErrUnavailable) hold.
func (e *LockedError) Is(target error) bool { return target == ErrUnavailable }

// LockWait tells that a store is held by another process, while a caller waits for it.
type LockWait struct {
	// Holder is as in LockedError; For is how long the wait has lasted, Limit how long it lasts at most, 0: without limit.
	Holder     string
	For, Limit time.Duration
	// Over says that the limit is reached: callers get a *LockedError.
	Over bool
}

// RejectedError says that a store refused an operation, and would refuse it again: its tables are not what they were, say. It is never a disk that is full or a
// store that is held by others. Nothing of the operation was stored.
type RejectedError struct{ Err error }

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the store rejected the operation permanently: %v", e.Err)
}

// Unwrap gives the store's own error.
func (e *RejectedError) Unwrap() error { return e.Err }
