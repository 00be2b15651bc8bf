package journal

import (
	"errors"
	"fmt"
	"time"
)

var (
	// ErrNotFound is returned when a run, blob or request does not exist.
	ErrNotFound = errors.New("not found")
	// ErrExists is returned when a run with this id already exists.
	ErrExists = errors.New("already exists")
	// ErrConflict is returned when Record.First does not continue the journal. The caller's copy of
	// the run is stale: it must read the journal again.
	ErrConflict = errors.New("record does not continue the journal")
	// ErrFenced is returned when the caller does not own the run, or no longer owns it in this
	// epoch. The caller must stop executing it.
	ErrFenced = errors.New("run is not owned in this epoch")
	// ErrOwned is returned when a living owner has the run. The error is an *OwnedError, which
	// names the owner.
	ErrOwned = errors.New("run has an owner")
	// ErrChanged is returned when the revision to be replaced is not the one that the caller read.
	ErrChanged = errors.New("it was changed at the same time")
	// ErrNoCommon is returned when a store cannot hold shared runs.
	ErrNoCommon = errors.New("the store cannot hold runs in common; runs on Temporal need a store in PostgreSQL")
	// ErrBusy is returned when a session has a run that has not ended. The error is a *BusyError,
	// which names the run.
	ErrBusy = errors.New("session is busy")
	// ErrCursor is returned for a cursor that List did not produce.
	ErrCursor = errors.New("no such cursor")
	// ErrClosed is returned after the store was closed.
	ErrClosed = errors.New("store is closed")
	// ErrNotStore is returned when the file or database is not a Hocket store.
	ErrNotStore = errors.New("not a store of hocket")
	// ErrUnfinished is returned when a store holds only what an unfinished copy has written so far.
	ErrUnfinished = errors.New("the store is an unfinished copy; run hocket store copy again, which completes it")
	// ErrOldStore is returned when a store was created before the first release. It cannot be
	// migrated.
	ErrOldStore = errors.New("the store was made by a build of Hocket before the first release, which is not read " +
		"any more; name a new one")
	// ErrUnavailable matches errors of a store that is temporarily unusable, so that the operation
	// may be retried: its disk is full, unresponsive or read-only, or another process holds the
	// store. No other store error is transient.
	ErrUnavailable = errors.New("store is unavailable")
	// ErrFull matches the ErrUnavailable errors caused by a full disk.
	ErrFull = errors.New("no room for the store")
)

// OwnedError names the owner of the run. It matches ErrOwned with errors.Is.
type OwnedError struct {
	Run   string
	Owner Owner
}

func (e *OwnedError) Error() string {
	return fmt.Sprintf("run %s is driven by another process (%s)", e.Run, e.Owner)
}

// Is makes errors.Is(err, ErrOwned) return true.
func (e *OwnedError) Is(target error) bool { return target == ErrOwned }

// BusyError names the run of a session that has not ended (P19). It matches ErrBusy with errors.Is.
type BusyError struct{ Session, Run string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %q is busy: its run %s has not ended", e.Session, e.Run)
}

// Is makes errors.Is(err, ErrBusy) return true.
func (e *BusyError) Is(target error) bool { return target == ErrBusy }

// CorruptError is returned when stored data is damaged. Nothing was repaired and nothing was left
// out.
//
// Run is empty if the damage does not belong to one run (a blob, the file). Seq is the first event
// that cannot be trusted, or 0 if it is unknown.
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

// InRun sets the run in a corruption error from code that did not know it, such as Decode. Other
// errors are returned unchanged.
func InRun(run string, err error) error {
	var c *CorruptError
	if errors.As(err, &c) && c.Run == "" {
		return &CorruptError{Run: run, Seq: c.Seq, Reason: c.Reason}
	}
	return err
}

// NewerError is returned for data that a newer version of Hocket wrote. Have is the newest version
// that this program reads, Found the version of the data; What names the kind of data: "record",
// "store".
type NewerError struct {
	What        string
	Have, Found int
}

func (e *NewerError) Error() string {
	return fmt.Sprintf("%s has format version %d, written by a newer hocket; this one reads up to %d", e.What, e.Found,
		e.Have)
}

// LockedError is returned when another process held the store for longer than the caller was
// willing to wait. Nothing was changed, and the operation may be retried.
type LockedError struct {
	// Holder names the process that holds the store: `hocket serve, process 4242`, or `another
	// program`.
	Holder string
	For    time.Duration
}

func (e *LockedError) Error() string {
	return fmt.Sprintf("the store is locked: %s has held it for %s; nothing is lost", e.Holder,
		e.For.Round(time.Second/10))
}

// Is makes errors.Is(err, ErrUnavailable) return true.
func (e *LockedError) Is(target error) bool { return target == ErrUnavailable }

// LockWait describes a caller's wait for a store that another process holds.
type LockWait struct {
	// Holder is as in LockedError; For is how long the wait has lasted, Limit its maximum duration;
	// 0 means no limit.
	Holder     string
	For, Limit time.Duration
	// Over reports whether the limit is reached: callers get a *LockedError.
	Over bool
}

// RejectedError is returned when a store rejected an operation and would reject it again, for
// example because its tables have changed. It never stands for a full disk or a store held by
// another process. No part of the operation was stored.
type RejectedError struct{ Err error }

func (e *RejectedError) Error() string {
	return fmt.Sprintf("the store rejected the operation permanently: %v", e.Err)
}

// Unwrap returns the store's own error.
func (e *RejectedError) Unwrap() error { return e.Err }
