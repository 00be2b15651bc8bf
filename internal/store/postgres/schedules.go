package postgres

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

func keyColumns(k journal.ScheduleKey) []any {
	return []any{bytesOf(k.Program), bytesOf(k.Workflow), bytesOf(k.Branch), bytesOf(k.Schedule)}
}

// Registrations implements journal.Schedules.
func (s *Store) Registrations(ctx context.Context) ([]journal.Registration, error) {
	var program, workflow, branch, schedule, mode, spec, zone, run, refusal []byte
	var version, registered, planned, after, to, asked, refused int64
	var list []journal.Registration
	columns := []any{&program, &workflow, &branch, &schedule, &version, &mode, &spec, &zone, &registered, &planned,
		&after, &to, &run, &asked, &refused, &refusal}
	err := s.query(ctx, sqlSchedules, nil, columns, func() { list = []journal.Registration{} }, func() error {
		list = append(list, journal.Registration{
			ScheduleKey: journal.ScheduleKey{Program: string(program), Workflow: string(workflow),
				Branch: string(branch), Schedule: string(schedule)}, Version: int(version), Mode: string(mode),
			Spec: string(spec), TimeZone: string(zone),
			Registered: tables.TimeOf(registered), Planned: tables.TimeOf(planned), CatchUpAfter: tables.TimeOf(after),
			CatchUpTo: tables.TimeOf(to), Run: string(run),
			Asked: tables.TimeOf(asked), Refused: tables.TimeOf(refused), Refusal: string(refusal),
		})
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	return list, nil
}

// Register implements journal.Schedules.
func (s *Store) Register(ctx context.Context, r journal.Registration) error {
	if err := r.Validate(); err != nil {
		return err
	}
	_, err := s.exec(ctx, sqlRegister, bytesOf(r.Program), bytesOf(r.Workflow), bytesOf(r.Branch), bytesOf(r.Schedule),
		r.Version, bytesOf(r.Mode), bytesOf(r.Spec), bytesOf(r.TimeZone),
		tables.Micros(r.Registered), tables.Micros(r.Planned), tables.Micros(r.CatchUpAfter),
		tables.Micros(r.CatchUpTo), bytesOf(r.Run), tables.Micros(r.Asked), tables.Micros(r.Refused),
		bytesOf(r.Refusal))
	if err != nil {
		return fmt.Errorf("register schedule of workflow %s: %w", r.Workflow, err)
	}
	return nil
}

// Unregister implements journal.Schedules.
func (s *Store) Unregister(ctx context.Context, key journal.ScheduleKey) error {
	if _, err := s.exec(ctx, sqlUnregister, keyColumns(key)...); err != nil {
		return fmt.Errorf("unregister schedule of workflow %s: %w", key.Workflow, err)
	}
	return nil
}

// Leader implements journal.Schedules.
func (s *Store) Leader(ctx context.Context, program string) (journal.Owner, bool, error) {
	var o ownerRow
	var alive bool
	if _, err := s.queryRow(ctx, sqlLeader, []any{bytesOf(program)}, append(o.columns(), &alive)); err != nil {
		return journal.Owner{}, false, fmt.Errorf("look up the process that runs schedules: %w", err)
	}
	return o.owner(), alive, nil
}

// Lead implements journal.Schedules. If there is a leader, it writes nothing.
func (s *Store) Lead(ctx context.Context, program, hung string) (journal.Owner, bool, error) {
	self, err := s.register(ctx)
	if err != nil {
		return journal.Owner{}, false, fmt.Errorf("take the lead of schedules: %w", err)
	}
	for n := 0; ; n++ {
		leader, alive, err := s.Leader(ctx, program)
		if alive && (leader.ID != hung || hung == s.owner.self.ID) || err != nil {
			return leader, leader.ID == s.owner.self.ID, err
		}
		if leader.ID == s.owner.self.ID { // it is the leader, and its session is lost
			if err = s.fault(ctx, s.db.session.check(ctx)); err == nil {
				err = backoffSleep(ctx, n)
			}
			if err != nil {
				return journal.Owner{}, false, fmt.Errorf("take the lead of schedules: %w", err)
			}
		}
		if _, err := s.exec(ctx, sqlLead, self, leader.ID, bytesOf(program)); err != nil {
			return journal.Owner{}, false, fmt.Errorf("take the lead of schedules: %w", err)
		}
	}
}
