package ratelimit_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/ratelimit"
)

// line is the line of processes that use a key.
type line struct {
	mu     sync.Mutex
	last   uint64
	places []uint64
	subs   map[chan<- struct{}]bool
	broken bool   // unreachable for all processes
	asked  func() // called when a standing is read
}

var errBroken = errors.New("the store cannot be reached")

func (l *line) with(do func()) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken {
		return errBroken
	}
	do()
	return nil
}

// signal notifies all subscribers that the line changed. mu is held.
func (l *line) signal() {
	for c := range l.subs {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

func (l *line) Enter(context.Context) (place uint64, err error) {
	err = l.with(func() {
		l.last++
		place = l.last
		l.places = append(l.places, place)
		l.signal()
	})
	return place, err
}

func (l *line) Position(_ context.Context, place uint64) (before, all int, err error) {
	err = l.with(func() { before, all = slices.Index(l.places, place), len(l.places) })
	if l.asked != nil {
		l.asked()
	}
	if before < 0 {
		err = fmt.Errorf("place %d: %w", place, ratelimit.ErrLost)
	}
	return before, all, err
}

func (l *line) Leave(_ context.Context, place uint64) error {
	return l.with(func() {
		l.places = slices.DeleteFunc(l.places, func(p uint64) bool { return p == place })
		l.signal()
	})
}

func (l *line) Changed(c chan<- struct{}) (stop func()) {
	_ = l.with(func() {
		if l.subs == nil {
			l.subs = map[chan<- struct{}]bool{}
		}
		l.subs[c] = true
	})
	return func() { _ = l.with(func() { delete(l.subs, c) }) }
}

// count is a provider that counts the calls of all processes.
type count struct {
	mu     sync.Mutex
	starts []time.Time
	of     map[int]int
	flying int
	most   int
}

func (c *count) call(process int, took time.Duration) {
	c.mu.Lock()
	c.starts = append(c.starts, time.Now())
	c.of[process]++
	c.flying++
	c.most = max(c.most, c.flying)
	c.mu.Unlock()
	time.Sleep(took)
	c.mu.Lock()
	c.flying--
	c.mu.Unlock()
}

// made returns the number of calls that began.
func (c *count) made() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.starts)
}

// within returns the number of calls that began between from and to.
func (c *count) within(from, to time.Time) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, at := range c.starts {
		if !at.Before(from) && at.Before(to) {
			n++
		}
	}
	return n
}

// process makes calls through its own limiter, always the same number concurrently, until ctx is
// done.
func process(ctx context.Context, wg *sync.WaitGroup, id int, l ratelimit.Limits, shared *line, c *count,
	took time.Duration, atOnce int, used int64) *ratelimit.Limiter {
	var set ratelimit.Set
	lim := set.Limiter("key", l, shared)
	for range atOnce {
		wg.Go(func() {
			for ctx.Err() == nil {
				t := lim.Take()
				for started := false; !started; started = t.Start() {
					if t.Ready(ctx) != nil {
						t.Leave()
						return
					}
				}
				c.call(id, took)
				t.Done(ratelimit.Outcome{OK: true, Tokens: used})
			}
		})
	}
	return lim
}

// TestShares (P14) checks that three processes that join and leave together stay within the limits
// of a key, to within one process's share, and use most of them.
func TestShares(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limits ratelimit.Limits
		took   time.Duration
		used   int64
		most   int    // in flight
		minute [3]int // allowed calls a minute with one, two and three processes: one share more than the limit
		least  int    // per minute
	}{
		"requests": {ratelimit.Limits{RequestsPerMinute: 120}, time.Second, 0, 1000,
			[3]int{121, 182, 162}, 115},
		"concurrency":            {ratelimit.Limits{Concurrency: 5}, time.Second, 0, 5 + 3, [3]int{303, 303, 303}, 280},
		"fewer calls than three": {ratelimit.Limits{Concurrency: 2}, time.Second, 0, 2 + 1, [3]int{121, 121, 121}, 100},
		"tokens": {ratelimit.Limits{TokensPerMinute: 6000, Concurrency: 3}, 100 * time.Millisecond, 100,
			3 + 2, [3]int{130, 100, 90}, 50},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var (
					wg     sync.WaitGroup
					shared line
					c      = count{of: map[int]int{}}
					stops  []context.CancelFunc
					phases = []time.Time{time.Now()}
				)
				phase := func() {
					time.Sleep(3 * time.Minute)
					phases = append(phases, time.Now())
				}
				for id := range 3 { // they join
					ctx, cancel := context.WithCancel(t.Context())
					stops = append(stops, cancel)
					process(ctx, &wg, id, tc.limits, &shared, &c, tc.took, 8, tc.used)
					phase()
				}
				for i, stop := range stops { // they leave
					stop()
					if i < 2 {
						phase()
					}
				}
				wg.Wait()
				if c.most > tc.most {
					t.Errorf("%d calls in flight, want at most %d", c.most, tc.most)
				}
				for i, n := range []int{1, 2, 3, 2, 1} {
					for from := phases[i]; !from.Add(time.Minute).After(phases[i+1]); from = from.Add(
						10 * time.Second) {
						got := c.within(from, from.Add(time.Minute))
						if got > tc.minute[n-1] {
							t.Errorf("%d processes: %d calls in the minute from %s on, want at most %d", n, got,
								from.Sub(phases[0]), tc.minute[n-1])
						}
						if settled := from.Sub(phases[i]) >= 90*time.Second; settled && got < tc.least {
							t.Errorf("%d processes: %d calls in the minute from %s on, want at least %d", n, got,
								from.Sub(phases[0]), tc.least)
						}
					}
				}
				for id := range 3 {
					if c.of[id] < tc.least {
						t.Errorf("process %d made %d calls", id, c.of[id])
					}
				}
				time.Sleep(2 * time.Minute) // unused shares are released
				shared.mu.Lock()
				defer shared.mu.Unlock()
				if n := len(shared.places); n != 0 || len(shared.subs) != 0 {
					t.Errorf("%d places are left, %d subscriptions", n, len(shared.subs))
				}
			})
		})
	}
}

// TestSharesUnused (P14) checks that a process that makes no calls for a minute leaves its share to
// the others, and gets one again with its next call.
func TestSharesUnused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			wg      sync.WaitGroup
			shared  line
			c       = count{of: map[int]int{}}
			limits  = ratelimit.Limits{RequestsPerMinute: 60}
			ctx, on = context.WithCancel(t.Context())
			set     ratelimit.Set
		)
		once := func() {
			ticket := set.Limiter("key", limits, &shared).Take()
			for started := false; !started; started = ticket.Start() {
				if err := ticket.Ready(t.Context()); err != nil {
					t.Error(err)
				}
			}
			ticket.Done(ratelimit.Outcome{OK: true})
		}
		once()
		process(ctx, &wg, 0, limits, &shared, &c, 0, 1, 0)
		time.Sleep(50 * time.Second)
		if n := c.made(); n < 24 || n > 26 {
			t.Errorf("%d calls in 50 s beside another process, want half of the limit", n)
		}
		time.Sleep(30 * time.Second)
		from := time.Now()
		time.Sleep(time.Minute)
		if n := c.within(from, time.Now()); n < 59 || n > 61 {
			t.Errorf("%d calls in a minute after the other rests, want the whole limit", n)
		}
		once()
		from = time.Now()
		time.Sleep(30 * time.Second)
		if n := c.within(from, time.Now()); n > 16 {
			t.Errorf("%d calls in 30 s beside another process", n)
		}
		on()
		wg.Wait()
	})
}

// TestSharesUnknown (P14) checks that a process that does not know its share makes no calls, that a
// process that can no longer check its standing stops once it may be presumed dead, and that a
// process that lost its place takes another.
func TestSharesUnknown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			wg      sync.WaitGroup
			shared  = line{broken: true}
			c       = count{of: map[int]int{}}
			ctx, on = context.WithCancel(t.Context())
		)
		heal := func(broken bool) {
			shared.mu.Lock()
			defer shared.mu.Unlock()
			shared.broken = broken
		}
		process(ctx, &wg, 0, ratelimit.Limits{RequestsPerMinute: 600}, &shared, &c, 0, 1, 0)
		time.Sleep(10 * time.Second)
		if c.made() != 0 {
			t.Errorf("%d calls before the part was known", len(c.starts))
		}
		heal(false)
		time.Sleep(10 * time.Second)
		if n := c.made(); n < 80 {
			t.Errorf("%d calls in 10 s", n)
		}
		heal(true)
		from := time.Now()
		time.Sleep(time.Minute)
		if n := c.within(from, time.Now()); n > 150 || n < 90 {
			t.Errorf("%d calls in a minute without the store, want those of about 15 s", n)
		}
		shared.mu.Lock()
		shared.broken, shared.places = false, nil
		shared.mu.Unlock()
		from = time.Now()
		time.Sleep(10 * time.Second)
		if n := c.within(from, time.Now()); n < 80 {
			t.Errorf("%d calls in 10 s in a new place", n)
		}
		on()
		wg.Wait()
	})
}

// TestSharesCancelled checks that a call abandoned while its process takes a place leaves no place
// behind.
func TestSharesCancelled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var set ratelimit.Set
		shared := &line{}
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			shared.asked = cancel
			turn := set.Limiter("key", ratelimit.Limits{Concurrency: 4}, shared).Take()
			_ = turn.Ready(ctx) // the first is abandoned; the others may pass
			turn.Leave()
			cancel()
		}
		shared.mu.Lock()
		if n := len(shared.places); n > 1 {
			t.Errorf("the process has %d places", n)
		}
		shared.mu.Unlock()
		time.Sleep(5 * time.Minute)
		shared.mu.Lock()
		defer shared.mu.Unlock()
		if len(shared.places)+len(shared.subs) > 0 {
			t.Errorf("an idle process has the places %d and %d subscriptions", shared.places, len(shared.subs))
		}
	})
}
