package drivertest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
)

// maintain makes processes do the work of long-lived processes until the returned function is called.
func maintain(t *testing.T, ps ...Process) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	for _, p := range ps {
		wg.Go(func() { p.Maintain(ctx) })
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// waitStatus waits until the state of a run is want. Waiters do not immediately notice a process
// that has just started to tend.
func waitStatus(t *testing.T, c Cluster, p Process, run string, want event.Status) {
	t.Helper()
	for range 600 {
		s, err := p.Wait(t.Context(), run)
		switch {
		case err != nil:
			t.Fatalf("wait: %v", err)
		case s.Status == want && !s.Interrupted:
			return
		case !s.Interrupted && s.Status.Ended():
			t.Fatalf("the run is %+v, want %s\n%s", s, want, show(c.Events(t, run)))
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("the run does not become %s\n%s", want, show(c.Events(t, run)))
}

// askingWorld is a world with a tool that must not be called twice without asking.
func askingWorld() *sim.World {
	w := &sim.World{Model: func(_ context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("of %s", q.Node), nil
	}}
	w.Tools = map[string]sim.Tool{
		"act": {Policy: tool.PolicyAsk, Do: func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{Text: "acted"}, nil
		}}}
	return w
}

// testNoDrive checks that a process that drives nothing stores the runs that it starts and the
// answers of people; another process starts the calls, without asking a person whether any was
// already made.
func testNoDrive(t *testing.T, c Cluster) {
	w := askingWorld()
	front := c.Open(t, Options{World: w, Place: "here", NoDrive: true})
	flow := chain(toolNode("first", "act"), approval("ok"), toolNode("second", "act"), agent("last"))
	var runs []string
	for range 5 {
		runs = append(runs, start(t, front, flow))
	}
	synctest.Wait()
	if n := len(w.Calls()); n != 0 {
		t.Fatalf("a process that drives nothing made %d calls", n)
	}
	if n := front.Writes(); n != len(runs) {
		t.Errorf("%d starts took %d writes", len(runs), n)
	}
	if s, err := front.Wait(t.Context(), runs[0]); err != nil || !s.Interrupted || s.Status != event.StatusRunning {
		t.Errorf("without another process: %+v, %v", s, err)
	}
	if err := front.Answer(t.Context(), runs[0], engine.Answer{Wait: "none", Value: text("approve"),
		By: event.LocalBy("test")}); !errors.Is(err, waits.ErrNotFound) {
		t.Errorf("an answer to no wait: %v", err)
	}
	if err := front.Cancel(t.Context(), runs[4], "enough"); err != nil {
		t.Errorf("cancel: %v", err)
	}
	settle(t, c, front, runs[4], event.StatusCancelled)

	worker := c.Open(t, Options{World: w, Place: "here"})
	stop := maintain(t, front, worker)
	for _, run := range runs[:4] {
		waitStatus(t, c, front, run, event.StatusPaused)
		if err := front.Answer(t.Context(), run,
			engine.Answer{Value: text("approve"), By: event.LocalBy("test")}); err != nil {
			t.Fatal(err)
		}
		waitStatus(t, c, front, run, event.StatusCompleted)
		if n := count(c.Events(t, run), (*event.WaitOpened)(nil).Type()); n != 1 {
			t.Errorf("%d questions, want one\n%s", n, show(c.Events(t, run)))
		}
	}
	if n := w.Count("tool", "first") + w.Count("tool", "second"); n != 8 {
		t.Errorf("%d calls of the tool, want 8", n)
	}
	stop()
	closeAll(t, front, worker)
}

// testNoDriveDies checks a process that drives nothing and dies immediately after storing a start,
// an answer or the result of a claim. No person is asked about calls that never started (P12).
func testNoDriveDies(t *testing.T, c Cluster) {
	w := askingWorld()
	dying := func() Process {
		appended := false
		return c.Open(t, Options{World: w, Place: "here", NoDrive: true, Fault: func(op string, _ int) sim.Fault {
			if op != "append" || appended {
				return sim.FaultNone
			}
			appended = true
			return sim.FaultDieAfter
		}})
	}
	first := dying()
	_ = tryStart(t, first, "r", chain(toolNode("first", "act"), approval("ok"), toolNode("second", "act")))
	<-first.Dead()
	worker := c.Open(t, Options{World: w, Place: "here"})
	stop := maintain(t, worker)
	waitStatus(t, c, worker, "r", event.StatusPaused)
	stop()
	closeAll(t, worker)
	second := dying()
	_ = second.Answer(t.Context(), "r", engine.Answer{Value: text("approve"), By: event.LocalBy("test")})
	<-second.Dead()
	worker = c.Open(t, Options{World: w, Place: "here"})
	stop = maintain(t, worker)
	waitStatus(t, c, worker, "r", event.StatusCompleted)
	if n := count(c.Events(t, "r"), (*event.WaitOpened)(nil).Type()); n != 1 {
		t.Errorf("%d questions, want one\n%s", n, show(c.Events(t, "r")))
	}
	if n := w.Count("tool", "first") + w.Count("tool", "second"); n != 2 {
		t.Errorf("%d calls of the tool, want 2", n)
	}
	stop()
	closeAll(t, worker)
}

// testNoDriveFaults checks that a stored run continues in another process, whichever write of a
// process that drives nothing fails.
func testNoDriveFaults(t *testing.T, c Cluster) {
	// play injects a fault at a write, and returns the number of writes.
	play := func(kind sim.Fault, at int64) int64 {
		c, w := c.Fresh(t), &sim.World{}
		var writes atomic.Int64
		front := c.Open(t, Options{World: w, Place: "here", NoDrive: true, Fault: func(_ string, n int) sim.Fault {
			writes.Store(int64(n))
			if int64(n) == at {
				return kind
			}
			return sim.FaultNone
		}})
		err := tryStart(t, front, "r", chain(agent("a"), agent("b")))
		worker := c.Open(t, Options{World: w, Place: "here"})
		stop := maintain(t, worker)
		if _, ok := journalHas(t, c, "r"); ok {
			waitStatus(t, c, worker, "r", event.StatusCompleted)
		} else if err == nil {
			t.Errorf("fault %v at write %d: the run was started and is not stored", kind, at)
		}
		if n := w.Count("model", "a"); n > 1 {
			t.Errorf("fault %v at write %d: %d calls of a", kind, at, n)
		}
		stop()
		front.Kill()
		closeAll(t, worker)
		return writes.Load()
	}
	all := play(sim.FaultNone, 0)
	if all == 0 {
		t.Fatal("the start writes nothing")
	}
	for _, kind := range []sim.Fault{sim.FaultError, sim.FaultSilent, sim.FaultDieBefore, sim.FaultDieAfter} {
		for at := int64(1); at <= all; at++ {
			if n := play(kind, at); n < at {
				t.Errorf("fault %v at write %d: only %d writes", kind, at, n)
			}
		}
	}
}

// testRoom checks that a process drives no more runs than its limit. Other runs are driven by a
// process with capacity, and by this process when it has capacity again.
func testRoom(t *testing.T, c Cluster) {
	free := make(chan struct{})
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		if q.Node == "b" {
			select {
			case <-free:
			case <-ctx.Done():
			}
		}
		return sim.Reply("ok"), ctx.Err()
	}}
	small := c.Open(t, Options{World: w, Place: "here", MaxDriven: 2})
	stop := maintain(t, small)
	var runs []string
	for range 6 {
		runs = append(runs, start(t, small, chain(agent("a"), agent("b"))))
	}
	time.Sleep(3 * time.Second)
	synctest.Wait()
	if n := w.Count("model", "b"); n != 2 {
		t.Errorf("%d runs are driven, want 2", n)
	}
	other := c.Open(t, Options{World: w, Place: "there", MaxDriven: 3})
	stopOther := maintain(t, other)
	time.Sleep(3 * time.Second)
	synctest.Wait()
	if n := w.Count("model", "b"); n != 5 {
		t.Errorf("%d runs are driven by both, want 5", n)
	}
	close(free)
	for _, run := range runs {
		waitStatus(t, c, small, run, event.StatusCompleted)
	}
	if n := w.Count("model", "a") + w.Count("model", "b"); n != 12 {
		t.Errorf("%d calls, want 12", n)
	}
	stop()
	stopOther()
	closeAll(t, small, other)
}

// testPlace checks that a run with a place continues only there, and waits while no process has
// that place.
func testPlace(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("of %s", q.Node), wait(ctx, time.Second)
	}}
	at := func(place string) Options { return Options{World: w, Place: place} }
	here, there := c.Open(t, at("here")), c.Open(t, at("there"))
	stop := maintain(t, here, there)
	f := chain(agent("a"), approval("ok"), agent("b"))
	run, err := here.Start(t.Context(), driver.Spec{Workflow: f.workflow(), Input: text("in"), Place: "here"})
	if err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	here.Kill()
	time.Sleep(time.Minute)
	if n := w.Count("model", "a"); n != 1 {
		t.Errorf("%d calls of a while its place is gone, want 1", n)
	}
	if s, err := there.Wait(t.Context(), run); err != nil || !s.Interrupted {
		t.Errorf("a run whose place is gone: %+v, %v", s, err)
	}
	err = there.Resume(t.Context(), run)
	if e, ok := errors.AsType[*driver.ElsewhereError](err); !ok || e.Place != "here" || e.Run != run {
		t.Errorf("resume at another place: %v", err)
	}
	back := c.Open(t, at("here"))
	stopBack := maintain(t, back)
	waitStatus(t, c, there, run, event.StatusPaused)
	if err := there.Answer(t.Context(), run,
		engine.Answer{Value: text("approve"), By: event.LocalBy("test")}); err != nil {
		t.Fatal(err) // answered anywhere, continued at its place
	}
	waitStatus(t, c, there, run, event.StatusCompleted)
	if a, b := w.Count("model", "a"), w.Count("model", "b"); a != 2 || b != 1 {
		t.Errorf("%d calls of a and %d of b, want 2 and 1", a, b)
	}
	stop()
	stopBack()
	closeAll(t, there, back)
}

// testClaimed checks that several processes share many waiting runs, and that each call is made
// once.
func testClaimed(t *testing.T, c Cluster) {
	w := askingWorld()
	front := c.Open(t, Options{World: w, Place: "here", NoDrive: true})
	var runs []string
	for i := range 100 {
		runs = append(runs, fmt.Sprint("r", i))
		if err := tryStart(t, front, runs[i], chain(agent("a"), toolNode("act", "act"), agent("b"))); err != nil {
			t.Fatal(err)
		}
	}
	var ps []Process
	for range 3 {
		ps = append(ps, c.Open(t, Options{World: w, Place: "here"}))
	}
	stop := maintain(t, ps...)
	for _, run := range runs {
		waitStatus(t, c, front, run, event.StatusCompleted)
	}
	if n := len(w.Calls()); n != 300 {
		t.Errorf("%d calls, want 300", n)
	}
	stop()
	closeAll(t, append(ps, front)...)
}

// testTakeover checks that the next call of a run whose process was killed starts within a second.
func testTakeover(t *testing.T, c Cluster) {
	begun := make(chan time.Time, 10)
	w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
		begun <- time.Now()
		return sim.Reply("ok"), wait(ctx, 10*time.Second)
	}}
	dead, heir := c.Open(t, Options{World: w, Place: "here"}), c.Open(t, Options{World: w, Place: "there"})
	stop := maintain(t, dead, heir)
	run := start(t, dead, chain(agent("a")))
	<-begun
	time.Sleep(5 * time.Second)
	killed := time.Now()
	dead.Kill()
	if took := (<-begun).Sub(killed); took > time.Second {
		t.Errorf("the call began again after %s", took)
	}
	waitStatus(t, c, heir, run, event.StatusCompleted)
	stop()
	closeAll(t, heir)
}

// testDrain checks that a draining process lets calls end and starts none; another process
// continues and repeats no call.
func testDrain(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("of %s", q.Node), wait(ctx, 10*time.Second)
	}}
	w.Tools = map[string]sim.Tool{
		"act": {Policy: tool.PolicyAsk, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			return tool.Result{Text: "acted"}, wait(ctx, 10*time.Second)
		}}}
	leaving, heir := c.Open(t, Options{World: w, Place: "here"}), c.Open(t, Options{World: w, Place: "there"})
	var runs []string
	for range 3 {
		runs = append(runs, start(t, leaving, chain(agent("a"), toolNode("act", "act"), agent("b"))))
	}
	stop := maintain(t, leaving, heir)
	time.Sleep(5 * time.Second)
	began := time.Now()
	leaving.Drain(t.Context())
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("draining took %s: a call was begun", took)
	}
	late := start(t, leaving, chain(agent("a")))
	closeAll(t, leaving)
	for _, run := range append(runs, late) {
		waitStatus(t, c, heir, run, event.StatusCompleted)
		if n := count(c.Events(t, run), (*event.WaitOpened)(nil).Type()); n != 0 {
			t.Errorf("a person was asked\n%s", show(c.Events(t, run)))
		}
	}
	if a, b := w.Count("model", "a"), w.Count("tool", "act"); a != 4 || b != 3 {
		t.Errorf("%d calls of a and %d of the tool, want 4 and 3", a, b)
	}
	stop()
	closeAll(t, heir)
}

// testDrainLimit checks that Drain returns at its deadline without stopping the calls in flight,
// and that another process completes the run after Close.
func testDrainLimit(t *testing.T, c Cluster) {
	w := newStuck()
	leaving, heir := c.Open(t, Options{World: w.World, Place: "here"}),
		c.Open(t, Options{World: w.World, Place: "there"})
	run := start(t, leaving, chain(agent("b")))
	time.Sleep(5 * time.Second)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	leaving.Drain(ctx)
	if w.ended() {
		t.Error("the call was stopped while it was waited for")
	}
	close(w.free)
	closeAll(t, leaving)
	stop := maintain(t, heir)
	waitStatus(t, c, heir, run, event.StatusCompleted)
	stop()
	closeAll(t, heir)
}

// testLostClaim checks that runs are driven after a claim whose reply was lost.
func testLostClaim(t *testing.T, c Cluster) {
	w := &sim.World{}
	front := c.Open(t, Options{World: w, Place: "here", NoDrive: true})
	run := start(t, front, chain(agent("a")))
	failed := false
	p := c.Open(t, Options{World: w, Place: "here", Fault: func(op string, _ int) sim.Fault {
		if op == "claim" && !failed {
			failed = true
			return sim.FaultSilent
		}
		return sim.FaultNone
	}})
	stop := maintain(t, p)
	waitStatus(t, c, front, run, event.StatusCompleted)
	if !failed {
		t.Error("nothing was claimed")
	}
	stop()
	closeAll(t, p, front)
}
