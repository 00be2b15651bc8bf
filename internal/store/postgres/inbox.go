package postgres

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// request is a row of the inbox.
type request struct {
	id, posted      int64
	run, kind, data []byte
}

func (r *request) columns() []any { return []any{&r.id, &r.run, &r.kind, &r.data, &r.posted} }

func (r *request) request() journal.Request {
	return journal.Request{ID: uint64(r.id), Run: string(r.run), Kind: string(r.kind), Data: r.data,
		At: tables.TimeOf(r.posted)}
}

// Post implements journal.Inbox.
func (s *Store) Post(ctx context.Context, q journal.Request) (uint64, error) {
	var id int64
	err := s.execReturning(ctx, sqlPost, []any{bytesOf(q.Run), bytesOf(q.Kind), bytesOf(string(q.Data)),
		tables.Micros(q.At)}, []any{&id}, func() error { return nil })
	if err == nil && id == 0 {
		err = journal.ErrNotFound
	}
	if err != nil {
		return 0, fmt.Errorf("post to run %s: %w", q.Run, err)
	}
	s.changes.stored(journal.OfRequests())
	return uint64(id), nil
}

// Take implements journal.Inbox. If there is no open request, it writes nothing.
func (s *Store) Take(ctx context.Context) ([]journal.Request, error) {
	self := s.owner.number.Load()
	if self == 0 { // a handle that owns nothing
		if err := s.enter(ctx); err != nil {
			return nil, err
		}
		s.leave()
		return nil, nil
	}
	var r request
	var taken []journal.Request
	err := s.execReturning(ctx, sqlTake, []any{self}, r.columns(), func() error {
		taken = append(taken, r.request())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take requests: %w", err)
	}
	slices.SortStableFunc(taken, func(a, b journal.Request) int { return cmp.Compare(a.ID, b.ID) })
	return taken, nil
}

// Unclaimed implements journal.Inbox.
func (s *Store) Unclaimed(ctx context.Context, run string) ([]journal.Request, error) {
	var r request
	var open []journal.Request
	err := s.query(ctx, sqlUnclaimed, []any{bytesOf(run)}, r.columns(), func() { open = nil }, func() error {
		open = append(open, r.request())
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for requests: %w", err)
	}
	return open, nil
}

// Settle implements journal.Inbox.
func (s *Store) Settle(ctx context.Context, id uint64, result []byte) error {
	n, err := s.exec(ctx, sqlSettle, bytesOf(string(result)), key(id))
	if err == nil && n == 0 {
		_, _, err = s.Result(ctx, id)
	}
	if err != nil {
		return fmt.Errorf("settle request %d: %w", id, err)
	}
	s.changes.stored(journal.OfRequests())
	return nil
}

// Result implements journal.Inbox.
func (s *Store) Result(ctx context.Context, id uint64) (result []byte, done bool, err error) {
	found, err := s.queryRow(ctx, sqlResult, []any{key(id)}, []any{&done, &result})
	if err == nil && !found {
		err = journal.ErrNotFound
	}
	if err != nil {
		return nil, false, fmt.Errorf("look up request %d: %w", id, err)
	}
	return result, done, nil
}

// key converts the number of a request to a column value; a number that is too large matches no
// request.
func key(id uint64) int64 { return int64(min(id, math.MaxInt64)) } //nolint:gosec,nolintlint // bounded
