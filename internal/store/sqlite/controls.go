package sqlite

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

func controlOf(r row) journal.Control {
	return journal.Control{
		ScheduleKey: keyOf(r), Revision: r.int(4), Paused: tables.Time(r[5]), PausedBy: r.text(6),
		Resumed: tables.Time(r[7]), ResumedBy: r.text(8), SkipAfter: tables.Time(r[9]), SkipUntil: tables.Time(r[10]),
		SkippedBy: r.text(11),
		Asked:     tables.Time(r[12]), AskedBy: r.text(13),
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
func (s *Store) Control(ctx context.Context, key journal.ScheduleKey) (journal.Control, error) {
	var found journal.Control
	err := s.readers.read(ctx, func(c *conn) error {
		found = journal.Control{ScheduleKey: key}
		r, err := c.one(ctx, sqlControl, key.Program, key.Workflow, key.Branch, key.Schedule)
		if r != nil {
			found = controlOf(r)
		}
		return err
	})
	if err != nil {
		return found, fmt.Errorf("read control of a schedule of workflow %s: %w", key.Workflow, err)
	}
	return found, nil
}

// SetControl implements journal.Controls.
func (s *Store) SetControl(ctx context.Context, k journal.Control) error {
	if err := k.Validate(); err != nil {
		return err
	}
	err := s.writer.write(ctx, 0, func(c *conn) error {
		n, err := c.change(sqlSetControl, k.Program, k.Workflow, k.Branch, k.Schedule, k.Revision+1,
			tables.Micros(k.Paused), k.PausedBy, tables.Micros(k.Resumed), k.ResumedBy,
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
