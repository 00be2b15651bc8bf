package postgres

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hocket-run/hocket/internal/journal"
)

// session is the connection of a process that outlives statements: it holds the locks of the owners
// of all its stores, and listens. It is created when it is first needed: a process that only reads
// has none.
//
// It is idle most of the time, because a busy backend does not notice that its client is dead. If
// it is lost, it is re-created, acquires the same locks again, and signals every subscriber.
// Meanwhile other processes consider the owners dead, and may claim their runs: epochs fence off
// claimed runs, so that an owner continues only those that were not claimed.
type session struct {
	db *database

	kept      sync.Mutex // guards the following fields
	locks     []sessionLock
	places    []keyPlace
	listeners []*changes // of the stores that listen
	closed    bool

	settleTime time.Duration // settleTime; shorter in tests

	mu     sync.Mutex
	conn   *pgx.Conn // owned by the goroutine if there is one, else guarded by mu
	former uint32    // server process of the last lost connection; likewise
	// Fields of the goroutine that waits for notifications; there is none if the process does not
	// listen.
	running bool
	queue   []*queuedJob
	wake    context.CancelFunc // ends its wait
	ended   chan struct{}
}

// job is work to do on the connection.
type job func(ctx context.Context, c *pgx.Conn) error

// queuedJob is a job with the channel for its error.
type queuedJob struct {
	do   job
	done chan error
}

// sqlKeepAlive makes the server notice within about 11 s that the machine of the process has
// vanished, and release its locks: with keep-alives if no data is in transit; otherwise, since
// there are none then, with the limit on unacknowledged data.
const sqlKeepAlive = `SET tcp_keepalives_idle = 5; SET tcp_keepalives_interval = 2; SET tcp_keepalives_count = 3; ` +
	`SET tcp_user_timeout = '11s'; SET client_connection_check_interval = '2s'; SET idle_session_timeout = 0`

// Delays between attempts to reconnect.
const (
	minPause = 20 * time.Millisecond
	maxPause = time.Second
)

// jobTimeout limits a job, including the time to connect.
const jobTimeout = 30 * time.Second

// run runs do on the connection, which it creates if there is none. If the caller stops waiting, do
// still runs to its end: interrupting it would close the connection, and with it release the locks
// of all owners.
func (s *session) run(ctx context.Context, do job) error {
	e := &queuedJob{do: do, done: make(chan error, 1)}
	s.mu.Lock()
	if s.running {
		s.queue = append(s.queue, e)
		s.wake()
		s.mu.Unlock()
	} else {
		go func() { //nolint:contextcheck,gosec,nolintlint // see above
			defer s.mu.Unlock()
			e.done <- s.runJob(e.do)
		}()
	}
	select {
	case err := <-e.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// runJob runs do, within jobTimeout. s.mu must be held.
func (s *session) runJob(do job) error {
	ctx, cancel := context.WithTimeout(context.Background(), jobTimeout)
	defer cancel()
	if err := s.connect(ctx); err != nil {
		return err
	}
	return do(ctx, s.conn)
}

// connect re-creates the connection if it is lost. s.mu must be held, unless the goroutine calls
// it.
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
	if before != 0 {
		s.former = before
	}
	return nil
}

// errHeld is returned if a lock is still held by a session that the process lost.
var errHeld = errors.New("the server has not ended the session that was lost")

// restore acquires the locks and listens on a new connection. before is the server process of the
// lost connection.
func (s *session) restore(ctx context.Context, conn *pgx.Conn, before uint32) error {
	if _, err := conn.Exec(ctx, sqlKeepAlive); err != nil {
		return err
	}
	locks, ears := s.restorable()
	if before != 0 {
		if err := s.settle(ctx, conn, locks); err != nil {
			return err
		}
	}
	for _, l := range locks {
		err := reacquireLock(ctx, conn, l.lock, before)
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

// isClosed reports whether the session was closed, and must not be re-created.
func (s *session) isClosed() bool {
	s.kept.Lock()
	defer s.kept.Unlock()
	return s.closed
}

// restorable returns the state that a new connection must restore.
func (s *session) restorable() (locks []sessionLock, ears []*changes) {
	s.kept.Lock()
	defer s.kept.Unlock()
	return slices.Clone(s.locks), slices.Clone(s.listeners)
}

// listen makes the session signal notifications on a channel to e. It returns once the session
// listens; if it returns an error, listening starts later.
func (s *session) listen(ctx context.Context, e *changes) error {
	s.kept.Lock()
	s.listeners = append(s.listeners, e)
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

// unlisten undoes listen.
func (s *session) unlisten(ctx context.Context, e *changes) error {
	s.kept.Lock()
	s.listeners = slices.DeleteFunc(s.listeners, func(o *changes) bool { return o == e })
	s.kept.Unlock()
	return s.run(ctx, func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "UNLISTEN "+quoted(e.channel))
		return err
	})
}

// loop waits for notifications, and runs jobs between them, until the session is closed.
func (s *session) loop() {
	defer close(s.ended)
	between := minPause
	for isFirst := true; ; isFirst = false {
		wait := s.wakeable() // anything that arrives from now on ends the wait below
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

// wakeable returns a context that the next job cancels.
func (s *session) wakeable() context.Context {
	ctx, wake := context.WithCancel(context.Background())
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wake() // cancels the previous one
	s.wake = wake
	return ctx
}

// connected connects if there is no connection, and signals all subscribers that may have missed
// something.
func (s *session) connected(isFirst bool) error {
	if s.conn != nil && !s.conn.IsClosed() {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), jobTimeout)
	defer cancel()
	err := s.connect(ctx)
	if err == nil && !isFirst {
		_, ears := s.restorable()
		for _, e := range ears {
			e.listening()
		}
	}
	return err
}

// errands runs the queued jobs, or answers them with err. It reports whether the session was
// closed.
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
			ctx, cancel := context.WithTimeout(context.Background(), jobTimeout)
			e.done <- e.do(ctx, s.conn)
			cancel()
		}
	}
}

// heard passes a notification on.
func (s *session) heard(n *pgconn.Notification) {
	_, ears := s.restorable()
	for _, e := range ears {
		if e.channel == n.Channel {
			e.receive(n.Payload)
		}
	}
}

// close ends the session. The stores have released their locks already.
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
		_, _ = conn.Exec(ctx, sqlUnlockAll) // immediately; the server releases the locks of a closed connection later
	}
	return conn.Close(ctx)
}

// check makes sure that the connection exists. A process that listens notices a lost connection
// anyway.
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
	return s.run(ctx, ping) // it is closed now, and re-created
}
