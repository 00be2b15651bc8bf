package postgres

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// all provides transactions on all tables of a store.
type all struct{ store *Store }

// All provides transactions on all tables, including those of the journal, for copying the store.
// They may be arbitrarily long and do not queue with other writers, so nothing else may write to
// the store meanwhile.
func (s *Store) All() tables.DB { return all{s} }

// Settings for the transactions of All. They lift the server's limits on long transactions. Rows
// come in the order of an index, because a sort would write a large run to disk before the first
// row.
const (
	copySettings = "; SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL statement_timeout = 0; SET LOCAL " +
		"lock_timeout = '30s'"
	viewSettings = copySettings + "; SET LOCAL enable_sort = off; SET LOCAL enable_seqscan = off; SET LOCAL " +
		"enable_bitmapscan = off; SET LOCAL jit = off"
)

// View implements tables.DB. do runs once.
func (a all) View(ctx context.Context, do func(tx tables.Tx) error) error {
	return a.lend(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, viewSettings, do)
}

// Write implements tables.DB.
func (a all) Write(ctx context.Context, _ int, do func(tx tables.Tx) error) error {
	return a.store.retryConflicts(ctx, func() error { return a.lend(ctx, pgx.TxOptions{}, copySettings, do) })
}

func (a all) lend(ctx context.Context, o pgx.TxOptions, settings string, do func(tx tables.Tx) error) error {
	if err := a.store.enter(ctx); err != nil {
		return err
	}
	defer a.store.leave()
	return a.store.beginPartTx(ctx, o, settings, func(tx pgx.Tx) error {
		l := &partTx{ctx: ctx, tx: tx}
		if err := do(l); err != nil {
			return err
		}
		return l.flush()
	})
}

// Select implements tables.DB.
func (a all) Select(ctx context.Context, q tables.Text, reset func(), each func(columns []any) error,
	args ...any) error {
	return a.View(ctx, func(tx tables.Tx) error {
		reset()
		return tx.Query(q, each, args...)
	})
}

// Insert implements tables.Tx using COPY.
func (l *partTx) Insert(into tables.Into, next func() ([]any, error)) error {
	if err := l.flush(); err != nil {
		return err
	}
	l.isSent = true
	var given error // error of next, which the server's error hides
	_, err := l.tx.CopyFrom(l.ctx, pgx.Identifier{into.Table}, into.Columns, pgx.CopyFromFunc(func() ([]any, error) {
		row, err := next()
		if err == nil && row != nil {
			row, err = bind(row)
		}
		if e, ok := err.(*tables.TextError); ok && e.What == "" { //nolint:errorlint // it is bind's
			e.What = into.Table + "." + into.Columns[e.Arg]
		}
		given = err
		return row, err
	}))
	if given != nil {
		return given
	}
	return tooLong(err)
}
