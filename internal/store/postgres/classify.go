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

// class is what an error means to a caller. All packages that keep tables in the database get errors that were sorted by it (explain).
type class int

const (
	// classNone is no error of server or connection.
	classNone class = iota
	// classConflict: another transaction was in the way. Nothing was done; the same succeeds when it is done again.
	classConflict
	// classLost: the connection was lost, or could not be made. What was under way may have been done.
	classLost
	// classServer: the server has no room, no connections left, shuts down, is read-only now, or does not let the user in or do this now. Nothing was done; the same succeeds when the server has been
	// mended. What never could be used is refused before a store is opened.
	classServer
	// classDamage: the database is not what was written.
	classDamage
	// classRejected: everything else that the server refuses. The same statement fails again.
	classRejected
)

// classify sorts an error by the server's code, or by what happened to the connection.
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
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, net.ErrClosed) || strings.Contains(err.Error(), "conn closed") {
		return classLost // pgx has no value for a connection that was closed before
	}
	return classNone
}

// classifyCode sorts the codes of https://www.postgresql.org/docs/current/errcodes-appendix.html.
func classifyCode(code string) class {
	switch code {
	case "40001", "40P01": // serialization_failure, deadlock_detected
		return classConflict
	case "25006": // read_only_sql_transaction: a replica, or a primary that is one now
		return classServer
	case "XX001", "XX002": // data_corrupted, index_corrupted
		return classDamage
	case "57014": // query_canceled, by a bound of time
		return classServer
	case "42501", "3D000", "42P01": // insufficient_privilege; invalid_catalog_name; undefined_table, where the schema cannot be used: each also while a backup takes the place of a database
		return classServer
	case "57P01", "57P02", "57P03", "57P05", "25P03": // admin_shutdown, crash_shutdown, cannot_connect_now, idle_session_timeout, idle_in_transaction_session_timeout
		return classLost
	case "55P03": // lock_not_available
		return classServer
	}
	switch code[:min(2, len(code))] {
	case "08": // connection exceptions
		return classLost
	case "28", "53", "58": // invalid authorization, as with a password that was changed; insufficient resources; system errors
		return classServer
	}
	return classRejected
}

// isConflict tells whether another transaction was in the way, so that asking again helps.
func isConflict(err error) bool { return classify(err) == classConflict }

// unavailableError is an error that passes by itself. It matches journal.ErrUnavailable, and journal.ErrFull where there is no room.
type unavailableError struct{ error }

func (e unavailableError) Unwrap() error { return e.error }

// Is implements what errors.Is asks for.
func (e unavailableError) Is(target error) bool {
	return target == journal.ErrUnavailable || target == journal.ErrFull && isFull(e.error)
}

// isFull tells whether the server's disk had no room.
func isFull(err error) bool {
	e, ok := errors.AsType[*pgconn.PgError](err)
	return ok && e.Code == "53100"
}

// explain gives the errors of server and connection the types that callers look for. Others stay as they are.
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

// fault gives an error the type that callers look for: ctx's where ctx ended it.
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
