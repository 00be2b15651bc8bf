package e2e_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/randtest"
)

// clocked builds the program with a wall clock that tests can set while it runs.
func clocked(t *testing.T) string {
	t.Helper()
	return variant(t, map[string]string{
		"cmd/hocket/clock.go":      read(t, "testdata/clock/clock.go"),
		"cmd/hocket/clock_amd64.s": read(t, "testdata/clock/clock_amd64.s"),
	})
}

// clock is the wall clock of one server.
type clock struct {
	file   string
	ahead  time.Duration
	member *member
}

// set sets the clock, and waits until the server uses it.
func (k *clock) set(ctx context.Context, c *cluster, ahead time.Duration) {
	c.t.Helper()
	k.write(c.t, ahead)
	c.until(ctx, "the server has the time that it was given", func() bool {
		data, err := os.ReadFile(k.file + ".is")
		return err == nil && string(data) == strconv.Itoa(int(ahead/time.Second))
	})
}

func (k *clock) write(t *testing.T, ahead time.Duration) {
	t.Helper()
	k.ahead = ahead
	next := k.file + ".next"
	if err := os.WriteFile(next, []byte(strconv.Itoa(int(ahead/time.Second))), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, k.file); err != nil {
		t.Fatal(err)
	}
}

// joinAt starts a server whose clock is ahead, and returns the clock.
func (c *cluster) joinAt(program string, ahead time.Duration) *clock {
	c.t.Helper()
	k := &clock{file: filepath.Join(c.home, fmt.Sprint("clock", c.last+1))}
	k.write(c.t, ahead)
	c.env = []string{"HOCKET_TEST_PROGRAM=" + program, "HOCKET_TEST_CLOCK=" + k.file}
	k.member = c.join("")
	return k
}

// ticks returns the number of planned times of the schedule whose runs have ended.
func (c *cluster) ticks(ctx context.Context) int {
	c.t.Helper()
	_, data := c.ask(ctx, http.MethodGet, "/runs?limit=200&workflow=tick&status=completed", "")
	return strings.Count(string(data), `"workflow":"tick"`)
}

// TestClockChanged checks three servers with different clocks that execute a schedule and drive
// runs. Their clocks are set back an hour and forward at random, and leaders are killed. Each
// planned time has one run, and runs continue whatever the clock says (P37). The servers report if
// their clock differs from PostgreSQL's.
func TestClockChanged(t *testing.T) {
	t.Parallel()
	longtest.Only(t, "it builds a program with another clock; internal/driver/embedded.TestLiveness_ObserverClock has "+
		"clocks that differ")
	faultmatrix.Proves(t, "clock-back")
	const rounds = 6
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	rnd := randtest.New(t)
	c := newCluster(t, pgtest.URL(t))
	program := clocked(t)
	all := []*clock{c.joinAt(program, 0), c.joinAt(program, 6*time.Second), c.joinAt(program, -time.Hour)}
	for i, k := range all {
		if warned := strings.Contains(k.member.said(),
			"the clocks of this machine and of the PostgreSQL server differ"); warned != (i > 0) {
			t.Errorf("a server whose clock is %s ahead warns: %t\n%s", k.ahead, warned, k.member.said())
		}
	}
	c.apply("order", fmt.Sprintf(order, c.book.URL))
	c.apply("tick", tick)
	top := 6 * time.Second // the furthest that any clock was ahead
	for round := range rounds {
		release := c.hold()
		runs := make([]string, len(all))
		for i, k := range all {
			runs[i], _ = c.startAt(ctx, k.member, fmt.Sprintf("round %d order %d", round, i))
		}
		for _, k := range all { // during their calls
			k.set(ctx, c, k.ahead-time.Hour)
		}
		release()
		for _, run := range runs {
			c.waitCompleted(ctx, run)
		}
		for i, k := range all {
			if strings.Contains(k.member.said(), "msg=leading") && round%2 == 1 {
				c.kill(k.member)
				all[i] = c.joinAt(program, k.ahead)
			}
		}
		// Every clock differs again, and is later than any was before, so that planned times arrive
		// whichever server leads.
		from := top
		for _, k := range all {
			ahead := from + time.Duration(1+rnd.IntN(1800))*time.Second
			top = max(top, ahead)
			k.set(ctx, c, ahead)
		}
		before := c.ticks(ctx)
		c.until(ctx, "the schedule goes on", func() bool { return c.ticks(ctx) >= before+2 })
	}
	if status, data := c.ask(ctx, http.MethodDelete, "/workflows/tick", ""); status != http.StatusNoContent {
		t.Fatalf("%d %s", status, data)
	}
	c.waitIdle(ctx)
	l, slots := c.check(), c.onePerSlot()
	if slots < 2*rounds {
		t.Errorf("%d planned times had runs", slots)
	}
	t.Logf("%d planned times, clocks up to %s ahead; %d calls of servers that were killed were made again", slots, top,
		l.calls)
}
