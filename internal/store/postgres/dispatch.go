package postgres

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
)

// Values that replace the owner in the heads of runs that were released while they could still
// continue.
const (
	waiting    = -2 // to be claimed
	notStarted = -3 // likewise, and no open call has begun
)

// formerOwner returns the value that the head of a run has instead of an owner after an append with
// Release.
func (p *pending) formerOwner() int64 {
	switch {
	case p.NotStarted:
		return notStarted
	case p.Status.IsActive() && p.Create == nil:
		return waiting
	}
	return 0
}

// claim runs a claim statement, whose first argument is the owner, and returns the heads.
func (s *Store) claim(ctx context.Context, q sqlText, args ...any) ([]journal.Head, error) {
	self, err := s.register(ctx)
	if err != nil {
		return nil, err
	}
	var e entry
	var isNotStarted bool
	var found []journal.Head
	var topics []journal.Topic
	err = s.execReturning(ctx, q, append([]any{self}, args...), append(e.columns(), &isNotStarted), func() error {
		h, err := e.head()
		h.Interrupted, h.NotStarted = false, isNotStarted // the owner is alive: this process
		found, topics = append(found, h), append(topics, journal.OfRun(h.Run))
		return err
	})
	if len(found) > 0 {
		s.changes.stored(topics...)
	}
	return found, err
}

// ClaimSome implements journal.Dispatch.
func (s *Store) ClaimSome(ctx context.Context, q journal.ClaimQuery) ([]journal.Head, error) {
	except := make([][]byte, len(q.Except))
	for i, run := range q.Except {
		except[i] = bytesOf(run)
	}
	heads, err := s.claim(ctx, sqlClaimSome, bytesOf(q.Kind), bytesOf(q.Place), except, max(q.Limit, 0))
	if err != nil {
		return nil, fmt.Errorf("claim runs: %w", err)
	}
	return heads, nil
}

// Return implements journal.Dispatch.
func (s *Store) Return(ctx context.Context, run string, epoch uint64) error {
	return s.release(ctx, sqlReturn, run, epoch)
}

// Move implements journal.Dispatch.
func (s *Store) Move(ctx context.Context, run, place string) error {
	err := journal.CheckPlace(place)
	if err == nil {
		var n int64
		if n, err = s.exec(ctx, sqlPlace, bytesOf(run), bytesOf(place)); err == nil && n == 0 {
			err = journal.ErrNotFound
		}
	}
	if err != nil {
		return fmt.Errorf("move run %s: %w", run, err)
	}
	s.changes.stored(journal.OfRun(run), journal.OfRequests())
	return nil
}

// Processes implements journal.Dispatch.
func (s *Store) Processes(ctx context.Context) ([]journal.Owner, error) {
	return s.owners(ctx, sqlProcesses)
}
