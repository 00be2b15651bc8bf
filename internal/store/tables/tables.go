package tables

import (
	"context"
	"errors"
	"strings"
)

// Text is SQL. A constant is one by itself; a text that was built converts to it only explicitly, and a test forbids that (SEC7). Its places for arguments are ?. An @
// before the name of a table means nothing in a transaction; a statement of [DB.Select] has one before each.
type Text string

// Plain gives q without @.
func (q Text) Plain() Text {
	if strings.IndexByte(string(q), '@') < 0 {
		return q
	}
	return Text(strings.ReplaceAll(string(q), "@", ""))
}

// Raw is an argument for a column that keeps any bytes: bytea in PostgreSQL, whose text has no NUL and only valid UTF-8, and TEXT in SQLite. [String] reads it.
type Raw string

// Dialect is a kind of SQL, for the few statements that are not the same in all.
type Dialect int

// The dialects.
const (
	SQLite Dialect = iota
	Postgres
)

// Pick gives the statement of a dialect.
func (d Dialect) Pick(sqlite, postgres Text) Text {
	if d == Postgres {
		return postgres
	}
	return sqlite
}

// Tx is a transaction that is lent. It must not be used after the function that it was given to has returned, nor by another goroutine.
type Tx interface {
	// Exec runs a statement and tells how many rows it changed. Arguments are int, int64, float64, string, Raw, []byte (nil is an empty blob) and nil, which is NULL. A transaction of View
	// refuses statements that write. Errors: *TextError, where nothing was done.
	Exec(q Text, args ...any) (int64, error)
	// Do is Exec for a statement whose count is not needed. It may be sent with the statements that follow, whose error is then that of either. Errors: *TextError at once.
	Do(q Text, args ...any) error
	// Query calls each for every row. Columns are int64, float64, string, []byte and nil; a truth value is 0 or 1. The slice is each's only during the call, what it holds for ever. each
	// must not use the transaction.
	Query(q Text, each func(columns []any) error, args ...any) error
	// Insert adds rows in the fastest way that the store has. next gives one after another, in a slice that is its own, and nil after the last. Values are arguments of Exec, or truth
	// values. Errors: next's, as they are; *TextError, which names the column.
	Insert(into Into, next func() ([]any, error)) error
	// Dialect is that of the store.
	Dialect() Dialect
}

// Into is where rows are added.
type Into struct {
	Table   string
	Columns []string
	// One adds one row. It has a place for each of Columns.
	One Text
}

// DB lends transactions of a store. Safe for concurrent use.
type DB interface {
	// Write runs do inside a transaction that writes, in turn with all other writers of the same tables, in this process and others, and returns after its commit. An error of do rolls
	// back what it did. bytes is about how much do writes. do may run again from its beginning: what it keeps outside must not add up.
	//
	// A done ctx takes the call back as long as its turn has not come; after that the outcome is waited for. Errors: do's, journal.ErrClosed, ctx's, *journal.CorruptError, and those that
	// match journal.ErrUnavailable.
	Write(ctx context.Context, bytes int, do func(tx Tx) error) error
	// View runs do inside a transaction that reads: do sees one state of the store, and never waits for writers. do may run again from its beginning. Errors: as for Write.
	View(ctx context.Context, do func(tx Tx) error) error
	// Select runs one statement that reads, as a View of it would in fewer steps. each may be called again from the first row on, after reset. Errors: as for Write.
	Select(ctx context.Context, q Text, reset func(), each func(columns []any) error, args ...any) error
}

// TextError says that a store cannot keep a text. Nothing was done.
type TextError struct {
	// Arg is the position of the argument, -1 where it is not known. What names the text or its table: `agent_workflow_nodes.prompt`; "" where it is not known.
	Arg    int
	What   string
	Reason string
}

// IsAbsent tells whether an error says that a text of a query cannot be in the store: nothing is found by it.
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
