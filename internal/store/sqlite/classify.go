package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/hocket-run/hocket/internal/journal"
)

// class is what an error of SQLite means to a caller. All packages with tables in the file get
// errors classified this way; see explain.
type class int

const (
	// classNone is not an error of SQLite.
	classNone class = iota
	// classBusy means that another process holds the file. The store retries by itself.
	classBusy
	// classMachine means that the disk is full, does not respond or is read-only, or that the
	// process has no file handles left. The statement is valid, and succeeds once the machine has
	// been fixed, so it is retried, and a server keeps running meanwhile (ADR 38).
	classMachine
	// classStopped means that the caller's context ended the statement.
	classStopped
	// classDamage means that the file does not contain what was written.
	classDamage
	// classForeign means that the file is not a database.
	classForeign
	// classRejected means any other error, such as SQLITE_ERROR, SQLITE_CONSTRAINT and
	// SQLITE_MISUSE. The same statement fails again.
	classRejected
)

// classify classifies an error by SQLite's result code.
func classify(err error) class {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return classNone
	}
	switch e.Code() {
	case lib.SQLITE_IOERR_CORRUPTFS, lib.SQLITE_IOERR_DATA:
		return classDamage // it could be read, but is not what was written
	}
	switch e.Code() & 0xff {
	case lib.SQLITE_OK:
		return classNone
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED, lib.SQLITE_PROTOCOL:
		return classBusy
	case lib.SQLITE_FULL, lib.SQLITE_IOERR, lib.SQLITE_READONLY, lib.SQLITE_CANTOPEN, lib.SQLITE_NOMEM:
		return classMachine
	case lib.SQLITE_INTERRUPT:
		return classStopped
	case lib.SQLITE_CORRUPT:
		return classDamage
	case lib.SQLITE_NOTADB:
		return classForeign
	}
	return classRejected
}

// unavailableError is a temporary error. It matches journal.ErrUnavailable, and also
// journal.ErrFull if there is no space.
type unavailableError struct{ error }

func (e unavailableError) Error() string {
	if isFull(e.error) {
		return "the disk of the store is full: " + e.error.Error()
	}
	return e.error.Error()
}

func (e unavailableError) Unwrap() error { return e.error }

// Is implements the interface used by errors.Is.
func (e unavailableError) Is(target error) bool {
	return target == journal.ErrUnavailable || target == journal.ErrFull && isFull(e.error)
}

// isBusy reports whether another connection interfered, so that a retry helps.
func isBusy(err error) bool { return classify(err) == classBusy }

// isFull reports whether there was no space: for data, or for the index file of the log, which
// SQLite reports as an I/O error.
func isFull(err error) bool {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return false
	}
	switch e.Code() {
	case lib.SQLITE_IOERR_SHMOPEN, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_IOERR_SHMMAP:
		return true
	}
	return e.Code()&0xff == lib.SQLITE_FULL
}

// explain converts errors of SQLite to the types that callers check for. Other errors are returned
// unchanged.
func explain(err error) error {
	if _, ok := errors.AsType[*journal.RejectedError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*journal.CorruptError](err); ok {
		return err
	}
	if _, ok := errors.AsType[unavailableError](err); ok {
		return err
	}
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return err
	}
	switch classify(err) {
	case classDamage:
		return &journal.CorruptError{Reason: err.Error()}
	case classForeign:
		return fmt.Errorf("%w: %w", journal.ErrNotStore, err)
	case classRejected:
		return &journal.RejectedError{Err: err}
	case classBusy, classMachine:
		if e.Code()&0xff == lib.SQLITE_READONLY {
			err = fmt.Errorf("the file or its folder is read-only here: %w", err)
		}
		return unavailableError{err}
	}
	return err
}
