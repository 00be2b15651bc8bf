package sqlite

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
)

// slot is a row of slots.
type slot struct {
	id, max  int64
	name     string
	admitted bool
}

// Queue implements journal.Slots.
func (s *Store) Queue(ctx context.Context, q journal.Slot) (t journal.Turn, err error) {
	if err := q.Validate(); err != nil {
		return t, err
	}
	self, err := s.owners.register(ctx, s.writer)
	dead := "" // an owner that dies from now on counts as alive a little longer
	if err == nil {
		dead, err = s.dead(ctx)
	}
	if err == nil {
		err = s.writer.write(ctx, 0, func(c *conn) (err error) {
			t, err = enqueue(ctx, c, q, self, dead)
			return err
		})
	}
	if err != nil {
		return journal.Turn{}, fmt.Errorf("ask for a slot of run %s: %w", q.Run, err)
	}
	return t, nil
}

// enqueue adds a run to its queue inside a transaction.
func enqueue(ctx context.Context, c *conn, q journal.Slot, self int64, dead string) (t journal.Turn, err error) {
	r, err := c.lookUp(sqlSlotKept, q.Run, dead)
	if err == nil && r != nil {
		err = refusal{journal.ErrExists}
	}
	if err != nil {
		return t, err
	}
	if _, err := c.exec(sqlDropSlot, q.Run); err != nil {
		return t, err
	}
	if _, err := c.exec(sqlNewSlot, q.Name, q.Run, q.Max, self); err != nil {
		return t, err
	}
	t, err = admit(ctx, c, q.Run, dead)
	if err == nil && !t.Admitted && q.OnlyFree {
		_, err = c.exec(sqlDropSlot, q.Run)
	}
	return t, err
}

// slotOf looks up the row of a run.
func slotOf(c *conn, run string) (slot, error) {
	r, err := c.lookUp(sqlSlot, run)
	if err == nil && r == nil {
		err = refusal{journal.ErrNotFound}
	}
	if err != nil {
		return slot{}, err
	}
	return slot{id: r.int(0), name: r.text(1), max: r.int(2), admitted: r.int(3) != 0}, nil
}

// turn returns the position of a slot, and what blocks it.
func (q slot) turn(ctx context.Context, c *conn, dead string) (t journal.Turn, err error) {
	t.Admitted = q.admitted
	err = c.query(ctx, sqlSlotsHeld, func(r row) error {
		t.Busy = append(t.Busy, r.text(0))
		return nil
	}, q.name, q.id, dead)
	if err == nil && !q.admitted {
		err = c.query(ctx, sqlBehind, func(r row) error {
			t.Behind = r.text(0)
			return nil
		}, q.name, q.id, dead, dead)
	}
	return t, err
}

// Admit implements journal.Slots. Whether other runs are ahead is determined without a write.
func (s *Store) Admit(ctx context.Context, run string) (t journal.Turn, err error) {
	dead, err := s.dead(ctx)
	isFree := false
	if err == nil {
		err = s.readers.read(ctx, func(c *conn) error {
			q, err := slotOf(c, run)
			if err == nil {
				t, err = q.turn(ctx, c, dead)
			}
			isFree = q.isFree(t)
			return err
		})
	}
	if err == nil && isFree {
		err = s.writer.write(ctx, 0, func(c *conn) (err error) {
			t, err = admit(ctx, c, run, dead)
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

// admit assigns a slot to a run if it may have one, inside a transaction.
func admit(ctx context.Context, c *conn, run, dead string) (t journal.Turn, err error) {
	q, err := slotOf(c, run)
	if err == nil {
		t, err = q.turn(ctx, c, dead)
	}
	if err != nil || !q.isFree(t) {
		return t, err
	}
	t.Admitted = true
	if _, err = c.exec(sqlAdmit, q.id); err == nil {
		_, err = c.exec(sqlDropSlots, q.name, q.id, dead)
	}
	return t, err
}

// Turn implements journal.Slots.
func (s *Store) Turn(ctx context.Context, run string) (t journal.Turn, err error) {
	dead, err := s.dead(ctx)
	if err == nil {
		err = s.readers.read(ctx, func(c *conn) error {
			q, err := slotOf(c, run)
			if err == nil {
				t, err = q.turn(ctx, c, dead)
			}
			if err != nil || t.Behind == "" {
				return err
			}
			return c.query(ctx, sqlBefore, func(r row) error {
				t.Before = int(r.int(0))
				return nil
			}, q.name, q.id, dead, dead)
		})
	}
	if err != nil {
		return journal.Turn{}, fmt.Errorf("look for the slot of run %s: %w", run, err)
	}
	return t, nil
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
	err := s.writer.write(ctx, 0, func(c *conn) error {
		_, err := c.exec(q, run)
		return err
	})
	if err != nil {
		return fmt.Errorf("change the slot of run %s: %w", run, err)
	}
	s.changes.hub.Signal(journal.OfRun(run))
	return nil
}
