package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
)

// Values that replace the owner in the heads of runs that were released while they could still
// continue.
const (
	waiting    = -2 // to be claimed
	notStarted = -3 // likewise, and no open call has begun
)

// formerOwner returns the value that the head of a run has instead of an owner when the run is
// released.
func formerOwner(status journal.Status) int64 {
	if status.IsActive() {
		return waiting
	}
	return 0
}

// formerOwner returns the value that the head of a run has instead of an owner after an append with
// Release.
func (p *pendingAppend) formerOwner() int64 {
	switch {
	case p.NotStarted:
		return notStarted
	case p.Create != nil:
		return 0
	}
	return formerOwner(p.Status)
}

// candidate is a run that can be claimed, as last read.
type candidate struct {
	run               string
	id, epoch, number int64
}

// ClaimSome implements journal.Dispatch. Claimable runs are looked up outside the transaction,
// which a process without work does not need.
func (s *Store) ClaimSome(ctx context.Context, q journal.ClaimQuery) ([]journal.Head, error) {
	found, err := s.claimable(ctx, q)
	if err == nil && len(found) > 0 {
		found, err = s.claimThese(ctx, found)
	}
	if err != nil {
		return nil, fmt.Errorf("claim runs: %w", err)
	}
	heads := make([]journal.Head, 0, len(found))
	for _, c := range found {
		s.changes.hub.Signal(journal.OfRun(c.run))
		h, err := s.Head(ctx, c.run)
		if err != nil {
			return heads, fmt.Errorf("claim runs: %w", err)
		}
		h.NotStarted = c.number == notStarted
		heads = append(heads, h)
	}
	return heads, nil
}

// claimable returns the runs that match q at the moment.
func (s *Store) claimable(ctx context.Context, q journal.ClaimQuery) (found []candidate, err error) {
	except, err := json.Marshal(append([]string{}, q.Except...))
	if err != nil {
		return nil, err
	}
	dead, err := s.dead(ctx)
	if err != nil || q.Limit <= 0 {
		return nil, err
	}
	take := func(r row) error { //nolint:unparam,nolintlint // as queries call it
		found = append(found, candidate{r.text(0), r.int(1), r.int(2), r.int(3)})
		return nil
	}
	err = s.readers.read(ctx, func(c *conn) error {
		found = nil
		err := c.query(ctx, sqlWaiting, take, string(q.Kind), q.Place, string(except), q.Limit)
		if rest := q.Limit - len(found); err == nil && rest > 0 && dead != "[]" {
			err = c.query(ctx, sqlOrphaned, take, dead, string(q.Kind), q.Place, string(except), rest)
		}
		return err
	})
	return found, err
}

// dead returns the numbers of the owners that are dead, as a JSON list. Dead owners do not come
// back.
func (s *Store) dead(ctx context.Context) (list string, err error) {
	ids := map[int64]string{}
	err = s.readers.read(ctx, func(c *conn) error {
		clear(ids)
		return c.query(ctx, sqlProcesses, func(r row) error {
			ids[r.int(6)] = r.text(0)
			return nil
		})
	})
	if err != nil {
		return "", err
	}
	numbers := []int64{}
	for n, id := range ids {
		alive, err := s.owners.isAlive(id)
		if err != nil {
			return "", err
		}
		if !alive {
			numbers = append(numbers, n)
		}
	}
	b, err := json.Marshal(numbers)
	return string(b), err
}

// claimThese makes the handle the owner of the candidates that no other process claimed meanwhile,
// and returns them.
func (s *Store) claimThese(ctx context.Context, found []candidate) (claimed []candidate, err error) {
	self, err := s.owners.register(ctx, s.writer)
	if err != nil {
		return nil, err
	}
	err = s.writer.write(ctx, 0, func(c *conn) error {
		claimed = nil
		for _, one := range found {
			n, err := c.change(sqlClaim, self, one.id, one.epoch, one.number)
			if err != nil {
				return err
			}
			if n > 0 {
				claimed = append(claimed, one)
			}
		}
		_, err := c.exec(sqlOwnersChanged)
		return err
	})
	return claimed, err
}

// Return implements journal.Dispatch.
func (s *Store) Return(ctx context.Context, run string, epoch uint64) error {
	return s.release(ctx, run, epoch, func(journal.Status) int64 { return notStarted })
}

// Move implements journal.Dispatch.
func (s *Store) Move(ctx context.Context, run, place string) error {
	err := journal.CheckPlace(place)
	if err == nil {
		err = s.writer.write(ctx, 0, func(c *conn) error {
			n, err := c.change(sqlPlace, place, run)
			if err == nil && n == 0 {
				return refusal{journal.ErrNotFound}
			}
			if err == nil {
				_, err = c.exec(sqlOwnersChanged)
			}
			if err == nil {
				_, err = c.exec(sqlRequestsChanged)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("move run %s: %w", run, err)
	}
	s.changes.hub.Signal(journal.OfRun(run), journal.OfRequests())
	return nil
}

// Processes implements journal.Dispatch.
func (s *Store) Processes(ctx context.Context) ([]journal.Owner, error) {
	return s.living(ctx, sqlProcesses)
}
