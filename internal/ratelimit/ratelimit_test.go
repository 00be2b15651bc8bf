package ratelimit_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/leaktest"
	"github.com/hocket-run/hocket/internal/ratelimit"
)

func TestMain(m *testing.M) { leaktest.Main(m) }

// startTimes makes n simultaneous calls through l, each taking took, and returns their start times,
// in order.
func startTimes(t *testing.T, l *ratelimit.Limiter, n int, took time.Duration,
	outcome func(start time.Duration) ratelimit.Outcome) (starts []time.Duration, most int) {
	t.Helper()
	var (
		wg     sync.WaitGroup
		mu     sync.Mutex
		flying int
	)
	began := time.Now()
	for range n {
		ticket := l.Take()
		wg.Go(func() {
			for {
				if err := ticket.Ready(t.Context()); err != nil {
					t.Error(err)
					ticket.Leave()
					return
				}
				if ticket.Start() {
					break
				}
			}
			at := time.Since(began)
			mu.Lock()
			starts = append(starts, at)
			flying++
			most = max(most, flying)
			mu.Unlock()
			time.Sleep(took)
			mu.Lock()
			flying--
			mu.Unlock()
			ticket.Done(outcome(at))
			ticket.Done(ratelimit.Outcome{TurnedAway: true, RetryAfter: time.Hour}) // only the first one counts
		})
	}
	wg.Wait()
	return starts, most
}

func ok(time.Duration) ratelimit.Outcome { return ratelimit.Outcome{OK: true, Tokens: 100} }

// TestLimits checks P14: calls keep the spacing that a key's rate requires, however many arrive at
// once, and the limit on calls in flight is never exceeded.
func TestLimits(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		limits ratelimit.Limits
		took   time.Duration
		apart  time.Duration // between two starts, from the second on
		most   int
		last   time.Duration // start of the 20th call
	}{
		"nothing": {took: time.Second, most: 20},
		"requests": {limits: ratelimit.Limits{RequestsPerMinute: 600}, took: time.Millisecond,
			apart: 100 * time.Millisecond, most: 1, last: 1900 * time.Millisecond},
		"concurrency": {limits: ratelimit.Limits{Concurrency: 4}, took: time.Second, most: 4,
			last: 4 * time.Second},
		"requests, slow ones": {limits: ratelimit.Limits{RequestsPerMinute: 60, Concurrency: 2}, took: 4 * time.Second,
			most: 2, last: 37 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				starts, most := startTimes(t, ratelimit.New(tc.limits), 20, tc.took, ok)
				for i := 1; i < len(starts); i++ {
					if d := starts[i] - starts[i-1]; d < tc.apart {
						t.Errorf("call %d began %s after the one before", i+1, d)
					}
				}
				if most != tc.most || starts[19] != tc.last {
					t.Errorf("%d in flight, the last began at %s; want %d and %s", most, starts[19], tc.most, tc.last)
				}
			})
		})
	}
}

// TestTokens checks P14: tokens that were used must be refilled before the next call begins.
func TestTokens(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(ratelimit.Limits{TokensPerMinute: 600, Concurrency: 1})
		starts, _ := startTimes(t, l, 20, 0, ok)
		// 1,900 tokens before it: a burst of 600, then ten a second
		if at := starts[19]; at < 2*time.Minute || at > 2*time.Minute+20*time.Second {
			t.Errorf("the 20th call began at %s", at)
		}
	})
}

// TestLimiter_RateLimitResponse checks P14 and D11: after a provider rejects a call, no run calls
// it for as long as it asked; then calls start one at a time, and their number grows.
func TestLimiter_RateLimitResponse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ asked, least, most time.Duration }{
		"for a time": {30 * time.Second, 30 * time.Second, 30 * time.Second},
		"for none":   {0, 500 * time.Millisecond, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				l := ratelimit.New(ratelimit.Limits{Concurrency: 8})
				first := l.Take()
				if err := first.Ready(t.Context()); err != nil || !first.Start() {
					t.Fatal(err)
				}
				first.Done(ratelimit.Outcome{TurnedAway: true, RetryAfter: tc.asked})
				starts, most := startTimes(t, l, 20, time.Second, ok)
				if starts[0] < tc.least || starts[0] > tc.most {
					t.Errorf("the pause lasted %s, want %s to %s", starts[0], tc.least, tc.most)
				}
				if d := starts[1] - starts[0]; d != time.Second {
					t.Errorf("the second call began %s after the first: the first has to succeed before it", d)
				}
				if starts[3] != starts[2]+time.Second || starts[2] != starts[1] || most < 4 {
					t.Errorf("calls did not grow in number: %v", starts)
				}
			})
		})
	}
}

// TestLimiter_QueueOrder checks that a ticket that lost its turn waits again in its position, that
// a ticket that leaves lets the next one proceed, and that a context that is done ends the wait.
func TestLimiter_QueueOrder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		l := ratelimit.New(ratelimit.Limits{Concurrency: 2})
		one, two, three := l.Take(), l.Take(), l.Take()
		if err := one.Ready(t.Context()); err != nil || !one.Start() {
			t.Fatal(err)
		}
		if err := two.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		one.Done(ratelimit.Outcome{TurnedAway: true, RetryAfter: time.Minute})
		if two.Start() || three.Start() {
			t.Error("a call began while the key paused")
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if err := two.Ready(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("waiting ended with %v", err)
		}
		two.Leave()
		began := time.Now()
		if err := three.Ready(t.Context()); err != nil || !three.Start() || time.Since(began) != time.Minute {
			t.Errorf("the next one began after %s, %v", time.Since(began), err)
		}
		three.Done(ratelimit.Outcome{})
	})
}

// TestSet checks that a Set has one limiter per key.
func TestSet(t *testing.T) {
	t.Parallel()
	var s ratelimit.Set
	a := s.Limiter("a", ratelimit.Limits{Concurrency: 1}, nil)
	if s.Limiter("a", ratelimit.Limits{}, nil) != a || s.Limiter("b", ratelimit.Limits{}, nil) == a {
		t.Error("limiters are mixed up")
	}
}

// TestWaiting checks that waiting calls are counted over all keys.
func TestWaiting(t *testing.T) {
	t.Parallel()
	var set ratelimit.Set
	one, other := set.Limiter("a", ratelimit.Limits{Concurrency: 1}, nil), set.Limiter("b", ratelimit.Limits{}, nil)
	first, second, third := one.Take(), one.Take(), other.Take()
	if n := set.Waiting(); n != 3 {
		t.Errorf("%d wait, want 3", n)
	}
	if err := first.Ready(t.Context()); err != nil || !first.Start() {
		t.Fatal("the first has no turn", err)
	}
	third.Leave()
	if n := set.Waiting(); n != 1 {
		t.Errorf("%d wait, want 1", n)
	}
	second.Leave()
	first.Done(ratelimit.Outcome{OK: true})
	if n := set.Waiting(); n != 0 {
		t.Errorf("%d wait, want none", n)
	}
}
