package drivertest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
)

// enqueue starts a run that requests the only slot of a queue, as package service does.
func enqueue(t *testing.T, c Cluster, p Process, run string, f *flow) {
	t.Helper()
	slot, s := journal.Slot{Name: "queue", Run: run, Max: 1}, c.Store()
	turn, err := s.Queue(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(t.Context(), driver.Spec{Run: run, Workflow: f.workflow(), Input: text("in"), Slot: &slot,
		Queued: !turn.Admitted}); err != nil {
		t.Fatal(err)
	}
	if err := s.Confirm(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

// queued checks that a run is stored and does nothing before its turn.
func queued(t *testing.T, c Cluster, run string) {
	t.Helper()
	head, err := c.Store().Head(t.Context(), run)
	if err != nil || head.Status != journal.StatusPending || head.Interrupted {
		t.Errorf("run %s: %+v, %v; want one that is pending and not interrupted", run, head, err)
	}
	if events := c.Events(t, run); len(events) != 1 {
		t.Errorf("run %s does something before its turn\n%s", run, show(events))
	}
}

// testQueue checks that queued runs are stored when they are started, begin in that order whichever
// process started them, each once, and can be cancelled while they wait.
func testQueue(t *testing.T, c Cluster) {
	w := &sim.World{}
	p, q := c.Open(t, Options{World: w}), c.Open(t, Options{World: w})
	runs := []string{"r1", "r2", "r3", "r4", "r5"}
	for i, run := range runs {
		enqueue(t, c, []Process{p, q}[i%2], run, chain(approval("ok"), agent("a")))
	}
	settle(t, c, p, "r1", event.StatusPaused)
	for _, run := range runs[1:] {
		queued(t, c, run)
	}
	if err := p.Cancel(t.Context(), "r2", "no longer"); err != nil {
		t.Fatal(err)
	}
	if err := q.Cancel(t.Context(), "r4", "no longer"); err != nil {
		t.Fatal(err)
	}
	for _, run := range []string{"r2", "r4"} {
		settle(t, c, q, run, event.StatusCancelled)
	}
	queued(t, c, "r3")
	approve(t, q, "r1")
	settle(t, c, p, "r1", event.StatusCompleted)
	settle(t, c, p, "r3", event.StatusPaused)
	queued(t, c, "r5")
	if err := p.Cancel(t.Context(), "r3", ""); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, "r5", event.StatusPaused)
	approve(t, p, "r5")
	settle(t, c, q, "r5", event.StatusCompleted)
	for _, run := range runs {
		want := 1
		if slices.Contains([]string{"r2", "r4"}, run) {
			want = 0
		}
		if events := c.Events(t, run); count(events, "run.started") != want {
			t.Errorf("run %s began %d times, want %d\n%s", run, count(events, "run.started"), want, show(events))
		}
	}
	closeAll(t, p, q)
}

// testQueueOrder checks that many queued runs of two processes go on one after the other, in the
// order in which they were started.
func testQueueOrder(t *testing.T, c Cluster) {
	w := &sim.World{}
	p, q := c.Open(t, Options{World: w}), c.Open(t, Options{World: w})
	var ended time.Time
	for i := range 12 {
		enqueue(t, c, []Process{p, q}[i%3%2], fmt.Sprint("r", i), chain(agent("a")))
	}
	for i := range 12 {
		run := fmt.Sprint("r", i)
		settle(t, c, p, run, event.StatusCompleted)
		events := c.Events(t, run)
		for _, e := range events {
			if _, ok := e.Data.(*event.RunStarted); ok && e.At.Before(ended) {
				t.Errorf("run %s began at %s, the run before it ended at %s", run, e.At, ended)
			}
		}
		ended = events[len(events)-1].At
	}
	closeAll(t, p, q)
}

// testQueueDeath checks that queued runs whose process dies begin in another one, in their order.
func testQueueDeath(t *testing.T, c Cluster) {
	w := &sim.World{}
	p := c.Open(t, Options{World: w})
	runs := []string{"r1", "r2", "r3"}
	for _, run := range runs {
		enqueue(t, c, p, run, chain(approval("ok"), agent("a")))
	}
	settle(t, c, p, "r1", event.StatusPaused)
	p.Kill()
	q := c.Open(t, Options{World: w})
	if err := q.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i, run := range runs {
		settle(t, c, q, run, event.StatusPaused)
		for _, later := range runs[i+1:] {
			queued(t, c, later)
		}
		approve(t, q, run)
		settle(t, c, q, run, event.StatusCompleted)
	}
	closeAll(t, q)
}

// testQueueFork checks that a fork of a queued run begins when it is resumed if its definition has
// no concurrency limit.
func testQueueFork(t *testing.T, c Cluster) {
	p, flow := c.Open(t, Options{World: &sim.World{}}), chain(approval("ok"), agent("a"))
	enqueue(t, c, p, "r1", flow)
	enqueue(t, c, p, "r2", flow)
	fork, err := c.Runs(t).Derive(t.Context(), "r2", &stored.Derived{Past: stored.UpTo("r2", 1, nil),
		Spec: &driver.Spec{Workflow: flow.workflow()}})
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Resume(t.Context(), fork); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, fork, event.StatusPaused)
	queued(t, c, "r2")
}
