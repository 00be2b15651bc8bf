package postgres

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/puddle/v2"

	"github.com/hocket-run/hocket/internal/journal"
)

// class is what an error means to a caller. All packages with tables in the database get errors
// classified this way; see explain.
type class int

const (
	// classNone is not an error of the server or the connection.
	classNone class = iota
	// classConflict means that another transaction interfered. Nothing was done; a retry succeeds.
	classConflict
	// classLost means that the connection was lost, or could not be made. Work in progress may have
	// been done.
	classLost
	// classServer means that the server is out of space or connections, is shutting down, is
	// currently read-only, or currently denies the user access or this operation. Nothing was done;
	// a retry succeeds once the server has been fixed. A server that could never be used is
	// rejected before a store is opened.
	classServer
	// classDamage means that the database does not contain what was written.
	classDamage
	// classRejected means any other error from the server. The same statement fails again.
	classRejected
)

// classify classifies an error by the server's code, or by what happened to the connection.
func classify(err error) class {
	if err == nil {
		return classNone
	}
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return classifyCode(e.Code)
	}
	if errors.Is(err, pgx.ErrTxCommitRollback) {
		return classRejected
	}
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return classLost
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return classLost
	}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) ||
		strings.Contains(err.Error(), "conn closed") {
		return classLost // pgx has no error value for a connection that was already closed
	}
	return classNone
}

// classifyCode classifies the codes of
// https://www.postgresql.org/docs/current/errcodes-appendix.html.
func classifyCode(code string) class {
	switch code {
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return classConflict
	case "25006": // read_only_sql_transaction: a replica, or a primary that has become one
		return classServer
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return classDamage
	case "57014": // query_canceled, by a time limit
		return classServer
	case "42501", "3D000", "42P01":
		// insufficient_privilege; invalid_catalog_name; undefined_table, if the schema cannot be
		// used: each also while a backup is being restored
		return classServer
	case "57P01", "57P02", "57P03", "57P05", "25P03":
		// admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout,
		// idle_in_transaction_session_timeout
		return classLost
	case "55P03": // lock_not_available
		return classServer
	}
	switch code[:min(2, len(code))] {
	case "08": // connection exceptions
		return classLost
	case "28", "53", "58": // invalid authorization, as with a changed password; insufficient resources; system errors
		return classServer
	}
	return classRejected
}

// isConflict reports whether another transaction interfered, so that a retry helps.
func isConflict(err error) bool { return classify(err) == classConflict }

// unavailableError is a temporary error. It matches journal.ErrUnavailable, and also
// journal.ErrFull if there is no space.
type unavailableError struct{ error }

func (e unavailableError) Unwrap() error { return e.error }

// Is implements the interface used by errors.Is.
func (e unavailableError) Is(target error) bool {
	return target == journal.ErrUnavailable || target == journal.ErrFull && isFull(e.error)
}

// isFull reports whether the server's disk was full.
func isFull(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "53100"
}

// explain converts errors of the server and the connection to the types that callers check for.
// Other errors are returned unchanged.
func explain(err error) error {
	if err == nil {
		return nil
	}
	if _, ok := errors.AsType[*journal.RejectedError](err); ok {
		return err
	}
	if _, ok := errors.AsType[*journal.CorruptError](err); ok {
		return err
	}
	if _, ok := errors.AsType[unavailableError](err); ok {
		return err
	}
	if errors.Is(err, puddle.ErrClosedPool) {
		return journal.ErrClosed
	}
	switch classify(err) {
	case classDamage:
		return &journal.CorruptError{Reason: err.Error()}
	case classRejected:
		return &journal.RejectedError{Err: tooLong(err)}
	case classConflict, classLost, classServer:
		return unavailableError{err}
	}
	return err
}

// fault converts an error to the type that callers check for; it returns the error of ctx if ctx
// ended the operation.
func (s *Store) fault(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := ctx.Err(); cause != nil {
		if _, ok := errors.AsType[*pgconn.PgError](err); !ok || classify(err) == classServer {
			return cause
		}
	}
	return explain(err)
}
