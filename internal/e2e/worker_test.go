//go:build unix

package e2e_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/pgtest"
)

// pairOfAgents is a workflow with two calls.
const pairOfAgents = "agents:\n  a: {model: openai/m, instruction: a}\n  b: {model: openai/m, instruction: " +
	"b}\nworkflow:\n  - {type: agent, name: a}\n  - {type: agent, name: b}\n"

// byMember returns the number of model calls that each member made.
func (c *cluster) byMember() map[int]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	by := map[int]int{}
	for _, m := range c.calls {
		if m.by != nil {
			by[m.by.number]++
		}
	}
	return by
}

// haveMade returns a function that reports whether n calls were made.
func (c *cluster) haveMade(n int) func() bool {
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.calls) >= n
	}
}

// TestWorkers checks a server that drives nothing and starts 500 runs, which two workers share. One
// worker is killed as by `kill -9`, and another one drains. All runs end, no call whose reply is
// stored is repeated, and no call of the draining worker is repeated at all (D8, P18).
func TestWorkers(t *testing.T) {
	t.Parallel()
	const runs, calls = 500, 2
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	c := newCluster(t, pgtest.URL(t))
	front := c.join("", "--no-drive")
	c.apply("pair", pairOfAgents)
	victim, leaving := c.work("--place", "one"), c.work("--place", "two")
	var all sync.WaitGroup
	room := make(chan struct{}, 100) // concurrent clients
	for i := range runs {
		all.Go(func() {
			room <- struct{}{}
			run := c.start(ctx, "pair", fmt.Sprint("run ", i))
			<-room
			c.waitCompleted(ctx, run)
		})
	}
	c.until(ctx, "a third of the calls are made", c.haveMade(runs*calls/3))
	c.kill(victim)
	c.work("--place", "three")
	c.until(ctx, "two thirds of the calls are made", c.haveMade(runs*calls*2/3))
	if err := leaving.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	<-leaving.done
	if err := leaving.cmd.Wait(); err != nil {
		t.Errorf("a worker that was told to end: %v\n%s", err, leaving.said())
	}
	all.Wait()
	l, by := c.check(), c.byMember()
	if len(c.calls) != runs*calls+l.calls || by[front.number] != 0 || len(by) != 3 {
		t.Errorf("%d calls, by member %v, want %d and the %d that were lost, by three workers", len(c.calls), by,
			runs*calls, l.calls)
	}
	t.Logf("calls by member: %v; %d were in progress at the kill and made again", by, l.calls)
}

// TestWorkerPlace checks that runs that need the programs of a machine wait visibly while no
// process has its place, and continue when one has it. They can be answered and cancelled
// meanwhile.
func TestWorkerPlace(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	c := newCluster(t, pgtest.URL(t))
	tools := filepath.Join(c.home, "tools.yaml")
	if err := os.WriteFile(tools, []byte("toolsets:\n  - type: shell\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c.join("", "--no-drive", "--place", "gpu1", "--tools", tools)
	c.apply("pair", pairOfAgents)
	other := c.work("--place", "other")
	run, gone := c.start(ctx, "pair", "placed"), c.start(ctx, "pair", "cancelled")
	show := func(run string) (o struct{ Status, WaitingFor string }) {
		_, data := c.ask(ctx, http.MethodGet, "/runs/"+run, "")
		if err := json.Unmarshal(data, &o); err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		return o
	}
	if o := show(run); o.WaitingFor != "gpu1" {
		t.Errorf("a run whose place is gone: %+v", o)
	}
	if status, data := c.ask(ctx, http.MethodPost, "/runs/"+run+"/resume", "{}"); status != http.StatusConflict ||
		!json.Valid(data) {
		t.Errorf("resume: %d %s", status, data)
	}
	if status, data := c.ask(ctx, http.MethodPost, "/runs/"+gone+"/cancel", "{}"); status != http.StatusOK {
		t.Errorf("cancel: %d %s", status, data)
	}
	here := c.work("--place", "gpu1")
	c.waitCompleted(ctx, run)
	c.check()
	if by := c.byMember(); by[other.number] != 0 || by[here.number] != 2 {
		t.Errorf("calls by member: %v", by)
	}
	if o := show(gone); o.Status != "cancelled" {
		t.Errorf("the other run is %+v", o)
	}
}
