//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/randtest"
)

// TestClusterKills: three servers share runs on PostgreSQL, and one after another is killed at a moment drawn at random and started again. Every run ends, no call is made again whose reply is stored,
// and the tool that is not safe to repeat is called again only where a person said so (P12, P18, D8). HOCKET_KILLS says how many kills.
func TestClusterKills(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "killed-in-call")
	const servers, runsOfRound = 3, 2
	kills := killtest.Kills()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute+time.Duration(kills)*5*time.Second)
	defer cancel()
	c := newCluster(t, pgtest.URL(t))
	rnd := randtest.New(t)
	for range servers {
		c.join("")
	}
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	var people sync.WaitGroup
	for round := range kills {
		for i := range runsOfRound {
			people.Go(func() { c.ended(ctx, c.start(ctx, "order", fmt.Sprintf("round %d order %d", round, i))) })
		}
		select {
		case <-time.After(time.Duration(rnd.Int64N(int64(200 * time.Millisecond)))):
		case <-ctx.Done():
			t.Fatal("the time is over")
		}
		c.mu.Lock()
		victim := c.members[rnd.IntN(len(c.members))]
		c.mu.Unlock()
		c.kill(victim)
		c.join("")
	}
	people.Wait()
	l := c.check()
	if want := kills * runsOfRound * orderCalls; len(c.calls) != want+l.calls+l.tools {
		t.Errorf("%d calls, want %d and the %d that were lost", len(c.calls), want, l.calls+l.tools)
	}
	t.Logf("%d kills, %d runs: %d calls of models and %d of the tool were made again, %d times a person was asked", kills, kills*runsOfRound, l.calls, l.tools, l.asked)
}
