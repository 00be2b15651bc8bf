package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Notices implements journal.Notices.
func (s *Store) Notices(ctx context.Context, after uint64, limit int) ([]journal.Notice, error) {
	var found []journal.Notice
	err := s.readers.read(ctx, func(c *conn) error {
		found = nil
		return c.query(ctx, sqlNotices, func(r row) error {
			found = append(found, journal.Notice{ID: uint64(r.int(0)), Run: r.text(1), Seq: uint64(r.int(2)),
				Type: r.text(3), At: tables.Time(r[4])})
			return nil
		}, int64(min(after, 1<<63-1)), journal.NoticePage(limit))
	})
	if err != nil {
		return nil, fmt.Errorf("read notices: %w", err)
	}
	return found, nil
}

// LastNotice implements journal.Notices.
func (s *Store) LastNotice(ctx context.Context) (uint64, error) {
	n, err := s.number(ctx, sqlLastNotice)
	if err != nil {
		return 0, fmt.Errorf("read notices: %w", err)
	}
	return uint64(n), nil
}

// Count implements journal.Lists.
func (s *Store) Count(ctx context.Context, statuses ...journal.Status) (int, error) {
	list, err := json.Marshal(append([]journal.Status{}, statuses...))
	if err != nil {
		return 0, err
	}
	n, err := s.number(ctx, sqlCount, string(list))
	if err != nil {
		return 0, fmt.Errorf("count runs: %w", err)
	}
	return int(n), nil
}

// number returns the only column of the only row of q.
func (s *Store) number(ctx context.Context, q sqlText, args ...any) (n int64, err error) {
	err = s.readers.read(ctx, func(c *conn) error {
		r, err := c.one(ctx, q, args...)
		if r != nil {
			n = r.int(0)
		}
		return err
	})
	return n, err
}
