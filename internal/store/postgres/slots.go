package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/journal"
)

// slot is a row of slots.
type slot struct {
	id, max  int64
	name     []byte
	admitted bool
}

// Queue implements journal.Slots.
func (s *Store) Queue(ctx context.Context, q journal.Slot) (t journal.Turn, err error) {
	if err := q.Validate(); err != nil {
		return t, err
	}
	self, err := s.register(ctx)
	if err == nil {
		err = s.inTurn(ctx, bytesOf(q.Name), func(tx pgx.Tx) (err error) {
			t, err = s.enqueue(ctx, tx, q, self)
			return err
		})
	}
	if err != nil {
		return journal.Turn{}, fmt.Errorf("ask for a slot of run %s: %w", q.Run, err)
	}
	return t, nil
}

// enqueue adds a run to its queue inside a transaction. If another transaction does the same at the
// same time, one of them violates the index of runs and is repeated.
func (s *Store) enqueue(ctx context.Context, tx pgx.Tx, q journal.Slot, self int64) (t journal.Turn, err error) {
	var isKept bool
	run := bytesOf(q.Run)
	switch err := tx.QueryRow(ctx, s.text(sqlSlotKept), run).Scan(&isKept); {
	case err == nil:
		return t, journal.ErrExists
	case !errors.Is(err, pgx.ErrNoRows):
		return t, err
	}
	if _, err := tx.Exec(ctx, s.text(sqlDropSlot), run); err != nil {
		return t, err
	}
	if _, err := tx.Exec(ctx, s.text(sqlNewSlot), bytesOf(q.Name), run, q.Max, self); err != nil {
		return t, err
	}
	t, err = s.admit(ctx, tx, q.Run)
	if err == nil && !t.Admitted && q.OnlyFree {
		_, err = tx.Exec(ctx, s.text(sqlDropSlot), run)
	}
	return t, err
}

// inTurn runs do in a transaction that has exclusive access to the queue of a name.
func (s *Store) inTurn(ctx context.Context, name []byte, do func(tx pgx.Tx) error) error {
	return s.retryConflicts(ctx, func() error {
		return s.Tx(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, s.text(sqlSlotTurn), name); err != nil {
				return err
			}
			return do(tx) // with its own snapshot, which includes what earlier transactions stored
		})
	})
}

// querier is a transaction or the pool.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// slotOf looks up the row of a run.
func (s *Store) slotOf(ctx context.Context, c querier, run string) (q slot, err error) {
	err = c.QueryRow(ctx, s.text(sqlSlot), bytesOf(run)).Scan(&q.id, &q.name, &q.max, &q.admitted)
	if errors.Is(err, pgx.ErrNoRows) {
		err = journal.ErrNotFound
	}
	return q, err
}

// turnOf returns the position of a slot, and what blocks it.
func (s *Store) turnOf(ctx context.Context, c querier, q slot) (t journal.Turn, err error) {
	t.Admitted = q.admitted
	rows, err := c.Query(ctx, s.text(sqlSlotsHeld), q.name, q.id)
	if err == nil {
		var run []byte
		_, err = pgx.ForEachRow(rows, []any{&run}, func() error {
			t.Busy = append(t.Busy, string(run))
			return nil
		})
	}
	if err != nil || q.admitted {
		return t, err
	}
	var run []byte
	err = c.QueryRow(ctx, s.text(sqlBehind), q.name, q.id).Scan(&run)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	t.Behind = string(run)
	return t, err
}

// Admit implements journal.Slots. Whether other runs are ahead is determined without locking the
// queue.
func (s *Store) Admit(ctx context.Context, run string) (t journal.Turn, err error) {
	q, err := s.slot(ctx, run)
	if err == nil {
		t, err = s.lookupTurn(ctx, run, false)
	}
	if err == nil && q.isFree(t) {
		err = s.inTurn(ctx, q.name, func(tx pgx.Tx) (err error) {
			t, err = s.admit(ctx, tx, run)
			return err
		})
	}
	if err != nil {
		return journal.Turn{}, fmt.Errorf("ask for a slot of run %s: %w", run, err)
	}
	return t, nil
}

// isFree reports whether the run gets a slot.
func (q slot) isFree(t journal.Turn) bool {
	return !q.admitted && t.Behind == "" && int64(len(t.Busy)) < q.max
}

// admit assigns a slot to a run if it may have one, inside a transaction that has exclusive access
// to the queue.
func (s *Store) admit(ctx context.Context, tx pgx.Tx, run string) (t journal.Turn, err error) {
	q, err := s.slotOf(ctx, tx, run)
	if err == nil {
		t, err = s.turnOf(ctx, tx, q)
	}
	if err != nil || !q.isFree(t) {
		return t, err
	}
	t.Admitted = true
	if _, err = tx.Exec(ctx, s.text(sqlAdmit), q.id); err == nil {
		_, err = tx.Exec(ctx, s.text(sqlDropSlots), q.name, q.id)
	}
	return t, err
}

// slot looks up the row of a run outside a transaction.
func (s *Store) slot(ctx context.Context, run string) (q slot, err error) {
	found, err := s.queryRow(ctx, sqlSlot, []any{bytesOf(run)}, []any{&q.id, &q.name, &q.max, &q.admitted})
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	return q, err
}

// Turn implements journal.Slots.
func (s *Store) Turn(ctx context.Context, run string) (journal.Turn, error) {
	t, err := s.lookupTurn(ctx, run, true)
	if err != nil {
		return journal.Turn{}, fmt.Errorf("look for the slot of run %s: %w", run, err)
	}
	return t, nil
}

// lookupTurn returns the position of a run; if count is set, also how many runs are ahead of it.
func (s *Store) lookupTurn(ctx context.Context, run string, count bool) (t journal.Turn, err error) {
	err = s.Tx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly, IsoLevel: pgx.RepeatableRead}, func(tx pgx.Tx) error {
		q, err := s.slotOf(ctx, tx, run)
		if err == nil {
			t, err = s.turnOf(ctx, tx, q)
		}
		if err != nil || t.Behind == "" || !count {
			return err
		}
		return tx.QueryRow(ctx, s.text(sqlBefore), q.name, q.id).Scan(&t.Before)
	})
	return t, err
}

// Confirm implements journal.Slots.
func (s *Store) Confirm(ctx context.Context, run string) error {
	return s.setSlot(ctx, sqlConfirm, run)
}

// Unqueue implements journal.Slots.
func (s *Store) Unqueue(ctx context.Context, run string) error {
	return s.setSlot(ctx, sqlDropSlot, run)
}

func (s *Store) setSlot(ctx context.Context, q sqlText, run string) error {
	if _, err := s.exec(ctx, q, bytesOf(run)); err != nil {
		return fmt.Errorf("change the slot of run %s: %w", run, err)
	}
	s.changes.stored(journal.OfRun(run))
	return nil
}
