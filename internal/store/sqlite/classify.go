package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/hocket-run/hocket/internal/journal"
)

// class is what an error of SQLite means to a caller. All rooms that keep tables in the file get errors that were sorted by it (explain).
type class int

const (
	// classNone is no error of SQLite.
	classNone class = iota
	// classBusy: another process holds the file. The store asks again by itself.
	classBusy
	// classMachine: the disk is full, does not answer or is read-only, or the process has no file handles left. The statement is sound, and the same
	// one succeeds when the machine has been mended: so it is asked again, and a server goes on meanwhile (ADR 38).
	classMachine
	// classStopped: the caller's context ended the statement.
	classStopped
	// classDamage: the file is not what was written.
	classDamage
	// classForeign: the file is no database.
	classForeign
	// classRejected: everything else, such as SQLITE_ERROR, SQLITE_CONSTRAINT and SQLITE_MISUSE. The same statement fails again.
	classRejected
)

// classify sorts an error by the result code that SQLite gave.
func classify(err error) class {
	e, ok := errors.AsType[*sqlite.Error](err)
	if !ok {
		return classNone
	}
	switch e.Code() {
	case lib.SQLITE_IOERR_CORRUPTFS, lib.SQLITE_IOERR_DATA:
		return classDamage // it was read, and is not what was written
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

// unavailableError is an error that passes by itself. It matches journal.ErrUnavailable, and journal.ErrFull where there is no room.
type unavailableError struct{ error }

func (e unavailableError) Unwrap() error { return e.error }

// Is implements what errors.Is asks for.
func (e unavailableError) Is(target error) bool {
	return target == journal.ErrUnavailable || target == journal.ErrFull && isFull(e.error)
}

// isBusy tells whether another connection was in the way, so that asking again helps.
func isBusy(err error) bool { return classify(err) == classBusy }

// isFull tells whether there was no room: for data, or for the file of the log's index, which SQLite tells as an error of input and output.
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

// explain gives the errors of SQLite the types that callers look for. Others stay as they are.
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
