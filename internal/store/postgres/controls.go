package postgres

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// controlRow is a row of schedule_controls.
type controlRow struct {
	program, workflow, branch, schedule, pausedBy, resumedBy, skippedBy, askedBy []byte
	revision, paused, resumed, skipAfter, skipUntil, asked                       int64
}

func (r *controlRow) columns() []any {
	return []any{
		&r.program, &r.workflow, &r.branch, &r.schedule, &r.revision, &r.paused, &r.pausedBy, &r.resumed, &r.resumedBy,
		&r.skipAfter, &r.skipUntil, &r.skippedBy, &r.asked, &r.askedBy,
	}
}

func (r *controlRow) control() journal.Control {
	return journal.Control{
		ScheduleKey: journal.ScheduleKey{Program: string(r.program), Workflow: string(r.workflow),
			Branch: string(r.branch), Schedule: string(r.schedule)}, Revision: r.revision,
		Paused: tables.TimeOf(r.paused), PausedBy: string(r.pausedBy), Resumed: tables.TimeOf(r.resumed),
		ResumedBy: string(r.resumedBy),
		SkipAfter: tables.TimeOf(r.skipAfter), SkipUntil: tables.TimeOf(r.skipUntil), SkippedBy: string(r.skippedBy),
		Asked: tables.TimeOf(r.asked), AskedBy: string(r.askedBy),
	}
}

// Controls implements journal.Controls.
func (s *Store) Controls(ctx context.Context) ([]journal.Control, error) {
	var r controlRow
	var list []journal.Control
	err := s.query(ctx, sqlControls, nil, r.columns(), func() { list = []journal.Control{} }, func() error {
		list = append(list, r.control())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read controls of schedules: %w", err)
	}
	return list, nil
}

// Control implements journal.Controls.
func (s *Store) Control(ctx context.Context, key journal.ScheduleKey) (journal.Control, error) {
	var r controlRow
	found, err := s.queryRow(ctx, sqlControl, keyColumns(key), r.columns())
	switch {
	case err != nil:
		return journal.Control{}, fmt.Errorf("read control of a schedule of workflow %s: %w", key.Workflow, err)
	case !found:
		return journal.Control{ScheduleKey: key}, nil
	}
	return r.control(), nil
}

// SetControl implements journal.Controls.
func (s *Store) SetControl(ctx context.Context, k journal.Control) error {
	if err := k.Validate(); err != nil {
		return err
	}
	n, err := s.exec(ctx, sqlSetControl, bytesOf(k.Program), bytesOf(k.Workflow), bytesOf(k.Branch),
		bytesOf(k.Schedule), k.Revision+1,
		tables.Micros(k.Paused), bytesOf(k.PausedBy), tables.Micros(k.Resumed), bytesOf(k.ResumedBy),
		tables.Micros(k.SkipAfter), tables.Micros(k.SkipUntil), bytesOf(k.SkippedBy), tables.Micros(k.Asked),
		bytesOf(k.AskedBy))
	if err == nil && n == 0 {
		err = journal.ErrChanged
	}
	if err != nil {
		return fmt.Errorf("control schedule of workflow %s: %w", k.Workflow, err)
	}
	return nil
}
