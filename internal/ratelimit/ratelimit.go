package ratelimit

import (
	"context"
	"math/rand/v2"
	"sync"
	"time"
)

// Limits are what a provider takes of one key. Zero fields bound nothing.
type Limits struct {
	// RequestsPerMinute spaces the calls evenly: 600 is one each 100 ms, and never two at once.
	RequestsPerMinute int `json:"requestsPerMinute,omitempty"`
	// TokensPerMinute bounds input and output together. A call may begin while any are left; what it used is taken off when it is done.
	TokensPerMinute int64 `json:"tokensPerMinute,omitempty"`
	// Concurrency bounds the calls in flight.
	Concurrency int `json:"concurrency,omitempty"`
}

// How long a key pauses whose provider does not say: the first time, and at most.
const (
	firstPause = time.Second
	maxPause   = time.Minute
)

// maxWindow is the number of calls in flight from which a key counts as recovered.
const maxWindow = 64

// Set is the limiters of a process by key. The zero Set is ready for use. Safe for concurrent use.
type Set struct {
	mu       sync.Mutex
	limiters map[string]*Limiter
}

// Limiter gives the limiter of a key. The limits are those of the first call. Other processes that use the key are in line, of which the last one given is used; nil: there are none.
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

// Waiting gives how many calls wait for their turn, of all keys.
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

// Limiter paces the calls of one key. Safe for concurrent use.
type Limiter struct {
	limits Limits

	mu       sync.Mutex
	queue    []*Ticket
	inFlight int
	started  time.Time // the last start, for RequestsPerMinute
	paused   time.Time // no start before it, because the provider said so
	strikes  int       // calls turned away since one succeeded
	window   int       // calls that may be in flight after a pause; 0: any number
	tokens   float64   // that are left, below 0 where more were used
	counted  time.Time // when tokens was right

	line    Line // nil: this process has all
	share   share
	changed chan struct{} // processes came or went
	dirty   bool          // so did they since share was looked at
	looking chan struct{} // held by the ticket that looks, or by what gives the share up
	idle    *time.Timer   // gives the share up
	rested  time.Time     // when idle was started
}

// New makes a Limiter of this process alone.
func New(l Limits) *Limiter {
	return &Limiter{limits: l, tokens: float64(l.TokensPerMinute), changed: make(chan struct{}, 1), looking: make(chan struct{}, 1)}
}

// Ticket is a place in the queue of a limiter. It belongs to one goroutine, but for Done, which any may call, at any time, as often as it likes.
type Ticket struct {
	l    *Limiter
	wake chan struct{}
	done sync.Once
}

// Take takes a place at the end of the queue. The caller owes a Leave, or a Start that succeeds and a Done.
func (l *Limiter) Take() *Ticket {
	t := &Ticket{l: l, wake: make(chan struct{}, 1)}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.queue = append(l.queue, t)
	return t
}

// Ready waits until the ticket is the first one and nothing blocks it. Errors: ctx's, when it is done first.
func (t *Ticket) Ready(ctx context.Context) error {
	for {
		if err := t.l.look(ctx, t); err != nil {
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

// Start takes the turn. False: something came in the way since Ready, which has to be asked again.
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

// Leave gives the place up.
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
	l.rests()
}

// maxAsked bounds the pause that a provider asks for: one call that was turned away for a day does not stop all others of its key for so long.
const maxAsked = 10 * time.Minute

// Outcome is what became of a call.
type Outcome struct {
	// Tokens are those that it used, as far as is known.
	Tokens int64
	// TurnedAway: the provider takes no more for now. RetryAfter is how long it asked to wait; 0: it did not say.
	TurnedAway bool
	RetryAfter time.Duration
	// OK: the call succeeded. One that is neither turned away nor OK tells nothing of the provider's limits.
	OK bool
}

// Done ends the call of a ticket that started. Only the first Done counts.
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
		l.strikes++
		pause := min(firstPause<<min(l.strikes-1, 10), maxPause)
		pause = max(min(o.RetryAfter, maxAsked), pause/2+rand.N(pause/2+1)) //nolint:gosec // it spreads calls, it keeps no secret
		if until := now.Add(pause); until.After(l.paused) {
			l.paused = until
		}
		l.window = 1
	case o.OK:
		l.strikes = 0
		if l.window > 0 {
			if l.window++; l.window > maxWindow {
				l.window = 0
			}
		}
	}
	l.wakeFirst()
	l.rests()
}

// wakeFirst lets the first ticket look again. It is called with mu held.
func (l *Limiter) wakeFirst() {
	if len(l.queue) == 0 {
		return
	}
	select {
	case l.queue[0].wake <- struct{}{}:
	default:
	}
}

// wait tells how long a ticket has to wait; false: until it is woken. Where the limits are shared the first one also waits for changed, and for wait at most.
func (l *Limiter) wait(t *Ticket) (wait time.Duration, ok bool, changed <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	wait, ok = l.obstacle(t, now)
	if !l.isShared() || len(l.queue) == 0 || l.queue[0] != t || ok && wait <= 0 {
		return wait, ok, nil
	}
	if next := l.nextLook(now); !ok || next < wait {
		wait = max(next, time.Millisecond)
	}
	return wait, ok, l.changed
}

// obstacle tells how long a ticket has to wait; false: until it is woken. It is called with mu held.
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

// bucket is how many tokens this process may use in a minute, and at once.
func (l *Limiter) bucket() float64 { return float64(l.limits.TokensPerMinute) / float64(l.parts()) }

// refill adds the tokens that came back since it was called last. It is called with mu held.
func (l *Limiter) refill(now time.Time) {
	if !l.counted.IsZero() {
		l.tokens = min(l.bucket(), l.tokens+now.Sub(l.counted).Minutes()*l.bucket())
	}
	l.counted = now
}
