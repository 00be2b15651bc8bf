package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/journal"
)

// Queues of sessions are rows of the schema. Queues of keys belong to the whole database, because a
// key's limits apply to all namespaces: each process has an advisory lock with the hash of the key
// and an increasing number, from the transaction counter. The session holds the lock, so that a
// process loses its queue position when it ends.
//
// The keys of these locks are bigint: the server keeps them apart from those of owners.
const (
	sqlNextPlace = `SELECT (1 + pg_current_xact_id()::text::numeric % 2147483647)::bigint`
	sqlHoldKey   = `SELECT pg_try_advisory_lock(($1::bigint << 32) | $2::bigint)`
	sqlDropKey   = `SELECT pg_advisory_unlock(($1::bigint << 32) | $2::bigint)`
	sqlKeyPlaces = `SELECT count(*) FILTER (WHERE $2::bigint = 0 OR l.objid::bigint < $2::bigint), count(*), ` +
		`coalesce(bool_or(l.objid::bigint = $2::bigint), false) FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.objsubid = 1 AND l.classid::bigint = $1 AND l.granted AND l.database = (SELECT ` +
		`d.oid FROM pg_database d WHERE d.datname = current_database())`
)

// keyClass returns the first half of the keys of a queue's locks: a 31-bit hash. Two keys with the
// same hash merely share their limits.
func keyClass(name string) int64 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name)) // it never fails
	return int64(h.Sum32() >> 1)
}

// keyPlace is a position in the queue of a key, which the session takes again when it is
// re-created.
type keyPlace struct{ class, number int64 }

func (k keyPlace) take(ctx context.Context, c *pgx.Conn) (ok bool, err error) {
	err = c.QueryRow(ctx, sqlHoldKey, k.class, k.number).Scan(&ok)
	return ok, err
}

// Enter implements journal.Lines.
func (s *Store) Enter(ctx context.Context, line journal.Line) (uint64, error) {
	err := line.Validate()
	var place int64
	switch {
	case err != nil:
		return 0, err
	case line.Kind == journal.LineKey:
		place, err = s.enterKey(ctx, line)
	default:
		place, err = s.enterSession(ctx, line)
	}
	if err != nil {
		return 0, fmt.Errorf("enter a line: %w", err)
	}
	s.changes.stored(journal.OfLines())
	return uint64(place), nil //nolint:gosec,nolintlint // ids of rows and numbers of transactions are positive
}

// enterSession takes a position in the table. A position that may have been taken by a statement
// whose answer was lost is released, because the queue would otherwise stall there.
func (s *Store) enterSession(ctx context.Context, line journal.Line) (place int64, err error) {
	self, err := s.register(ctx)
	if err != nil {
		return 0, err
	}
	token := rand.Text()
	err = s.execReturning(ctx, sqlEnter, []any{int(line.Kind), bytesOf(line.Name), self, token}, []any{&place},
		func() error { return nil })
	if err != nil && !errors.Is(err, journal.ErrClosed) {
		go s.giveUpPlace(self, token) //nolint:contextcheck,gosec,nolintlint // the caller does not wait for it
	}
	return place, err
}

// giveUpPlace deletes the position taken by a statement whose answer was lost, if it was taken. The
// server may execute such a statement later, for example if it waits for the turn of others and
// does not notice that its connection is lost. The position is therefore looked for repeatedly,
// until the statement can no longer be in flight.
func (s *Store) giveUpPlace(owner int64, token string) {
	for _, after := range [...]time.Duration{0, time.Second, 5 * time.Second, batchTimeout} {
		for n := 0; ; n++ {
			select {
			case <-time.After(after):
			case <-s.changes.stop:
				return
			}
			ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
			deleted, err := s.exec(ctx, sqlLost, owner, token)
			cancel()
			if deleted > 0 {
				s.changes.stored(journal.OfLines())
				return
			}
			if errors.Is(err, journal.ErrClosed) {
				return
			}
			if err == nil {
				break
			}
			after = min(minPause<<min(n, 6), maxPause)
		}
	}
}

// enterKey takes a position that no other process has. A process has one position per queue: an
// earlier one is released, and so is one that was taken for a caller that stopped waiting.
func (s *Store) enterKey(ctx context.Context, line journal.Line) (int64, error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	taken := make(chan keyPlace, 1)
	err := s.db.session.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		k := keyPlace{class: keyClass(line.Name)}
		for ok := false; !ok; {
			err := c.QueryRow(ctx, sqlNextPlace).Scan(&k.number)
			if err == nil {
				ok, err = k.take(ctx, c)
			}
			if err != nil {
				return err
			}
		}
		before := s.db.session.keep(k)
		taken <- k
		for _, o := range before {
			if _, err := c.Exec(ctx, sqlDropKey, o.class, o.number); err != nil {
				return err
			}
		}
		return nil
	})
	if err == nil {
		return (<-taken).number, nil
	}
	go func() { //nolint:contextcheck,gosec,nolintlint // the caller does not wait for it
		// after anything that may still be in flight
		_ = s.db.session.run(context.Background(), func(ctx context.Context, c *pgx.Conn) error {
			select {
			case k := <-taken:
				return s.db.session.dropPlace(ctx, c, k)
			default:
				return nil
			}
		})
	}()
	return 0, s.fault(ctx, err)
}

// Position implements journal.Lines.
func (s *Store) Position(ctx context.Context, line journal.Line, place uint64) (journal.Position, error) {
	var st journal.Position
	var found bool
	var err error
	columns := []any{&st.Before, &st.All, &found}
	if line.Kind == journal.LineKey {
		_, err = s.queryRow(ctx, sqlKeyPlaces, []any{keyClass(line.Name), key(place)}, columns)
	} else {
		_, err = s.queryRow(ctx, sqlStanding, []any{int(line.Kind), bytesOf(line.Name), key(place)}, columns)
	}
	if err == nil && !found && place != 0 {
		err = journal.ErrNotFound
	}
	if err != nil {
		return journal.Position{}, fmt.Errorf("look at a line: %w", err)
	}
	return st, nil
}

// Leave implements journal.Lines.
func (s *Store) Leave(ctx context.Context, line journal.Line, place uint64) error {
	var err error
	if line.Kind == journal.LineKey {
		err = s.leaveKey(ctx, keyPlace{keyClass(line.Name), key(place)})
	} else {
		_, err = s.exec(ctx, sqlLeave, key(place), int(line.Kind), bytesOf(line.Name))
	}
	if err != nil {
		return fmt.Errorf("leave a line: %w", err)
	}
	s.changes.stored(journal.OfLines())
	return nil
}

func (s *Store) leaveKey(ctx context.Context, k keyPlace) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	return s.fault(ctx, s.db.session.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		return s.db.session.dropPlace(ctx, c, k)
	}))
}

// dropPlace releases a position if it is kept.
func (s *session) dropPlace(ctx context.Context, c *pgx.Conn, k keyPlace) error {
	if !s.forget(k) {
		return nil
	}
	_, err := c.Exec(ctx, sqlDropKey, k.class, k.number)
	return err
}

// keep makes the session take a position again whenever it is re-created. It returns the earlier
// positions in the same queue.
func (s *session) keep(k keyPlace) (before []keyPlace) {
	s.kept.Lock()
	defer s.kept.Unlock()
	s.places = slices.DeleteFunc(s.places, func(o keyPlace) bool {
		if o.class == k.class {
			before = append(before, o)
		}
		return o.class == k.class
	})
	s.places = append(s.places, k)
	return before
}

// forget undoes keep. It reports whether the position was kept.
func (s *session) forget(k keyPlace) bool {
	s.kept.Lock()
	defer s.kept.Unlock()
	n := len(s.places)
	s.places = slices.DeleteFunc(s.places, func(o keyPlace) bool { return o == k })
	return len(s.places) < n
}

// takePlaces takes the positions that a lost connection held. A position that the server has not
// released yet stays with the old connection and is lost later: callers that check the queue notice
// that and enter again.
func (s *session) takePlaces(ctx context.Context, c *pgx.Conn) error {
	s.kept.Lock()
	places := slices.Clone(s.places)
	s.kept.Unlock()
	for _, k := range places {
		ok, err := k.take(ctx, c)
		if err != nil {
			return err
		}
		if !ok {
			s.forget(k)
		}
	}
	return nil
}
