package ratelimit

import (
	"context"
	"errors"
	"time"
)

// Line is the processes that use a key, in an order that all of them see. Each has one place, and gets its part of the limits. Safe for concurrent use.
type Line interface {
	// Enter takes a place at the end.
	Enter(ctx context.Context) (place uint64, err error)
	// Standing tells how many processes are before a place, and how many there are. Errors: those that match ErrLost where the place is gone.
	Standing(ctx context.Context, place uint64) (before, all int, err error)
	// Leave gives a place up.
	Leave(ctx context.Context, place uint64) error
	// Changed signals on c, without blocking, that processes came or went, until stop.
	Changed(c chan<- struct{}) (stop func())
}

// ErrLost says that a place in a line is gone.
var ErrLost = errors.New("the place in the line is gone")

const (
	// lookEvery is how often a process that makes calls looks how many others there are, beside the signals; lookAgain after an error.
	lookEvery, lookAgain = 5 * time.Second, time.Second
	// staleAfter is for how long a process goes on with its part although it cannot look: by then the others may have taken it for dead.
	staleAfter = 15 * time.Second
	// idleAfter is for how long a process keeps its part without a call; idleCrowded where there are more processes than the limit has calls in flight.
	idleAfter, idleCrowded = time.Minute, time.Second
	// turnTime is for how long a process makes calls before the next one does, where there are more processes than calls in flight.
	turnTime = 10 * time.Second
	// lineTime bounds taking a place, looking where it is, and giving it up.
	lineTime = 10 * time.Second
)

// share is the part of a key's limits that this process has.
type share struct {
	line        Line // in which place is
	place       uint64
	before, all int
	looked      time.Time // when before and all were so; zero: they are not known
	failed      time.Time // when it was tried in vain to look
	began       time.Time // of its turn, where processes take turns
	stop        func()    // ends signals
}

// isShared tells whether other processes may have a part of the limits. It is called with mu held, as all below that say nothing else.
func (l *Limiter) isShared() bool { return l.line != nil && l.limits != (Limits{}) }

// isKnown tells whether the process knows its part.
func (l *Limiter) isKnown(now time.Time) bool {
	return !l.isShared() || !l.share.looked.IsZero() && now.Sub(l.share.looked) < staleAfter
}

// parts is among how many processes the limits are divided.
func (l *Limiter) parts() int { return max(1, l.share.all) }

// slots is how many calls of this process may be in flight; 0: none.
func (l *Limiter) slots() int {
	n := l.limits.Concurrency / l.parts()
	if l.share.before < l.limits.Concurrency%l.parts() {
		n++
	}
	return n
}

// takesTurns tells whether there are more processes than calls that may be in flight.
func (l *Limiter) takesTurns() bool {
	return l.limits.Concurrency > 0 && l.parts() > l.limits.Concurrency
}

// isTurnOver tells whether the process has had its turn.
func (l *Limiter) isTurnOver(now time.Time) bool {
	return l.takesTurns() && l.slots() > 0 && now.Sub(l.share.began) >= turnTime
}

// nextLook is how long it is until the process has to look at the line; 0: now.
func (l *Limiter) nextLook(now time.Time) time.Duration {
	s := &l.share
	if !s.failed.IsZero() {
		return max(0, lookAgain-now.Sub(s.failed))
	}
	if s.looked.IsZero() || l.dirty || l.inFlight == 0 && l.isTurnOver(now) {
		return 0
	}
	return max(0, lookEvery-now.Sub(s.looked))
}

// look finds out which part of the limits the process has, where that is due and t is the first ticket. It is called without mu. Errors: ctx's; the look goes on then, since a place may be taken
// already.
func (l *Limiter) look(ctx context.Context, t *Ticket) error {
	if !l.isDue(t) {
		return nil
	}
	select {
	case l.looking <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !l.isDue(t) { // another ticket was here
		<-l.looking
		return nil
	}
	done := make(chan struct{})
	go func() { //nolint:contextcheck,gosec,nolintlint // see above
		defer close(done)
		l.lookNow()
		<-l.looking
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// lookNow is look for the holder of looking.
func (l *Limiter) lookNow() {
	ctx, cancel := context.WithTimeout(context.Background(), lineTime)
	defer cancel()
	l.mu.Lock()
	s, line := l.share, l.line
	isOver := l.inFlight == 0 && l.isTurnOver(time.Now())
	l.dirty = false
	l.mu.Unlock()
	var err error
	if isOver { // the next one's turn
		if err = s.line.Leave(ctx, s.place); err == nil || errors.Is(err, ErrLost) {
			s.place, err = 0, nil
		}
	}
	if err == nil {
		s, err = s.renewed(ctx, line, l.changed)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	defer l.rests() // the ticket may have left
	now := time.Now()
	if err != nil {
		l.share.failed = now
		l.share.line, l.share.place, l.share.stop = s.line, s.place, s.stop
		return
	}
	l.refill(now) // with the part that it had
	hadTurn := l.takesTurns() && l.slots() > 0 && s.place == l.share.place
	s.looked, s.failed = now, time.Time{}
	l.share = s
	l.tokens = min(l.tokens, l.bucket())
	if !hadTurn {
		l.share.began = now
	}
}

// isDue tells whether t is the first ticket and has to look. It is called without mu.
func (l *Limiter) isDue(t *Ticket) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.changed:
		l.dirty = true
	default:
	}
	return l.isShared() && len(l.queue) > 0 && l.queue[0] == t && l.nextLook(time.Now()) == 0
}

// renewed gives the share as it is now, in the place that it has, or in a new one of a line.
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
		before, all, err := s.line.Standing(ctx, s.place)
		if errors.Is(err, ErrLost) && ctx.Err() == nil {
			s.place = 0
			continue
		}
		s.before, s.all = before, all
		return s, err
	}
}

// rests has the process give its part up where it makes no call for a while.
func (l *Limiter) rests() {
	if len(l.queue) > 0 || l.inFlight > 0 || l.share.place == 0 {
		return
	}
	idle := idleAfter
	if l.takesTurns() {
		idle = idleCrowded
	}
	l.rested = time.Now()
	if l.idle == nil {
		l.idle = time.AfterFunc(idle, l.part)
		return
	}
	l.idle.Reset(idle)
}

// part gives the part up, if no call came meanwhile. It is called without mu.
func (l *Limiter) part() {
	l.looking <- struct{}{}
	defer func() { <-l.looking }()
	l.mu.Lock()
	s := l.share
	isUsed := len(l.queue) > 0 || l.inFlight > 0 || s.place == 0 || time.Since(l.rested) < idleCrowded
	if !isUsed {
		l.refill(time.Now())
		l.share.looked = time.Time{} // a call that comes now looks first
	}
	l.mu.Unlock()
	if isUsed {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lineTime)
	defer cancel()
	err := s.line.Leave(ctx, s.place)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err != nil && !errors.Is(err, ErrLost) {
		l.rests() // it is tried again
		return
	}
	s.stop()
	l.share = share{all: s.all, before: s.before}
}
