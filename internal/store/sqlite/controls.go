package sqlite

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

func controlOf(r row) journal.Control {
	return journal.Control{
		Workflow: r.text(0), Branch: r.text(1), Schedule: r.text(2), Revision: r.int(3), Paused: tables.Time(r[4]), PausedBy: r.text(5),
		Resumed: tables.Time(r[6]), ResumedBy: r.text(7), SkipAfter: tables.Time(r[8]), SkipUntil: tables.Time(r[9]), SkippedBy: r.text(10),
		Asked: tables.Time(r[11]), AskedBy: r.text(12),
	}
}

// Controls implements journal.Controls.
func (s *Store) Controls(ctx context.Context) ([]journal.Control, error) {
	var list []journal.Control
	err := s.readers.read(ctx, func(c *conn) error {
		list = []journal.Control{}
		return c.query(ctx, sqlControls, func(r row) error {
			list = append(list, controlOf(r))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("read controls of schedules: %w", err)
	}
	return list, nil
}

// Control implements journal.Controls.
func (s *Store) Control(ctx context.Context, workflow, branch, schedule string) (journal.Control, error) {
	var found journal.Control
	err := s.readers.read(ctx, func(c *conn) error {
		found = journal.Control{Workflow: workflow, Branch: branch, Schedule: schedule}
		r, err := c.one(ctx, sqlControl, workflow, branch, schedule)
		if r != nil {
			found = controlOf(r)
		}
		return err
	})
	if err != nil {
		return found, fmt.Errorf("read control of a schedule of workflow %s: %w", workflow, err)
	}
	return found, nil
}

// SetControl implements journal.Controls.
func (s *Store) SetControl(ctx context.Context, k journal.Control) error {
	if err := k.Validate(); err != nil {
		return err
	}
	err := s.writer.write(ctx, 0, func(c *conn) error {
		n, err := c.change(sqlSetControl, k.Workflow, k.Branch, k.Schedule, k.Revision+1, tables.Micros(k.Paused), k.PausedBy, tables.Micros(k.Resumed), k.ResumedBy,
			tables.Micros(k.SkipAfter), tables.Micros(k.SkipUntil), k.SkippedBy, tables.Micros(k.Asked), k.AskedBy)
		if err == nil && n == 0 {
			err = journal.ErrChanged
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("control schedule of workflow %s: %w", k.Workflow, err)
	}
	return nil
}
