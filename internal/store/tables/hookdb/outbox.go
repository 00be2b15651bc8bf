package hookdb

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/api/hooks/hookdata"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Cursor implements hookdata.Store.
func (s *Store) Cursor(ctx context.Context) (at int64, found bool, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) (err error) {
		at, found, err = cursor(tx)
		return err
	})
	if err != nil {
		return 0, false, fmt.Errorf("read cursor: %w", err)
	}
	return at, found, nil
}

func cursor(tx tables.Tx) (at int64, found bool, err error) {
	err = tx.Query(sqlCursor, func(c []any) error {
		at, found = tables.Int(c[0]), true
		return nil
	})
	return at, found, err
}

// Post implements hookdata.Store.
func (s *Store) Post(ctx context.Context, from, to int64, notifications []hookdata.Notification) error {
	bytes := rowBytes
	for _, n := range notifications {
		bytes += rowBytes + 2*len(n.Body)
	}
	err := s.db.Write(ctx, bytes, func(tx tables.Tx) error {
		at, _, err := cursor(tx)
		if err != nil {
			return err
		}
		if at != from {
			return hookdata.ErrMoved
		}
		if err := post(tx, notifications); err != nil {
			return err
		}
		err = tx.Do(sqlSetCursor, to)
		return err
	})
	if err != nil {
		return fmt.Errorf("post notifications: %w", err)
	}
	return nil
}

func post(tx tables.Tx, notifications []hookdata.Notification) error {
	for _, n := range notifications {
		data, err := json.Marshal(n)
		if err != nil {
			return err
		}
		if err := tx.Do(sqlPost, n.ID, n.Endpoint, tables.Raw(n.Run), string(n.State), tables.Micros(n.Due),
			tables.Micros(n.Settled), string(data)); err != nil {
			return err
		}
	}
	return nil
}

// Take implements hookdata.Store.
func (s *Store) Take(ctx context.Context, now, until time.Time, limit int, but []string) (
	out []hookdata.Notification, err error) {
	find := func(tx tables.Tx, limit int, each func([]any) error) error {
		names := append([]string{}, but...)
		if tx.Dialect() == tables.Postgres { // it cannot store NUL, so no endpoint has such a name
			names = slices.DeleteFunc(names, func(name string) bool { return strings.ContainsRune(name, 0) })
		}
		list, err := json.Marshal(names)
		if err != nil {
			return err
		}
		return tx.Query(tx.Dialect().Pick(sqlTake, sqlTakePostgres), each, tables.Micros(now), string(list), limit)
	}
	isDue := false
	err = s.db.Select(ctx, sqlDue, func() { isDue = false }, func([]any) error { isDue = true; return nil },
		tables.Micros(now))
	if err != nil || !isDue { // usually none is due, and nothing is written
		return nil, err
	}
	look := func(tx tables.Tx) error {
		isDue = false
		return find(tx, 1, func([]any) error {
			isDue = true
			return nil
		})
	}
	if err := s.db.View(ctx, look); err != nil || !isDue { // all that are due are for excluded endpoints
		return nil, err
	}
	err = s.db.Write(ctx, rowBytes*limit, func(tx tables.Tx) error {
		out = nil
		var taken []int64
		if err := find(tx, limit, func(c []any) error {
			var n hookdata.Notification
			err := decode(c[1], &n)
			out, taken = append(out, n), append(taken, tables.Int(c[0]))
			return err
		}); err != nil {
			return err
		}
		for _, n := range taken {
			if err := tx.Do(sqlHide, tables.Micros(until), n); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("take notifications: %w", err)
	}
	return out, nil
}

// Settle implements hookdata.Store.
func (s *Store) Settle(ctx context.Context, n hookdata.Notification, next ...hookdata.Notification) error {
	data, err := json.Marshal(n)
	if err == nil {
		err = s.db.Write(ctx, rowBytes+len(data), func(tx tables.Tx) error {
			if err := tx.Do(sqlSettle, string(n.State), tables.Micros(n.Due), tables.Micros(n.Settled), string(data),
				n.ID); err != nil && !tables.IsAbsent(err) {
				return err
			}
			return post(tx, next)
		})
	}
	if err != nil {
		return fmt.Errorf("settle notification: %w", err)
	}
	return nil
}

// Notifications implements hookdata.Store.
func (s *Store) Notifications(ctx context.Context, q hookdata.NotificationQuery) (
	out []hookdata.Notification, next int64, err error) {
	size := q.PageSize()
	err = s.db.View(ctx, func(tx tables.Tx) error {
		out, next = nil, 0
		last := int64(0)
		return tx.Query(sqlNotifications, func(c []any) error {
			if len(out) == size {
				next = last
				return nil
			}
			n, err := notificationOf(c)
			last, out = tables.Int(c[0]), append(out, n)
			return err
		}, q.Before, q.Before, string(q.State), string(q.State), len(q.Run), tables.Raw(q.Run), size+1)
	})
	if err != nil && !tables.IsAbsent(err) {
		return nil, 0, fmt.Errorf("read notifications: %w", err)
	}
	return out, next, nil
}

func notificationOf(c []any) (n hookdata.Notification, err error) {
	if err = decode(c[1], &n); err == nil && n.State == hookdata.StatePending {
		n.Due = tables.Time(c[2])
	}
	return n, err
}

// Notification implements hookdata.Store.
func (s *Store) Notification(ctx context.Context, id string) (n hookdata.Notification, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		n = hookdata.Notification{}
		return tx.Query(sqlNotification, func(c []any) (err error) {
			n, err = notificationOf(c)
			return err
		}, id)
	})
	if err == nil && n.ID == "" || tables.IsAbsent(err) {
		err = hookdata.ErrNone
	}
	if err != nil {
		return hookdata.Notification{}, fmt.Errorf("read notification: %w", err)
	}
	return n, nil
}

// Sweep implements hookdata.Store.
func (s *Store) Sweep(ctx context.Context, now, before time.Time) error {
	err := s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
		for _, q := range []struct {
			text tables.Text
			at   time.Time
		}{{sqlSweepDeliveries, now}, {sqlSweepUses, now}, {sqlSweepNotifications, before}} {
			if err := tx.Do(q.text, tables.Micros(q.at)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("sweep hooks: %w", err)
	}
	return nil
}

// Backlog implements hookdata.Store.
func (s *Store) Backlog(ctx context.Context) (pending, dead int, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		return tx.Query(sqlBacklog, func(c []any) error {
			if n := int(tables.Int(c[1])); hookdata.State(tables.String(c[0])) == hookdata.StateDead {
				dead = n
			} else {
				pending = n
			}
			return nil
		})
	})
	if err != nil {
		return 0, 0, fmt.Errorf("count notifications: %w", err)
	}
	return pending, dead, nil
}
