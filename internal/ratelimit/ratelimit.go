package ratelimit

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Limits are the limits that a provider sets for one key. A zero field means no limit.
type Limits struct {
	// RequestsPerMinute spaces calls evenly: 600 means one every 100 ms, and never two at once.
	RequestsPerMinute int `json:"requestsPerMinute,omitempty"`
	// TokensPerMinute limits input and output tokens together. A call may start while any tokens
	// are left; its usage is subtracted when it is done.
	TokensPerMinute int64 `json:"tokensPerMinute,omitempty"`
	// Concurrency is the maximum number of calls in flight.
	Concurrency int `json:"concurrency,omitempty"`
}

// How long a key pauses if its provider does not say: the first pause, and the maximum.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// maxWindow is the number of calls in flight at which a key counts as recovered.
const maxWindow = 64

// Set holds the limiters of a process by key. The zero Set is ready for use. It is safe for
// concurrent use.
type Set struct {
	mu       sync.Mutex
	limiters map[string]*Limiter
}

// Limiter returns the limiter of a key. The limits are those of the first call. line holds the
// other processes that use the key; the most recent line is used, and nil means that there are
// none.
func (s *Set) Limiter(key string, l Limits, line Line) *Limiter {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.limiters == nil {
		s.limiters = map[string]*Limiter{}
	}
	lim := s.limiters[key]
	if lim == nil {
		lim = New(l)
		s.limiters[key] = lim
	}
	lim.mu.Lock()
	defer lim.mu.Unlock()
	lim.line = line
	return lim
}

// Waiting returns the number of calls that wait for their turn, over all keys.
func (s *Set) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, l := range s.limiters {
		l.mu.Lock()
		n += len(l.queue)
		l.mu.Unlock()
	}
	return n
}

// Limiter limits the rate of calls of one key. It is safe for concurrent use.
type Limiter struct {
	limits Limits

	mu         sync.Mutex
	queue      []*Ticket
	inFlight   int
	started    time.Time // last start, for RequestsPerMinute
	paused     time.Time // no start before this time, as the provider asked
	rejections int       // calls rejected since the last success
	window     int       // maximum calls in flight after a pause; 0 means no limit
	tokens     float64   // tokens left; negative after overuse
	counted    time.Time // time at which tokens was computed

	line       Line // nil means that the process has the whole limits
	share      share
	changed    chan struct{} // processes joined or left
	dirty      bool          // processes joined or left since the last look at the share
	refreshing chan struct{} // held while a ticket refreshes or the share is released
	idle       *time.Timer   // releases the share
	idleSince  time.Time     // when idle was started
}

// New returns a Limiter for a single process.
func New(l Limits) *Limiter {
	return &Limiter{limits: l, tokens: float64(l.TokensPerMinute), changed: make(chan struct{}, 1),
		refreshing: make(chan struct{}, 1)}
}

// Ticket is a position in the queue of a limiter. It belongs to one goroutine, except for Done,
// which any goroutine may call at any time, any number of times.
type Ticket struct {
	l    *Limiter
	wake chan struct{}
	done sync.Once
}

// Take adds a ticket to the end of the queue. The caller must call Leave, or a Start that succeeds
// followed by Done.
func (l *Limiter) Take() *Ticket {
	t := &Ticket{l: l, wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, t)
	return t
}

// Ready waits until the ticket is first in the queue and not blocked. It returns ctx's error if ctx
// is done first.
func (t *Ticket) Ready(ctx context.Context) error {
	for {
		if err := t.l.refreshShare(ctx, t); err != nil {
			return err
		}
		wait, ok, changed := t.l.wait(t)
		if ok && wait <= 0 {
			return ctx.Err()
		}
		var timer *time.Timer
		var due <-chan time.Time
		if ok || changed != nil {
			timer = time.NewTimer(wait)
			due = timer.C
		}
		select {
		case <-due:
		case <-t.wake:
		case <-changed:
			t.l.mu.Lock()
			t.l.dirty = true
			t.l.mu.Unlock()
		case <-ctx.Done():
		}
		if timer != nil {
			timer.Stop()
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// Start begins the call and reports whether it did. It returns false if something has blocked the
// ticket since Ready, which must then be called again.
func (t *Ticket) Start() bool {
	l := t.l
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	if wait, ok := l.obstacle(t, now); !ok || wait > 0 {
		return false
	}
	l.queue = l.queue[1:]
	l.inFlight++
	l.started = now
	l.wakeFirst()
	return true
}

// Leave removes the ticket from the queue.
func (t *Ticket) Leave() {
	l := t.l
	l.mu.Lock()
	defer l.mu.Unlock()
	for i, other := range l.queue {
		if other == t {
			l.queue = append(l.queue[:i:i], l.queue[i+1:]...)
			break
		}
	}
	l.wakeFirst()
	l.armIdle()
}

// maxRetryAfter is the maximum pause that a provider can request, so that one call that was
// rejected for a day does not stop all other calls of its key for that long.
const maxRetryAfter = 10 * time.Minute

// Outcome is the outcome of a call.
type Outcome struct {
	// Tokens is the number of tokens the call used, as far as known.
	Tokens int64
	// TurnedAway means that the provider rejected the call because of its limits. RetryAfter is the
	// delay that it requested; 0 means that it requested none.
	TurnedAway bool
	RetryAfter time.Duration
	// OK means that the call succeeded. A call that is neither TurnedAway nor OK says nothing about
	// the provider's limits.
	OK bool
}

// Done ends the call of a ticket that started. Only the first call of Done has an effect.
func (t *Ticket) Done(o Outcome) {
	t.done.Do(func() { t.l.end(o, time.Now()) })
}

func (l *Limiter) end(o Outcome, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.inFlight--
	if l.limits.TokensPerMinute > 0 {
		l.refill(now)
		l.tokens -= float64(max(o.Tokens, 0))
	}
	switch {
	case o.TurnedAway:
		l.rejections++
		pause := min(firstPause<<min(l.rejections-1, 10), maxPause)
		pause = max(min(o.RetryAfter, maxRetryAfter),
			pause/2+rand.N(pause/2+1)) //nolint:gosec // it spreads calls, it keeps no secret
		if until := now.Add(pause); until.After(l.paused) {
			l.paused = until
		}
		l.window = 1
	case o.OK:
		l.rejections = 0
		if l.window > 0 {
			if l.window++; l.window > maxWindow {
				l.window = 0
			}
		}
	}
	l.wakeFirst()
	l.armIdle()
}

// wakeFirst makes the first ticket check again. It is called with mu held.
func (l *Limiter) wakeFirst() {
	if len(l.queue) == 0 {
		return
	}
	select {
	case l.queue[0].wake <- struct{}{}:
	default:
	}
}

// wait returns how long a ticket has to wait, or false if it waits until it is woken. If the limits
// are shared, the first ticket also waits for changed, and for no longer than wait.
func (l *Limiter) wait(t *Ticket) (wait time.Duration, ok bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	wait, ok = l.obstacle(t, now)
	if !l.isShared() || len(l.queue) == 0 || l.queue[0] != t || ok && wait <= 0 {
		return wait, ok, nil
	}
	if next := l.nextRefresh(now); !ok || next < wait {
		wait = max(next, time.Millisecond)
	}
	return wait, ok, l.changed
}

// obstacle returns how long a ticket has to wait, or false if it waits until it is woken. It is
// called with mu held.
func (l *Limiter) obstacle(t *Ticket, now time.Time) (time.Duration, bool) {
	if len(l.queue) == 0 || l.queue[0] != t || !l.isKnown(now) || l.isTurnOver(now) {
		return 0, false
	}
	if l.limits.Concurrency > 0 && l.inFlight >= l.slots() || l.window > 0 && l.inFlight >= l.window {
		return 0, false
	}
	wait := max(0, l.paused.Sub(now))
	if n := l.limits.RequestsPerMinute; n > 0 {
		wait = max(wait, l.started.Add(time.Minute*time.Duration(l.parts())/time.Duration(n)).Sub(now))
	}
	if l.limits.TokensPerMinute > 0 {
		l.refill(now)
		if l.tokens < 1 {
			perToken := float64(time.Minute) / l.bucket()
			wait = max(wait, time.Duration((1-l.tokens)*perToken)+1)
		}
	}
	return wait, true
}

// bucket returns the number of tokens that this process may use per minute, which is also its burst
// size.
func (l *Limiter) bucket() float64 { return float64(l.limits.TokensPerMinute) / float64(l.parts()) }

// refill adds the tokens that accrued since the last call. It is called with mu held.
func (l *Limiter) refill(now time.Time) {
	if !l.counted.IsZero() {
		l.tokens = min(l.bucket(), l.tokens+now.Sub(l.counted).Minutes()*l.bucket())
	}
	l.counted = now
}
