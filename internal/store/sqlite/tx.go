package sqlite

import (
	"context"
	"fmt"
)

// Text is SQL of a room that keeps tables of its own in the file. A constant is one by itself; a text that was built converts only explicitly, and
// a test of that room must forbid it (SEC7).
type Text = sqlText

// Tx is a transaction that is lent. It must not be used after the function that it was given to has returned, nor by another goroutine.
type Tx struct {
	ctx context.Context //nolint:containedctx,nolintlint // it lives as long as the call that it came with
	c   *conn
}

// Exec runs a statement and tells how many rows it changed. Arguments are int, int64, float64, string, []byte (nil is an empty blob) and nil, which
// is NULL. A read-only Tx refuses statements that write.
func (t Tx) Exec(q Text, args ...any) (int64, error) { return t.c.change(q, args...) }

// Query calls each for every row. Columns are int64, float64, string, []byte and nil; the slice is each's only during the call, what it holds for
// ever.
func (t Tx) Query(q Text, each func(columns []any) error, args ...any) error {
	var columns []any
	return t.c.query(t.ctx, q, func(r row) error {
		columns = columns[:0]
		for _, v := range r {
			columns = append(columns, v)
		}
		return each(columns)
	}, args...)
}

// Write runs do inside a transaction that writes, in turn with all other writers of the file, in this process and others, and returns after its
// commit. An error of do rolls back what it did. bytes is about how much do writes. do may run twice: what it keeps outside must not add up.
//
// A done ctx takes the call back as long as its turn has not come; after that the outcome is waited for. No SQLITE_BUSY comes out. Errors: do's,
// journal.ErrClosed, ctx's, *journal.CorruptError.
func (s *Store) Write(ctx context.Context, bytes int, do func(tx Tx) error) error {
	err := s.writer.write(ctx, bytes, func(c *conn) error {
		tx := Tx{always, c} // others share the transaction: no caller may end it
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
		return refusal{explain(err)} // nothing is left of it: the others in the batch commit
	})
	return err
}

// View runs do inside a transaction that reads: do sees one state of the store, and never waits for writers. do may run again from its beginning.
// Errors: do's, journal.ErrClosed, ctx's, *journal.CorruptError.
func (s *Store) View(ctx context.Context, do func(tx Tx) error) error {
	return s.readers.read(ctx, func(c *conn) error { return do(Tx{ctx, c}) })
}
