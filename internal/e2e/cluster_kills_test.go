//go:build unix

package e2e_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/killtest"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/randtest"
)

// TestClusterKills checks three servers that share runs on PostgreSQL while one after another is
// killed at a random moment and restarted. Every run ends, no call whose reply is stored is
// repeated, and the tool that is not safe to repeat is called again only if a person said so (P12,
// P18, D8). HOCKET_KILLS sets the number of kills.
func TestClusterKills(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "several servers on PostgreSQL; internal/killtest kills one process, internal/driver/drivertest "+
		"has takeovers and fenced writes on each store")
	faultmatrix.Proves(t, "killed-in-call")
	newCluster(t, pgtest.URL(t)).survives(killtest.Kills())
}

// survives lets three servers share runs, kills one after another at a random moment, and restarts
// it. All runs must end and pass check.
func (c *cluster) survives(kills int) {
	t := c.t
	t.Helper()
	const servers, runsOfRound = 3, 2
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute+time.Duration(kills)*5*time.Second)
	defer cancel()
	rnd := randtest.New(t)
	for range servers {
		c.join("")
	}
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	var people sync.WaitGroup
	for round := range kills {
		for i := range runsOfRound {
			people.Go(func() {
				c.waitCompleted(ctx, c.start(ctx, "order", fmt.Sprintf("round %d order %d", round, i)))
			})
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
	t.Logf("%d kills, %d runs: %d calls of models and %d of the tool were made again, %d times a person was asked",
		kills, kills*runsOfRound, l.calls, l.tools, l.asked)
}

// lost counts what the kills cost.
type lost struct{ calls, tools, asked int }

// check compares the journals with what models and the tool saw, after all runs have ended (D8,
// P12, P18):
//
//  1. Each call has one reply in the journals: that of the last time it was made. So no call whose
//     reply was stored was repeated.
//  2. For each earlier time, the process that made it was killed later, and it was one of the few
//     calls that the run had in flight.
//  3. The tool's calls were repeated no more often than a person allowed.
//
// If calls may be repeated although their processes are alive, the reply in the journals may be
// that of any time.
func (c *cluster) check() lost {
	c.t.Helper()
	stored, ofRun := map[string]int{}, map[string]string{}
	for run, events := range c.journals() {
		for _, e := range events {
			text := ""
			switch d := e.Data.(type) {
			case *event.ModelReplied:
				if text = d.Message.Text.String(); len(d.Message.ToolCalls) > 0 {
					text = string(d.Message.ToolCalls[0].Arguments)
				}
			case *event.ToolReturned:
				text = d.Text
			}
			if reply := replied.FindString(text); reply != "" {
				stored[reply]++
				ofRun[reply] = run
			}
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var l lost
	byKey := map[string][]*call{}
	for _, m := range c.calls {
		byKey[m.key] = append(byKey[m.key], m)
	}
	under := map[string]int{} // lost calls, by run and member
	again := map[string]int{} // repeated tool calls, by run
	for key, calls := range byKey {
		slices.SortStableFunc(calls, func(a, b *call) int { return a.at.Compare(b.at) })
		last := calls[len(calls)-1]
		run := ofRun[last.reply]
		n := 0
		for _, m := range calls {
			n += stored[m.reply]
		}
		if n != 1 || stored[last.reply] != 1 && !c.repeats {
			c.t.Errorf("call %s was made %d times; the journals have %d of its replies, and the last one %d times", key,
				len(calls), n, stored[last.reply])
		}
		for _, m := range calls[:len(calls)-1] {
			switch {
			case m.by != nil && c.repeats:
				l.calls++
			case !c.repeats && stored[m.reply] > 0:
				c.t.Errorf("call %s of member %d was made again by member %d although its reply was stored (D8)", key,
					m.number(), last.number())
			case m.by == nil:
				l.tools++
				again[run]++
			case !m.by.killed:
				c.t.Errorf("call %s was made again although who made it was not killed", key)
			default:
				l.calls++
				under[fmt.Sprint(run, " ", m.by.number)]++
			}
		}
	}
	for at, n := range under {
		if n > orderWidth {
			c.t.Errorf("%s: %d calls were lost, of %d that were under way at once", at, n, orderWidth)
		}
	}
	for run, n := range again {
		if n > c.asked[run] {
			c.t.Errorf("run %s: the tool was called again %d times, and a person was asked %d times (P12)", run, n,
				c.asked[run])
		}
	}
	for _, n := range c.asked {
		l.asked += n
	}
	return l
}

// number returns the number of the member that made a model call, or 0 for tool calls.
func (m *call) number() int {
	if m.by == nil {
		return 0
	}
	return m.by.number
}
