package ratelimit

import (
	"context"
	"errors"
	"time"
)

// Line is the queue of the processes that use a key, in an order that all of them see. Each process
// has one place and gets its share of the limits. Implementations must be safe for concurrent use.
type Line interface {
	// Enter takes a place at the end of the line.
	Enter(ctx context.Context) (place uint64, err error)
	// Position returns the number of processes before a place, and the total number. If the place
	// is gone, the error matches ErrLost.
	Position(ctx context.Context, place uint64) (before, all int, err error)
	// Leave releases a place.
	Leave(ctx context.Context, place uint64) error
	// Changed signals on c, without blocking, whenever processes join or leave, until stop is
	// called.
	Changed(c chan<- struct{}) (stop func())
}

// ErrLost is returned when a place in a line is gone.
var ErrLost = errors.New("the place in the line is gone")

const (
	// refreshEvery is how often a process that makes calls checks its standing, in addition to the
	// signals; refreshRetry is the interval after an error.
	refreshEvery, refreshRetry = 5 * time.Second, time.Second
	// staleAfter is how long a process keeps using its share although it cannot check its standing:
	// after that the others may have presumed it dead.
	staleAfter = 15 * time.Second
	// idleAfter is how long a process keeps its share without a call; idleCrowded applies if there
	// are more processes than calls allowed in flight.
	idleAfter, idleCrowded = time.Minute, time.Second
	// turnTime is how long a process makes calls before the next process does, if there are more
	// processes than calls allowed in flight.
	turnTime = 10 * time.Second
	// lineTimeout is the timeout for taking a place, checking its standing, and releasing it.
	lineTimeout = 10 * time.Second
)

// share is this process's share of a key's limits.
type share struct {
	line        Line // line that place is in
	place       uint64
	before, all int
	refreshed   time.Time // when before and all were read; zero if unknown
	failed      time.Time // when the last check failed
	began       time.Time // start of its turn, if processes take turns
	stop        func()    // stops the signals
}

// isShared reports whether other processes may have a share of the limits. It is called with mu
// held, as are all functions below unless stated otherwise.
func (l *Limiter) isShared() bool { return l.line != nil && l.limits != (Limits{}) }

// isKnown reports whether the process knows its share.
func (l *Limiter) isKnown(now time.Time) bool {
	return !l.isShared() || !l.share.refreshed.IsZero() && now.Sub(l.share.refreshed) < staleAfter
}

// parts returns the number of processes among which the limits are divided.
func (l *Limiter) parts() int { return max(1, l.share.all) }

// slots returns the number of calls that this process may have in flight; 0 means none.
func (l *Limiter) slots() int {
	n := l.limits.Concurrency / l.parts()
	if l.share.before < l.limits.Concurrency%l.parts() {
		n++
	}
	return n
}

// takesTurns reports whether there are more processes than calls allowed in flight.
func (l *Limiter) takesTurns() bool {
	return l.limits.Concurrency > 0 && l.parts() > l.limits.Concurrency
}

// isTurnOver reports whether the process's turn has ended.
func (l *Limiter) isTurnOver(now time.Time) bool {
	return l.takesTurns() && l.slots() > 0 && now.Sub(l.share.began) >= turnTime
}

// nextRefresh returns the time until the process has to check its standing in the line; 0 means
// now.
func (l *Limiter) nextRefresh(now time.Time) time.Duration {
	s := &l.share
	if !s.failed.IsZero() {
		return max(0, refreshRetry-now.Sub(s.failed))
	}
	if s.refreshed.IsZero() || l.dirty || l.inFlight == 0 && l.isTurnOver(now) {
		return 0
	}
	return max(0, refreshEvery-now.Sub(s.refreshed))
}

// refreshShare determines the process's share of the limits, if that is due and t is the first
// ticket. It is called without mu. It returns ctx's error if ctx is done; the check then continues
// in the background, since a place may already be taken.
func (l *Limiter) refreshShare(ctx context.Context, t *Ticket) error {
	if !l.isDue(t) {
		return nil
	}
	select {
	case l.refreshing <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !l.isDue(t) { // another ticket did it
		<-l.refreshing
		return nil
	}
	done := make(chan struct{})
	go func() { //nolint:contextcheck,gosec,nolintlint // see above
		defer close(done)
		l.refreshLocked()
		<-l.refreshing
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// refreshLocked refreshes the share. The caller must hold refreshing, but not mu.
func (l *Limiter) refreshLocked() {
	ctx, cancel := context.WithTimeout(context.Background(), lineTimeout)
	defer cancel()
	l.mu.Lock()
	s, line := l.share, l.line
	isOver := l.inFlight == 0 && l.isTurnOver(time.Now())
	l.dirty = false
	l.mu.Unlock()
	var err error
	if isOver { // the next process's turn
		if err = s.line.Leave(ctx, s.place); err == nil || errors.Is(err, ErrLost) {
			s.place, err = 0, nil
		}
	}
	if err == nil {
		s, err = s.renewed(ctx, line, l.changed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.armIdle() // the ticket may have left
	now := time.Now()
	if err != nil {
		l.share.failed = now
		l.share.line, l.share.place, l.share.stop = s.line, s.place, s.stop
		return
	}
	l.refill(now) // with the share it had
	hadTurn := l.takesTurns() && l.slots() > 0 && s.place == l.share.place
	s.refreshed, s.failed = now, time.Time{}
	l.share = s
	l.tokens = min(l.tokens, l.bucket())
	if !hadTurn {
		l.share.began = now
	}
}

// isDue reports whether t is the first ticket and must check the standing. It is called without mu.
func (l *Limiter) isDue(t *Ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.changed:
		l.dirty = true
	default:
	}
	return l.isShared() && len(l.queue) > 0 && l.queue[0] == t && l.nextRefresh(time.Now()) == 0
}

// renewed returns the current share, in its existing place or in a new place in line.
func (s share) renewed(ctx context.Context, line Line, changed chan<- struct{}) (share, error) {
	for {
		if s.place == 0 {
			if s.stop != nil {
				s.stop()
			}
			s.line, s.stop = line, line.Changed(changed)
			place, err := line.Enter(ctx)
			if err != nil {
				return s, err
			}
			s.place = place
		}
		before, all, err := s.line.Position(ctx, s.place)
		if errors.Is(err, ErrLost) && ctx.Err() == nil {
			s.place = 0
			continue
		}
		s.before, s.all = before, all
		return s, err
	}
}

// armIdle starts the timer that releases the process's share if it makes no call for a while.
func (l *Limiter) armIdle() {
	if len(l.queue) > 0 || l.inFlight > 0 || l.share.place == 0 {
		return
	}
	idle := idleAfter
	if l.takesTurns() {
		idle = idleCrowded
	}
	l.idleSince = time.Now()
	if l.idle == nil {
		l.idle = time.AfterFunc(idle, l.releaseShare)
		return
	}
	l.idle.Reset(idle)
}

// releaseShare releases the share if no call arrived meanwhile. It is called without mu.
func (l *Limiter) releaseShare() {
	l.refreshing <- struct{}{}
	defer func() { <-l.refreshing }()
	l.mu.Lock()
	s := l.share
	isUsed := len(l.queue) > 0 || l.inFlight > 0 || s.place == 0 || time.Since(l.idleSince) < idleCrowded
	if !isUsed {
		l.refill(time.Now())
		l.share.refreshed = time.Time{} // a call that arrives now checks first
	}
	l.mu.Unlock()
	if isUsed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lineTimeout)
	defer cancel()
	err := s.line.Leave(ctx, s.place)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !errors.Is(err, ErrLost) {
		l.armIdle() // retry later
		return
	}
	s.stop()
	l.share = share{all: s.all, before: s.before}
}
