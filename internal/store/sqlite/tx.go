package sqlite

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// lentTx is a transaction provided to a caller.
type lentTx struct {
	ctx context.Context //nolint:containedctx,nolintlint // it lives as long as the call that it came with
	c   *conn
}

// Exec implements tables.Tx.
func (t lentTx) Exec(q tables.Text, args ...any) (int64, error) { return t.c.change(q, args...) }

// Do implements tables.Tx.
func (t lentTx) Do(q tables.Text, args ...any) error {
	_, err := t.c.change(q, args...)
	return err
}

// Query implements tables.Tx.
func (t lentTx) Query(q tables.Text, each func(columns []any) error, args ...any) error {
	return t.rows(q, each, args)
}

func (t lentTx) rows(q tables.Text, each func(columns []any) error, args []any) error {
	var columns []any
	return t.c.query(t.ctx, q.Plain(), func(r row) error {
		columns = columns[:0]
		for _, v := range r {
			columns = append(columns, v)
		}
		return each(columns)
	}, args...)
}

// Insert implements tables.Tx.
func (t lentTx) Insert(into tables.Into, next func() ([]any, error)) error {
	for {
		row, err := next()
		if err != nil || row == nil {
			return err
		}
		if _, err := t.c.exec(into.One, row...); err != nil {
			return err
		}
	}
}

// Dialect implements tables.Tx.
func (lentTx) Dialect() tables.Dialect { return tables.SQLite }

// Write runs do inside a writing transaction, queued with all other writers of the file, in this
// process and others, and returns after its commit. If do returns an error, its changes are rolled
// back. bytes is the approximate amount of data that do writes. do may run twice, so its side
// effects outside the transaction must not accumulate.
//
// If ctx is done, the call is withdrawn as long as its turn has not come; after that Write waits
// for the outcome. It never returns SQLITE_BUSY. Errors are those of do and ctx, journal.ErrClosed
// and *journal.CorruptError.
func (s *Store) Write(ctx context.Context, bytes int, do func(tx tables.Tx) error) error {
	err := s.writer.write(ctx, bytes, func(c *conn) error {
		tx := lentTx{background, c} // others share the transaction: no caller may end it
		if _, err := c.exec(sqlSavepoint); err != nil {
			return err
		}
		err := do(tx)
		if err == nil {
			_, err = c.exec(sqlReleaseSavepoint)
			return err
		}
		for _, q := range []sqlText{sqlRollbackTo, sqlReleaseSavepoint} {
			if _, back := c.exec(q); back != nil {
				return fmt.Errorf("%w; roll back: %w", err, back)
			}
		}
		return refusal{explain(err)} // its changes are undone: the others in the batch commit
	})
	return err
}

// View runs do inside a reading transaction: do sees one state of the store, and never waits for
// writers. do may run again from the start. Errors are those of do and ctx, journal.ErrClosed and
// *journal.CorruptError.
func (s *Store) View(ctx context.Context, do func(tx tables.Tx) error) error {
	return s.readers.read(ctx, func(c *conn) error { return do(lentTx{ctx, c}) })
}

// Select implements tables.DB.
func (s *Store) Select(ctx context.Context, q tables.Text, reset func(), each func(columns []any) error,
	args ...any) error {
	return s.readers.read(ctx, func(c *conn) error {
		reset()
		return lentTx{ctx, c}.rows(q, each, args)
	})
}
