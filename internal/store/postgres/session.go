package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hocket-run/hocket/internal/journal"
)

// session is the connection of a process that outlives statements: it holds the locks of the owners of all its stores, and listens. It is made when it is first needed: a process that only reads
// has none.
//
// It is at rest but for moments: a backend that works does not notice that its client is dead. Where it is lost it is made again, takes the same locks again, and every subscriber is signalled. Meanwhile
// others take the owners for dead, and may claim their runs: epochs fence, so that an owner whose runs were not claimed simply goes on with them.
type session struct {
	db *database

	kept   sync.Mutex // guards what follows
	locks  []held
	places []keyPlace
	ears   []*changes // of the stores that listen
	closed bool

	settleTime time.Duration // settleTime; a test makes it short

	mu   sync.Mutex
	conn *pgx.Conn // of the goroutine where there is one, else guarded by mu
	// Of the goroutine that waits for notifications; there is none where the process does not listen.
	running bool
	queue   []*errand
	wake    context.CancelFunc // ends its wait
	ended   chan struct{}
}

// lock is the lock of an owner: its two keys.
type lock struct{ class, number int64 }

// held is a lock that the session keeps. row stores the row of its owner, which others delete where the lock is free.
type held struct {
	lock
	row job
}

// job is work on the connection.
type job func(ctx context.Context, c *pgx.Conn) error

// errand is a job with the channel for its error.
type errand struct {
	do   job
	done chan error
}

// settling is the number of a lock, of no owner, that a process holds for settleTime after it made its session anew: when the server restarts, or another one takes its place, all sessions are lost at once,
// and are not noticed to be lost, nor made anew, at the same moment. Until then no process takes the runs of others. A process that vanished is noticed after some 11 s, give or take a few.
const (
	settling   = 1<<31 - 1
	settleTime = 10 * time.Second
)

// The locks of owners. Their keys are int4, which hold the bits of an oid.
const (
	sqlLock      = `SELECT pg_try_advisory_lock($1::bigint::bit(32)::int, $2::bigint::int)`
	sqlSettling  = `SELECT pg_advisory_lock_shared($1::bigint::bit(32)::int, $2::bigint::int)`
	sqlSettled   = `SELECT pg_advisory_unlock_shared($1::bigint::bit(32)::int, $2::bigint::int)`
	sqlUnlock    = `SELECT pg_advisory_unlock($1::bigint::bit(32)::int, $2::bigint::int)`
	sqlUnlockAll = `SELECT pg_advisory_unlock_all()`
	sqlTerminate = `SELECT pg_terminate_backend(l.pid, 2000) FROM pg_locks l
WHERE l.locktype = 'advisory' AND l.objsubid = 2 AND l.classid::bigint = $1 AND l.objid::bigint = $2 AND l.pid = $3`
)

// sqlKeepAlive makes the server notice within some 11 s that the machine of the process has vanished, and drop its locks: by keep-alives where nothing is on its way, else, since there are none then, by
// the time for which what was sent is not acknowledged.
const sqlKeepAlive = `SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; SET tcp_user_timeout = '11s'; SET client_connection_check_interval = '2s'; SET idle_session_timeout = 0`

// Pauses between attempts to connect anew.
const (
	minPause = 20 * time.Millisecond
	maxPause = time.Second
)

// errandTime bounds an errand, with what it takes to connect.
const errandTime = 30 * time.Second

// run does do on the connection, which it makes where there is none. A caller that gives up leaves do to its end: interrupting it would end the connection, and with it the locks of all owners.
func (s *session) run(ctx context.Context, do job) error {
	e := &errand{do: do, done: make(chan error, 1)}
	s.mu.Lock()
	if s.running {
		s.queue = append(s.queue, e)
		s.wake()
		s.mu.Unlock()
	} else {
		go func() { //nolint:contextcheck,gosec,nolintlint // see above
			defer s.mu.Unlock()
			e.done <- s.carryOut(e.do)
		}()
	}
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// carryOut does do, within errandTime. s.mu is held.
func (s *session) carryOut(do job) error {
	ctx, cancel := context.WithTimeout(context.Background(), errandTime)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return err
	}
	return do(ctx, s.conn)
}

// connect makes the connection anew where it is lost. s.mu is held, or the goroutine calls it.
func (s *session) connect(ctx context.Context) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	if s.isClosed() {
		return journal.ErrClosed
	}
	var before uint32
	if s.conn != nil {
		before = s.conn.PgConn().PID()
	}
	conn, err := pgx.ConnectConfig(ctx, s.db.conn.Copy())
	if err != nil {
		return err
	}
	if err := s.restore(ctx, conn, before); err != nil {
		_ = conn.Close(ctx)
		return err
	}
	s.conn = conn
	return nil
}

// errHeld says that a lock is still held by a session that the process lost.
var errHeld = errors.New("the server has not ended the session that was lost")

// restore takes the locks and listens on a new connection. before is the server process of the lost one: it may not know yet, and is ended then.
func (s *session) restore(ctx context.Context, conn *pgx.Conn, before uint32) error {
	if _, err := conn.Exec(ctx, sqlKeepAlive); err != nil {
		return err
	}
	locks, ears := s.keeps()
	if before != 0 {
		if err := s.settle(ctx, conn, locks); err != nil {
			return err
		}
	}
	for _, l := range locks {
		ok, err := take(ctx, conn, l.lock)
		if err == nil && !ok && before != 0 {
			if _, err = conn.Exec(ctx, sqlTerminate, l.class, l.number, before); err == nil {
				ok, err = take(ctx, conn, l.lock)
			}
		}
		if err == nil && !ok {
			err = errHeld
		}
		if err == nil {
			err = l.row(ctx, conn)
		}
		if err != nil {
			return err
		}
	}
	if err := s.takePlaces(ctx, conn); err != nil {
		return err
	}
	for _, e := range ears {
		if _, err := conn.Exec(ctx, "LISTEN "+quoted(e.channel)); err != nil {
			return err
		}
	}
	return nil
}

// settle makes all owners count as living for a while, before any that is back does.
func (s *session) settle(ctx context.Context, conn *pgx.Conn, locks []held) error {
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
			if c != conn { // that one is lost, and its lock with it
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

// isClosed tells whether the session was closed, and must not be made anew.
func (s *session) isClosed() bool {
	s.kept.Lock()
	defer s.kept.Unlock()
	return s.closed
}

// keeps gives what a new connection needs.
func (s *session) keeps() (locks []held, ears []*changes) {
	s.kept.Lock()
	defer s.kept.Unlock()
	return slices.Clone(s.locks), slices.Clone(s.ears)
}

// take tries to take a lock.
func take(ctx context.Context, conn *pgx.Conn, l lock) (ok bool, err error) {
	err = conn.QueryRow(ctx, sqlLock, l.class, l.number).Scan(&ok)
	return ok, err
}

// hold takes the lock of an owner, stores its row, and keeps both until drop. It may be called again after an error.
func (s *session) hold(ctx context.Context, l lock, row job) error {
	return s.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		if locks, _ := s.keeps(); slices.ContainsFunc(locks, func(h held) bool { return h.lock == l }) {
			return nil // for a caller that gave up
		}
		ok, err := take(ctx, c, l)
		if err == nil && !ok {
			err = fmt.Errorf("the lock of owner %d is taken", l.number)
		}
		if err != nil {
			return err
		}
		if err = row(ctx, c); err != nil {
			_, _ = c.Exec(ctx, sqlUnlock, l.class, l.number) // where it fails the connection is lost, and the lock with it
			return err
		}
		s.kept.Lock()
		defer s.kept.Unlock()
		s.locks = append(s.locks, held{l, row})
		return nil
	})
}

// drop gives a lock up. Where the connection is lost the server does.
func (s *session) drop(ctx context.Context, l lock) error {
	s.kept.Lock()
	s.locks = slices.DeleteFunc(s.locks, func(h held) bool { return h.lock == l })
	s.kept.Unlock()
	return s.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, sqlUnlock, l.class, l.number)
		return err
	})
}

// listen makes the session signal what it hears on a channel. It returns when that is so; where it fails it becomes so later.
func (s *session) listen(ctx context.Context, e *changes) error {
	s.kept.Lock()
	s.ears = append(s.ears, e)
	s.kept.Unlock()
	s.mu.Lock()
	if !s.running {
		s.running, s.ended = true, make(chan struct{})
		s.wake = func() {}
		go s.loop() //nolint:contextcheck,gosec,nolintlint // it lives as long as the process
	}
	s.mu.Unlock()
	return s.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "LISTEN "+quoted(e.channel))
		return err
	})
}

// deafen ends listen.
func (s *session) deafen(ctx context.Context, e *changes) error {
	s.kept.Lock()
	s.ears = slices.DeleteFunc(s.ears, func(o *changes) bool { return o == e })
	s.kept.Unlock()
	return s.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "UNLISTEN "+quoted(e.channel))
		return err
	})
}

// loop waits for notifications, and does errands between them, until the session is closed.
func (s *session) loop() {
	defer close(s.ended)
	between := minPause
	for isFirst := true; ; isFirst = false {
		wait := s.wakeable() // what comes from now on ends the wait below
		err := s.connected(isFirst)
		if s.errands(err) {
			return
		}
		if err == nil {
			between = minPause
			if n, err := s.conn.WaitForNotification(wait); err == nil {
				s.heard(n)
			}
			continue
		}
		t := time.NewTimer(between)
		select {
		case <-t.C:
		case <-wait.Done():
		}
		t.Stop()
		between = min(2*between, maxPause)
	}
}

// wakeable gives a context that the next errand ends.
func (s *session) wakeable() context.Context {
	ctx, wake := context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake() // of the one before
	s.wake = wake
	return ctx
}

// connected connects where there is no connection, and signals all who may have missed something.
func (s *session) connected(isFirst bool) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), errandTime)
	defer cancel()
	err := s.connect(ctx)
	if err == nil && !isFirst {
		_, ears := s.keeps()
		for _, e := range ears {
			e.hub.SignalAll()
		}
	}
	return err
}

// errands does what waits, or answers it with err. It tells whether the session was closed.
func (s *session) errands(err error) (isOver bool) {
	for {
		s.mu.Lock()
		queue := s.queue
		s.queue = nil
		isOver = !s.running && len(queue) == 0
		s.mu.Unlock()
		if len(queue) == 0 {
			return isOver
		}
		for _, e := range queue {
			if err != nil {
				e.done <- err
				continue
			}
			ctx, cancel := context.WithTimeout(context.Background(), errandTime)
			e.done <- e.do(ctx, s.conn)
			cancel()
		}
	}
}

// heard passes a notification on.
func (s *session) heard(n *pgconn.Notification) {
	_, ears := s.keeps()
	for _, e := range ears {
		if e.channel == n.Channel {
			e.heard(n.Payload)
		}
	}
}

// close ends the session. The stores have dropped their locks.
func (s *session) close(ctx context.Context) error {
	s.kept.Lock()
	s.closed = true
	s.kept.Unlock()
	s.mu.Lock()
	if s.running {
		s.running = false
		s.wake()
		s.mu.Unlock()
		<-s.ended
		s.mu.Lock()
	}
	defer s.mu.Unlock()
	conn := s.conn
	if s.conn = nil; conn == nil || conn.IsClosed() {
		return nil
	}
	if len(s.places) > 0 {
		_, _ = conn.Exec(ctx, sqlUnlockAll) // at once; the server gives up the locks of a connection that ended later
	}
	return conn.Close(ctx)
}

// check makes sure that the connection is there. A process that listens knows by that.
func (s *session) check(ctx context.Context) error {
	s.mu.Lock()
	listens := s.running
	s.mu.Unlock()
	if listens {
		return nil
	}
	ping := func(ctx context.Context, c *pgx.Conn) error { return c.Ping(ctx) }
	if err := s.run(ctx, ping); err == nil || ctx.Err() != nil {
		return err
	}
	return s.run(ctx, ping) // it is closed now, and made anew
}
