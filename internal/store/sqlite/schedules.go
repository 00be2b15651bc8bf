package sqlite

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

func keyOf(r row) journal.ScheduleKey {
	return journal.ScheduleKey{Program: r.text(0), Workflow: r.text(1), Branch: r.text(2), Schedule: r.text(3)}
}

// Registrations implements journal.Schedules.
func (s *Store) Registrations(ctx context.Context) ([]journal.Registration, error) {
	var list []journal.Registration
	err := s.readers.read(ctx, func(c *conn) error {
		list = []journal.Registration{}
		return c.query(ctx, sqlSchedules, func(r row) error {
			list = append(list, journal.Registration{
				ScheduleKey: keyOf(r), Version: int(r.int(4)), Mode: r.text(5), Spec: r.text(6), TimeZone: r.text(7),
				Registered: tables.Time(r[8]), Planned: tables.Time(r[9]),
				CatchUpAfter: tables.Time(r[10]), CatchUpTo: tables.Time(r[11]), Run: r.text(12),
				Asked: tables.Time(r[13]), Refused: tables.Time(r[14]), Refusal: r.text(15),
			})
			return nil
		})
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
	err := s.writer.write(ctx, 0, func(c *conn) error {
		_, err := c.exec(sqlRegister, r.Program, r.Workflow, r.Branch, r.Schedule, r.Version, r.Mode, r.Spec,
			r.TimeZone, tables.Micros(r.Registered), tables.Micros(r.Planned),
			tables.Micros(r.CatchUpAfter), tables.Micros(r.CatchUpTo), r.Run, tables.Micros(r.Asked),
			tables.Micros(r.Refused), r.Refusal)
		return err
	})
	if err != nil {
		return fmt.Errorf("register schedule of workflow %s: %w", r.Workflow, err)
	}
	return nil
}

// Unregister implements journal.Schedules.
func (s *Store) Unregister(ctx context.Context, key journal.ScheduleKey) error {
	err := s.writer.write(ctx, 0, func(c *conn) error {
		_, err := c.exec(sqlUnregister, key.Program, key.Workflow, key.Branch, key.Schedule)
		return err
	})
	if err != nil {
		return fmt.Errorf("unregister schedule of workflow %s: %w", key.Workflow, err)
	}
	return nil
}

// Leader implements journal.Schedules.
func (s *Store) Leader(ctx context.Context, program string) (journal.Owner, bool, error) {
	var found journal.Owner
	err := s.readers.read(ctx, func(c *conn) error {
		found = journal.Owner{}
		r, err := c.one(ctx, sqlLeader, program)
		if r != nil {
			found = journal.Owner{ID: r.text(0), Kind: journal.Kind(r.text(1)), PID: int(r.int(2)), Host: r.text(3),
				Seen: tables.Time(r[4]), Place: r.text(5)}
		}
		return err
	})
	var alive bool
	if err == nil && found.ID != "" {
		alive, err = s.owners.isAlive(found.ID)
	}
	if err != nil {
		return journal.Owner{}, false, fmt.Errorf("look up the process that runs schedules: %w", err)
	}
	return found, alive, nil
}

// Lead implements journal.Schedules. If there is a leader, it writes nothing. Whether the former
// leader is alive is checked outside the transaction: a dead one does not come back, and of several
// that try to replace it the first succeeds.
func (s *Store) Lead(ctx context.Context, program, hung string) (journal.Owner, bool, error) {
	if _, err := s.owners.register(ctx, s.writer); err != nil {
		return journal.Owner{}, false, fmt.Errorf("take the lead of schedules: %w", err)
	}
	self := s.Owner()
	for {
		former, alive, err := s.Leader(ctx, program)
		if alive && (former.ID != hung || hung == self.ID) || err != nil {
			return former, former.ID == self.ID, err
		}
		err = s.writer.write(ctx, 0, func(c *conn) error {
			_, err := c.exec(sqlLead, program, self.ID, string(self.Kind), self.PID, former.ID)
			return err
		})
		if err != nil {
			return journal.Owner{}, false, fmt.Errorf("take the lead of schedules: %w", err)
		}
	}
}
