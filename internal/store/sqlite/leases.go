package sqlite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Owner implements journal.Ownership.
func (s *Store) Owner() journal.Owner {
	s.owners.mu.Lock()
	defer s.owners.mu.Unlock()
	return s.owners.self
}

// Alive implements journal.Ownership.
func (s *Store) Alive(ctx context.Context, owner string) (bool, error) {
	if s.writer.closed.Load() {
		return false, journal.ErrClosed
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return s.owners.isAlive(owner)
}

// Sign implements journal.Ownership.
func (s *Store) Sign(ctx context.Context, at time.Time) error {
	self, err := s.owners.register(ctx, s.writer)
	if err == nil {
		err = s.writer.write(ctx, 0, func(c *conn) error {
			_, err := c.exec(sqlSign, tables.Micros(at), self)
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("store the heartbeat: %w", err)
	}
	return nil
}

// Owners implements journal.Ownership.
func (s *Store) Owners(ctx context.Context) ([]journal.Owner, error) {
	return s.living(ctx, sqlOwners)
}

// living returns the living owners among the rows of a statement.
func (s *Store) living(ctx context.Context, q sqlText) ([]journal.Owner, error) {
	var found []journal.Owner
	err := s.readers.read(ctx, func(c *conn) error {
		found = nil
		return c.query(ctx, q, func(r row) error {
			found = append(found, journal.Owner{ID: r.text(0), Kind: journal.Kind(r.text(1)), PID: int(r.int(2)),
				Host: r.text(3), Seen: tables.Time(r[4]), Place: r.text(5)})
			return nil
		})
	})
	var living []journal.Owner
	for _, o := range found {
		alive, aerr := s.owners.isAlive(o.ID)
		if err = errors.Join(err, aerr); alive {
			living = append(living, o)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("list owners: %w", err)
	}
	return living, nil
}

// Evict implements journal.Ownership.
func (s *Store) Evict(ctx context.Context, run, owner string) error {
	err := s.writer.write(ctx, 0, func(c *conn) error {
		delete(s.writer.memory, run)
		r, err := c.lookUp(sqlHead, run)
		switch {
		case err != nil:
			return err
		case r == nil:
			return refusal{journal.ErrNotFound}
		case r.text(17) == "":
			return nil
		case r.text(17) != owner:
			return refusal{&journal.OwnedError{Run: run, Owner: headOwner(r)}}
		}
		if _, err = c.exec(sqlEvict, formerOwner(journal.Status(r.text(3))), r.int(0), r.int(13),
			r.int(16)); err == nil {
			_, err = c.exec(sqlRequestsChanged)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("take over run %s: %w", run, err)
	}
	s.changes.hub.Signal(journal.OfRequests())
	return nil
}

// headOwner returns the owner in a row of headColumns.
func headOwner(r row) journal.Owner {
	if r.text(17) == "" {
		return journal.Owner{}
	}
	return journal.Owner{ID: r.text(17), Kind: journal.Kind(r.text(18)), PID: int(r.int(19)), Host: r.text(21),
		Seen: tables.Time(r[22]), Place: r.text(24)}
}

// errMoved is returned when the run changed after its owner was read and before it was claimed.
var errMoved = errors.New("owner changed")

// Claim implements journal.Ownership.
func (s *Store) Claim(ctx context.Context, run string) (journal.Head, error) {
	self, err := s.owners.register(ctx, s.writer)
	if err != nil {
		return journal.Head{}, fmt.Errorf("claim run %s: %w", run, err)
	}
	for {
		// Whether the owner is alive is checked outside the transaction. A dead owner does not come
		// back, and another process that claims the run meanwhile changes its epoch.
		seen, err := s.readOwner(ctx, run)
		if err != nil {
			return journal.Head{}, err
		}
		err = s.writer.write(ctx, 0, func(c *conn) error {
			n, err := c.change(sqlClaim, self, seen.id, seen.epoch, seen.number)
			if err == nil && n == 0 {
				return refusal{errMoved}
			}
			if err == nil {
				_, err = c.exec(sqlOwnersChanged)
			}
			return err
		})
		switch {
		case errors.Is(err, errMoved):
			continue
		case err != nil:
			return journal.Head{}, fmt.Errorf("claim run %s: %w", run, err)
		}
		s.changes.hub.Signal(journal.OfRun(run))
		h, err := s.Head(ctx, run)
		h.NotStarted = seen.number == notStarted
		return h, err
	}
}

// ownership is the owner of a run, if that owner is alive or there is none.
type ownership struct {
	id, epoch, number, last int64
}

// readOwner returns a run's owner, or an *OwnedError if the owner is alive.
func (s *Store) readOwner(ctx context.Context, run string) (ownership, error) {
	var r row
	err := s.readers.read(ctx, func(c *conn) (err error) {
		if r, err = c.one(ctx, sqlHead, run); err == nil && r == nil {
			err = journal.ErrNotFound
		}
		return err
	})
	if err != nil {
		return ownership{}, fault("look up owner of run", run, err)
	}
	owner := headOwner(r)
	if owner.ID != "" {
		alive, err := s.owners.isAlive(owner.ID)
		if err != nil {
			return ownership{}, fmt.Errorf("look up owner of run %s: %w", run, err)
		}
		if alive {
			return ownership{}, &journal.OwnedError{Run: run, Owner: owner}
		}
	}
	return ownership{id: r.int(0), epoch: r.int(13), number: r.int(16), last: r.int(14)}, nil
}

// Release implements journal.Ownership.
func (s *Store) Release(ctx context.Context, run string, epoch uint64) error {
	return s.release(ctx, run, epoch, formerOwner)
}

// release releases a run. former returns the value that its head has instead of an owner.
func (s *Store) release(ctx context.Context, run string, epoch uint64, former func(journal.Status) int64) error {
	err := s.writer.write(ctx, 0, func(c *conn) error {
		delete(s.writer.memory, run)
		r, err := c.lookUp(sqlTarget, run)
		if err != nil {
			return err
		}
		if r == nil {
			return refusal{journal.ErrNotFound}
		}
		self := s.owners.number.Load()
		if self == 0 || r.int(2) != self {
			return refusal{journal.ErrFenced}
		}
		n, err := c.change(sqlDisown, former(journal.Status(r.text(6))), r.int(0), epoch, self)
		if err == nil && n == 0 {
			return refusal{journal.ErrFenced}
		}
		if err == nil {
			_, err = c.exec(sqlOwnersChanged)
		}
		if err == nil {
			_, err = c.exec(sqlRequestsChanged)
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("release run %s: %w", run, err)
	}
	s.changes.hub.Signal(journal.OfRun(run), journal.OfRequests())
	return nil
}
