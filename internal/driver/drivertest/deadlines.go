package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// due is when deadlines, timeouts and reminders of these runs are due: longer than a lease, but
// short, since each second of the simulated clock polls a real store.
const due = 4 * time.Minute

// withDeadline is an approval that times out when it is due and then continues with `late`.
func withDeadline() *flow {
	n := approval("ok")
	n.Wait.Deadline = workflow.Duration(due)
	f := chain(n, agent("a"))
	f.add(agent("late"))
	f.edge("ok", workflow.PortTimeout, "late")
	return f
}

// withTimeout is a block whose timeout expires while it waits for a person.
func withTimeout() *flow {
	f := (&flow{}).fork("", "f", workflow.Fork{}, []workflow.Node{approval("ok")}).then("f/join", agent("a"))
	f.Nodes[0].Timeout = workflow.Duration(due)
	f.add(agent("late"))
	f.edge("f", workflow.PortError, "late")
	return f
}

func ranLate(t *testing.T, c Cluster, run string) {
	t.Helper()
	events := c.Events(t, run)
	if got := replies(events); len(got["late"]) != 1 || len(got["a"]) != 0 {
		t.Errorf("nodes that ran: %v, want late alone\n%s", got, show(events))
	}
}

func testDeadline(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	run := start(t, p, withDeadline())
	settle(t, c, p, run, event.StatusPaused)
	time.Sleep(due - time.Millisecond)
	synctest.Wait()
	settle(t, c, p, run, event.StatusPaused)
	time.Sleep(time.Millisecond)
	synctest.Wait()
	settle(t, c, p, run, event.StatusCompleted)
	ranLate(t, c, run)
	if by := actors(c.Events(t, run)); len(by) != 1 || by[0] != (event.Actor{Channel: event.ChannelClock}) {
		t.Errorf("the wait was closed by %v, want the clock", by)
	}

	answered := start(t, p, withDeadline())
	settle(t, c, p, answered, event.StatusPaused)
	if err := p.Answer(t.Context(), answered, engine.Answer{Value: text("approve")}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, answered, event.StatusCompleted)
	time.Sleep(2 * due)
	if n := count(c.Events(t, answered), "timer.fired"); n != 0 {
		t.Error("the deadline of an answered wait fired")
	}
	closeAll(t, p)
}

func testDeadlineRestart(t *testing.T, c Cluster) { afterRestart(t, c, withDeadline()) }

func testTimeoutRestart(t *testing.T, c Cluster) { afterRestart(t, c, withTimeout()) }

// afterRestart checks that a run that waits for a person continues when its wait is due, counted
// from its start, even in another process.
func afterRestart(t *testing.T, c Cluster, f *flow) {
	t.Helper()
	p := c.Open(t, Options{World: &sim.World{}})
	run := start(t, p, f)
	settle(t, c, p, run, event.StatusPaused)
	p.Kill()
	time.Sleep(due / 2)
	q := c.Open(t, Options{World: &sim.World{}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { q.Maintain(ctx) })
	time.Sleep(due/2 + time.Minute)
	synctest.Wait()
	settle(t, c, q, run, event.StatusCompleted)
	ranLate(t, c, run)
	cancel()
	wg.Wait()
	closeAll(t, q)
}

func testDeadlineTouch(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	run := start(t, p, withDeadline())
	settle(t, c, p, run, event.StatusPaused)
	id := openWaits(c.Events(t, run))["ok"]
	p.Kill()
	time.Sleep(2 * due)
	q := c.Open(t, Options{World: &sim.World{}})
	if err := q.Answer(t.Context(), run, engine.Answer{Wait: id, Value: text("approve")}); !errors.Is(err,
		waits.ErrClosed) {
		t.Errorf("answer after the deadline: %v, want ErrWaitClosed", err)
	}
	settle(t, c, q, run, event.StatusCompleted)
	ranLate(t, c, run)
	closeAll(t, q)
}

// testDeadlineOfOthers checks that a long-lived process soon fires the deadline of a run that
// another process left paused, even if the run paused long after the wait was opened.
func testDeadlineOfOthers(t *testing.T, c Cluster) {
	q := c.Open(t, Options{World: &sim.World{}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { q.Maintain(ctx) })
	time.Sleep(10 * time.Second)

	p := c.Open(t, Options{World: &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("ok"), wait(ctx, 20*time.Second)
	}}})
	ok := approval("ok")
	ok.Wait.Deadline, ok.Wait.Remind = workflow.Duration(30*time.Second), workflow.Duration(25*time.Second)
	run := start(t, p, chain().fork("", "f", workflow.Fork{}, nodes(ok), nodes(agent("a"))))
	time.Sleep(21 * time.Second)
	synctest.Wait()
	p.Kill()
	time.Sleep(10 * time.Second)
	synctest.Wait()
	events := c.Events(t, run)
	opened := slices.IndexFunc(events, func(e event.Event) bool { return e.Data.Type() == "wait.opened" })
	if opened < 0 {
		t.Fatalf("no wait was opened\n%s", show(events))
	}
	for typ, after := range map[event.Type]time.Duration{"wait.reminded": 25 * time.Second,
		"wait.closed": 30 * time.Second} {
		i := slices.IndexFunc(events, func(e event.Event) bool { return e.Data.Type() == typ })
		if i < 0 {
			t.Errorf("no %s\n%s", typ, show(events))
		} else if late := events[i].At.Sub(events[opened].At.Add(after)); late < 0 || late > time.Second {
			t.Errorf("%s came %s after its time, want within a second", typ, late)
		}
	}
	cancel()
	wg.Wait()
	closeAll(t, q)
}

// testReminders checks that a reminder is sent once, even after a restart, leaves the run paused,
// and is not sent for a wait that was answered (P33).
func testReminders(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	run := start(t, p, chain(approval("ok"), agent("a")))
	own := approval("ok")
	own.Wait.Remind = workflow.Duration(due)
	ownRun := start(t, p, chain(own, agent("a")))
	all := chain(approval("ok"), agent("a"))
	allRun, err := p.Start(t.Context(), driver.Spec{Workflow: all.workflow(), Input: text("in"), Remind: due})
	if err != nil {
		t.Fatal(err)
	}
	answered := start(t, p, chain(own, agent("a")))
	for _, run := range []string{run, ownRun, allRun, answered} {
		settle(t, c, p, run, event.StatusPaused)
	}
	if err := p.Answer(t.Context(), answered, engine.Answer{Value: text("approve")}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, answered, event.StatusCompleted)
	p.Kill()
	time.Sleep(due / 2)
	q := c.Open(t, Options{World: &sim.World{}})
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	wg.Go(func() { q.Maintain(ctx) })
	time.Sleep(due/2 - time.Minute)
	synctest.Wait()
	for _, run := range []string{run, ownRun, allRun, answered} {
		if n := count(c.Events(t, run), "wait.reminded"); n != 0 {
			t.Errorf("%d reminders before their time", n)
		}
	}
	time.Sleep(2 * due)
	synctest.Wait()
	for name, want := range map[string]int{run: 0, ownRun: 1, allRun: 1, answered: 0} {
		if n := count(c.Events(t, name), "wait.reminded"); n != want {
			t.Errorf("%d reminders, want %d\n%s", n, want, show(c.Events(t, name)))
		}
	}
	for _, run := range []string{run, ownRun, allRun} {
		settle(t, c, q, run, event.StatusPaused)
		if err := q.Answer(t.Context(), run, engine.Answer{Value: text("approve")}); err != nil {
			t.Fatal(err)
		}
		settle(t, c, q, run, event.StatusCompleted)
	}
	cancel()
	wg.Wait()
	closeAll(t, q)
}
