package sqlite

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Post implements journal.Inbox.
func (s *Store) Post(ctx context.Context, q journal.Request) (uint64, error) {
	var id int64
	err := s.writer.write(ctx, len(q.Data), func(c *conn) error {
		res, err := c.exec(sqlPost, q.Kind, q.Data, tables.Micros(q.At), q.Run)
		if err != nil {
			return err
		}
		if n, err := res.RowsAffected(); err != nil || n == 0 {
			return refusal{journal.ErrNotFound}
		}
		if id, err = res.LastInsertId(); err != nil {
			return err
		}
		_, err = c.exec(sqlRequestsChanged)
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("post to run %s: %w", q.Run, err)
	}
	s.changes.hub.Signal(journal.OfRequests())
	return uint64(id), nil
}

// Take implements journal.Inbox. If there is no open request, it reads one index and writes
// nothing.
func (s *Store) Take(ctx context.Context) ([]journal.Request, error) {
	self := s.owners.number.Load()
	if self == 0 {
		if s.writer.closed.Load() {
			return nil, journal.ErrClosed
		}
		return nil, ctx.Err() // a handle that owns nothing
	}
	var open []journal.Request
	err := s.readers.read(ctx, func(c *conn) error {
		open = nil
		return c.query(ctx, sqlOpen, func(r row) error {
			open = append(open, journal.Request{
				ID: uint64(r.int(0)), Run: r.text(1), Kind: r.text(2), Data: r.bytes(3), At: tables.Time(r[4]),
			})
			return nil
		}, self, self)
	})
	var taken []journal.Request
	if err == nil && len(open) > 0 {
		err = s.writer.write(ctx, 0, func(c *conn) error {
			taken = nil
			for _, q := range open {
				n, err := c.change(sqlTake, self, q.ID, self)
				if err != nil {
					return err
				}
				if n > 0 {
					taken = append(taken, q)
				}
			}
			return nil
		})
	}
	if err != nil {
		return nil, fmt.Errorf("take requests: %w", err)
	}
	return taken, nil
}

// Unclaimed implements journal.Inbox.
func (s *Store) Unclaimed(ctx context.Context, run string) ([]journal.Request, error) {
	var open []journal.Request
	err := s.readers.read(ctx, func(c *conn) error {
		open = nil
		lives := map[string]bool{"": false}
		return c.query(ctx, sqlUnclaimed, func(r row) (err error) {
			owner := r.text(5)
			alive, known := lives[owner]
			if !known {
				if alive, err = s.owners.isAlive(owner); err != nil {
					return err
				}
				lives[owner] = alive
			}
			if !alive {
				open = append(open, journal.Request{
					ID: uint64(r.int(0)), Run: r.text(1), Kind: r.text(2), Data: r.bytes(3), At: tables.Time(r[4]),
				})
			}
			return nil
		}, run)
	})
	if err != nil {
		return nil, fmt.Errorf("look for requests: %w", err)
	}
	return open, nil
}

// Settle implements journal.Inbox.
func (s *Store) Settle(ctx context.Context, id uint64, result []byte) error {
	err := s.writer.write(ctx, len(result), func(c *conn) error {
		n, err := c.change(sqlSettle, result, id)
		if err != nil {
			return err
		}
		if n > 0 {
			_, err = c.exec(sqlRequestsChanged)
			return err
		}
		r, err := c.lookUp(sqlResult, id)
		if err == nil && r == nil {
			err = refusal{journal.ErrNotFound}
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("settle request %d: %w", id, err)
	}
	s.changes.hub.Signal(journal.OfRequests())
	return nil
}

// Result implements journal.Inbox.
func (s *Store) Result(ctx context.Context, id uint64) ([]byte, bool, error) {
	var r row
	err := s.readers.read(ctx, func(c *conn) (err error) {
		if r, err = c.one(ctx, sqlResult, id); err == nil && r == nil {
			err = journal.ErrNotFound
		}
		return err
	})
	if err != nil {
		return nil, false, fmt.Errorf("look up request %d: %w", id, err)
	}
	return r.bytes(1), r.int(0) == 1, nil
}
