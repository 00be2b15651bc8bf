package drivertest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// testLaunch checks that a launched run is followed to its end, with all its events, each once.
func testLaunch(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	l, err := p.Launch(t.Context(), driver.Spec{Run: "launched", Workflow: chain(agent("a"), agent("b")).workflow(),
		Input: text("in")})
	if err != nil || l.ID() != "launched" {
		t.Fatal(l, err)
	}
	if begun, err := l.Wait(t.Context()); !begun || err != nil {
		t.Fatalf("begun %t, %v", begun, err)
	}
	var seen []event.Event
	state, err := p.Follow(t.Context(), "launched", func(e *event.Event) error {
		seen = append(seen, *e)
		return nil
	})
	if err != nil || state.Status != event.StatusCompleted {
		t.Errorf("%+v, %v", state, err)
	}
	if diff := cmp.Diff(c.Events(t, "launched"), seen); diff != "" {
		t.Errorf("what was followed is not the journal:\n%s", diff)
	}
	enough := errors.New("enough")
	if _, err := p.Follow(t.Context(), "launched", func(*event.Event) error { return enough }); !errors.Is(err,
		enough) {
		t.Errorf("follow: %v, want the consumer's error", err)
	}
	if again, err := p.Launch(t.Context(),
		driver.Spec{Run: "launched", Workflow: chain(agent("a")).workflow()}); err == nil {
		if begun, err := again.Wait(t.Context()); begun || !errors.Is(err, journal.ErrExists) {
			t.Errorf("launched twice: begun %t, %v", begun, err)
		}
	}
	closeAll(t, p)
	if _, err := p.Launch(t.Context(), driver.Spec{Workflow: chain(agent("a")).workflow()}); !errors.Is(err,
		driver.ErrClosed) {
		t.Errorf("launch after close: %v", err)
	}
}

// testInterruptOne checks that an interrupted run leaves memory and can be resumed while another
// run continues.
func testInterruptOne(t *testing.T, c Cluster) {
	called, hold := make(chan struct{}, 4), make(chan struct{})
	p := c.Open(t, Options{World: &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		called <- struct{}{}
		select {
		case <-hold:
			return sim.Reply("ok"), nil
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
	}}})
	stopped, other := start(t, p, chain(agent("a"))), start(t, p, chain(agent("b")))
	<-called
	<-called
	if err := p.Interrupt(t.Context(), stopped); err != nil {
		t.Fatal(err)
	}
	if s, err := p.Wait(t.Context(), stopped); err != nil || !s.Interrupted {
		t.Errorf("%+v, %v; want interrupted", s, err)
	}
	close(hold)
	settle(t, c, p, other, event.StatusCompleted)
	if err := p.Resume(t.Context(), stopped); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, stopped, event.StatusCompleted)
	if err := p.Interrupt(t.Context(), stopped); err != nil {
		t.Errorf("interrupt of a run that is not driven: %v", err)
	}
}

// testClock checks that the times of events come from the clock passed to the driver.
func testClock(t *testing.T, c Cluster) {
	at := time.Date(2031, 5, 1, 12, 0, 0, 0, time.UTC)
	p := c.Open(t, Options{World: &sim.World{}, Now: func() time.Time { return at }})
	run := start(t, p, chain(agent("a")))
	settle(t, c, p, run, event.StatusCompleted)
	for _, e := range c.Events(t, run) {
		if !e.At.Equal(at) {
			t.Errorf("event %d at %s, want %s", e.Seq, e.At, at)
		}
	}
}

// testForeign checks that an answer to a run whose functions belong to another program is left in
// the store, and that this program takes it (D29).
func testForeign(t *testing.T, c Cluster) {
	w := &sim.World{Func: func(context.Context, string, *engine.CallFunc, driver.Caller) engine.FuncResult {
		return engine.FuncResult{Output: text("done")}
	}}
	program := c.Open(t, Options{World: w})
	run := start(t, program,
		chain(approval("ok"), workflow.Node{ID: "f", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: "f"}}))
	settle(t, c, program, run, event.StatusPaused)
	server := c.Open(t, Options{World: w, Foreign: true})
	if foreign, err := server.IsForeign(t.Context(), run); !foreign || err != nil {
		t.Errorf("foreign %t, %v", foreign, err)
	}
	if foreign, err := program.IsForeign(t.Context(), run); foreign || err != nil {
		t.Errorf("to its own program: foreign %t, %v", foreign, err)
	}
	approve(t, server, run)
	if left, err := server.Left(t.Context(), run); !left || err != nil {
		t.Errorf("left %t, %v", left, err)
	}
	settle(t, c, server, run, event.StatusPaused)
	if err := program.TakeAnswers(t.Context(), func(journal.Head) bool { return false }); err != nil {
		t.Error(err)
	}
	if left, _ := server.Left(t.Context(), run); !left {
		t.Error("an answer to a run of others was taken")
	}
	if err := program.TakeAnswers(t.Context(), func(h journal.Head) bool { return h.Run == run }); err != nil {
		t.Fatal(err)
	}
	settle(t, c, program, run, event.StatusCompleted)
	closeAll(t, program) // the request is settled after the run continued
	if left, err := server.Left(t.Context(), run); left || err != nil {
		t.Errorf("left %t after it was taken, %v", left, err)
	}
}

// testExtend checks that a run that was ended by its parent's budget continues with a larger one,
// and that its usage is reported (P20).
func testExtend(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	run, err := p.Start(t.Context(), driver.Spec{Workflow: chain(agent("a"), agent("b")).workflow(), Input: text("in"),
		Above: &workflow.Budget{MaxCalls: 1}})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusFailed)
	spent, parent, err := c.Runs(t).Spent(t.Context(), run)
	if err != nil || spent.Calls != 1 || parent == nil || parent.MaxCalls != 1 {
		t.Errorf("spent %+v of %+v, %v", spent, parent, err)
	}
	if err := p.Extend(t.Context(), run, &workflow.Budget{MaxCalls: 5}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusCompleted)
	if spent, parent, err := c.Runs(t).Spent(t.Context(), run); err != nil || spent.Calls != 2 || parent.MaxCalls != 5 {
		t.Errorf("spent %+v of %+v, %v", spent, parent, err)
	}
	if err := p.Extend(t.Context(), run, &workflow.Budget{MaxCalls: 9}); !errors.Is(err, engine.ErrNotReopenable) {
		t.Errorf("extend of a completed run: %v", err)
	}
}
