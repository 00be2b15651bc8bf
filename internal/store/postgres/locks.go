package postgres

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// lock is the lock of an owner, identified by its two keys.
type lock struct{ class, number int64 }

// sessionLock is a lock that the session keeps. row stores the row of its owner, which others
// delete if the lock is free.
type sessionLock struct {
	lock
	row job
}

// settling is the number of a lock without an owner, which a process holds for settleTime after it
// re-created its session. Until it is released, no process claims the runs of others: when the
// server restarts or fails over, all sessions are lost at once, but the processes notice that, and
// re-create their sessions, at different times. A lost session is noticed after about 11 s, give or
// take a few seconds.
const (
	settling   = 1<<31 - 1
	settleTime = 10 * time.Second
)

// The locks of owners. Their keys are int4, which can hold the bits of an oid.
const (
	sqlLock      = `SELECT pg_try_advisory_lock($1::bigint::bit(32)::int, $2::bigint::int)`
	sqlSettling  = `SELECT pg_advisory_lock_shared($1::bigint::bit(32)::int, $2::bigint::int)`
	sqlSettled   = `SELECT pg_advisory_unlock_shared($1::bigint::bit(32)::int, $2::bigint::int)`
	sqlUnlock    = `SELECT pg_advisory_unlock($1::bigint::bit(32)::int, $2::bigint::int)`
	sqlUnlockAll = `SELECT pg_advisory_unlock_all()`
	sqlTerminate = `SELECT pg_terminate_backend(l.pid, 2000) FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid::bigint = $1 AND l.objid::bigint = $2 AND l.pid = $3`
)

// settle makes all owners count as alive for a while, before any reconnected owner does.
func (s *session) settle(ctx context.Context, conn *pgx.Conn, locks []sessionLock) error {
	classes := map[int64]bool{}
	for _, l := range locks {
		if classes[l.class] {
			continue
		}
		classes[l.class] = true
		if _, err := conn.Exec(ctx, sqlSettling, l.class, int64(settling)); err != nil {
			return err
		}
	}
	time.AfterFunc(s.settleTime, func() { //nolint:contextcheck,nolintlint // it lives as long as the process
		_ = s.run(context.Background(), func(ctx context.Context, c *pgx.Conn) error {
			if c != conn { // that connection is lost, and its lock with it
				return nil
			}
			for class := range classes {
				if _, err := c.Exec(ctx, sqlSettled, class, int64(settling)); err != nil {
					return err
				}
			}
			return nil
		})
	})
	return nil
}

// tryLock tries to acquire a lock.
func tryLock(ctx context.Context, conn *pgx.Conn, l lock) (ok bool, err error) {
	err = conn.QueryRow(ctx, sqlLock, l.class, l.number).Scan(&ok)
	return ok, err
}

// reacquireLock acquires a lock that a lost connection may still hold. before is the server process
// of that connection, which is terminated if it has not noticed the loss yet; 0 means that none was
// lost.
func reacquireLock(ctx context.Context, conn *pgx.Conn, l lock, before uint32) error {
	ok, err := tryLock(ctx, conn, l)
	if err == nil && !ok && before != 0 {
		if _, err = conn.Exec(ctx, sqlTerminate, l.class, l.number, before); err == nil {
			ok, err = tryLock(ctx, conn, l)
		}
	}
	if err == nil && !ok {
		err = unavailableError{fmt.Errorf("owner %d: %w", l.number, errHeld)}
	}
	return err
}

// acquireOwner acquires the lock of an owner, stores its row, and keeps both until drop. It may be
// called again after an error.
func (s *session) acquireOwner(ctx context.Context, l lock, row job) error {
	return s.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		if locks, _ := s.restorable(); slices.ContainsFunc(locks, func(h sessionLock) bool { return h.lock == l }) {
			return nil // acquired for a caller that stopped waiting
		}
		// An earlier attempt whose answer was lost may have acquired it.
		if err := reacquireLock(ctx, c, l, s.former); err != nil {
			return err
		}
		if err := row(ctx, c); err != nil {
			// if it fails, the connection is lost, and the lock with it
			_, _ = c.Exec(ctx, sqlUnlock, l.class, l.number)
			return err
		}
		s.kept.Lock()
		defer s.kept.Unlock()
		s.locks = append(s.locks, sessionLock{l, row})
		return nil
	})
}

// releaseOwner releases a lock. If the connection is lost, the server releases it.
func (s *session) releaseOwner(ctx context.Context, l lock) error {
	s.kept.Lock()
	s.locks = slices.DeleteFunc(s.locks, func(h sessionLock) bool { return h.lock == l })
	s.kept.Unlock()
	return s.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, sqlUnlock, l.class, l.number)
		return err
	})
}
