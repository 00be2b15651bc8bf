package tables

import (
	"context"
	"errors"
	"strings"
)

// Text is SQL. A constant converts to it implicitly; a computed string converts only explicitly,
// and a test forbids that (SEC7). Its placeholders for arguments are ?. An @ before the name of a
// table has no effect in a transaction; a statement for [DB.Select] has one before each table name.
type Text string

// Plain returns q without @.
func (q Text) Plain() Text {
	if strings.IndexByte(string(q), '@') < 0 {
		return q
	}
	return Text(strings.ReplaceAll(string(q), "@", ""))
}

// Raw is an argument for a column that can contain any bytes: bytea in PostgreSQL, whose text type
// allows no NUL and only valid UTF-8, and TEXT in SQLite. [String] reads it.
type Raw string

// Dialect is an SQL dialect, for the few statements that are not the same in all.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	Postgres
)

// Pick returns the statement for the dialect.
func (d Dialect) Pick(sqlite, postgres Text) Text {
	if d == Postgres {
		return postgres
	}
	return sqlite
}

// Tx is a transaction provided to a function. It must not be used after that function has returned,
// nor by another goroutine.
type Tx interface {
	// Exec runs a statement and returns how many rows it changed. Arguments are int, int64,
	// float64, string, Raw, []byte (nil is an empty blob) and nil, which is NULL. A transaction of
	// View rejects statements that write. If the error is *TextError, nothing was done.
	Exec(q Text, args ...any) (int64, error)
	// Do is like Exec, for a statement whose count is not needed. It may be sent along with the
	// following statements, whose errors may then stem from it. A *TextError is returned
	// immediately.
	Do(q Text, args ...any) error
	// Query calls each for every row. Columns are int64, float64, string, []byte and nil; a boolean
	// is 0 or 1. The slice is valid only during the call, but its values remain valid. each must
	// not use the transaction.
	Query(q Text, each func(columns []any) error, args ...any) error
	// Insert adds rows in the store's fastest way. next returns one row after another, in a slice
	// that it owns, and nil after the last. Values are arguments of Exec, or booleans. Errors of
	// next are returned unchanged; a *TextError names the column.
	Insert(into Into, next func() ([]any, error)) error
	// Dialect returns the dialect of the store.
	Dialect() Dialect
}

// Into is the destination of added rows.
type Into struct {
	Table   string
	Columns []string
	// One adds one row. It has a placeholder for each of Columns.
	One Text
}

// DB provides transactions of a store. It is safe for concurrent use.
type DB interface {
	// Write runs do inside a writing transaction, queued with all other writers of the same tables,
	// in this process and others, and returns after its commit. If do returns an error, its changes
	// are rolled back. bytes is the approximate amount of data that do writes. do may run again
	// from the start, so its side effects outside the transaction must not accumulate.
	//
	// If ctx is done, the call is withdrawn as long as its turn has not come; after that Write
	// waits for the outcome. Errors are those of do and ctx, journal.ErrClosed,
	// *journal.CorruptError, and errors that match journal.ErrUnavailable.
	Write(ctx context.Context, bytes int, do func(tx Tx) error) error
	// View runs do inside a reading transaction: do sees one state of the store, and never waits
	// for writers. do may run again from the start. Errors are as for Write.
	View(ctx context.Context, do func(tx Tx) error) error
	// Select runs one reading statement, like a View with just that statement but in fewer steps.
	// each may be called again from the first row on, after reset. Errors are as for Write.
	Select(ctx context.Context, q Text, reset func(), each func(columns []any) error, args ...any) error
}

// TextError is returned when a store cannot store a text. Nothing was done.
type TextError struct {
	// Arg is the position of the argument, or -1 if it is unknown. What names the text or its
	// column, such as `agent_workflow_nodes.prompt`; it is "" if unknown.
	Arg    int
	What   string
	Reason string
}

// IsAbsent reports whether an error means that a text in a query cannot be in the store, so that
// the query matches nothing.
func IsAbsent(err error) bool {
	_, ok := errors.AsType[*TextError](err)
	return ok
}

func (e *TextError) Error() string {
	if e.What == "" {
		return "a text " + e.Reason
	}
	return "the text of " + e.What + " " + e.Reason
}
