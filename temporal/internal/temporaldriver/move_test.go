package temporaldriver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// begin starts a run with the given ID.
func begin(t *testing.T, d driver.Driver, run string, flow *workflow.Workflow) {
	t.Helper()
	if _, err := d.Start(t.Context(), driver.Spec{Run: run, Workflow: flow, Input: quoted("in")}); err != nil {
		t.Fatal(err)
	}
}

// settles waits for a run and fails the test if its status is not want.
func settles(t *testing.T, c *cluster, d driver.Driver, run string, want event.Status) {
	t.Helper()
	if s, err := d.Wait(t.Context(), run); err != nil || s != (driver.State{Status: want}) {
		t.Fatalf("run %s is %+v, %v; want %s\n%s", run, s, err, want, shown(c.Events(t, run)))
	}
}

// plainDriver opens a driver without Temporal on the store of a cluster.
func (c *cluster) plainDriver(t *testing.T, w *sim.World, functions bool) *embedded.Driver {
	t.Helper()
	cfg := embedded.Config{Expressions: celexpr.Compiler{}, Store: c.open(), Open: w.Open,
		Foreign: func(*workflow.Workflow) bool { return true }}
	if functions {
		cfg.Program = func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }
	}
	d, err := embedded.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(context.Background()) })
	return d
}

// TestAdopt checks that a run can move from one driver to the other and back, and that a tool call
// that its process abandoned leads to a question and is not repeated (P12).
func TestAdopt(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	began := make(chan struct{}, 1)
	w := &sim.World{Tools: map[string]sim.Tool{
		"act": {Policy: tool.PolicyAsk, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			began <- struct{}{}
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}}}
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "go on?"}}
	plain := c.plainDriver(t, w, true)
	p := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	begin(t, plain, "r", line(node("act", workflow.KindTool), approve, node("a", workflow.KindAgent)))
	<-began
	if err := p.Adopt(t.Context(), "r"); !errors.Is(err, journal.ErrOwned) {
		t.Errorf("a run with a living owner is moved: %v", err)
	}
	if err := plain.Interrupt(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	for range 2 { // the second time it exists already
		if err := p.Adopt(t.Context(), "r"); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Resume(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	settles(t, c, p, "r", event.StatusPaused)
	if err := p.Answer(t.Context(), "r", engine.Answer{Value: quoted("skip")}); err != nil {
		t.Fatal(err)
	}
	settles(t, c, p, "r", event.StatusPaused)
	if n := w.Count("tool", ""); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
	if err := plain.Adopt(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if err := plain.Answer(t.Context(), "r", engine.Answer{Value: quoted("approve")}); err != nil {
		t.Fatal(err)
	}
	settles(t, c, plain, "r", event.StatusCompleted)
	if h, err := c.reader.Head(t.Context(), "r"); err != nil || h.Kind != journal.KindServe {
		t.Errorf("%+v, %v; want kind serve", h, err)
	}
}

// TestForeignAnswer checks that an answer that is submitted to a process without the functions of a
// run reaches a program that has them.
func TestForeignAnswer(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	w := &sim.World{Func: func(context.Context, string, *engine.CallFunc, driver.Caller) engine.FuncResult {
		return engine.FuncResult{Output: quoted("done")}
	}}
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "go on?"}}
	p := c.process(t, drivertest.Options{World: w}, temporaldriver.Queues())
	begin(t, p, "r", line(approve, node("f", workflow.KindFunc)))
	settles(t, c, p, "r", event.StatusPaused)
	server := c.plainDriver(t, w, false)
	if err := server.Answer(t.Context(), "r", engine.Answer{Wait: "w1", Value: quoted("approve")}); err != nil {
		t.Fatal(err)
	}
	settles(t, c, p, "r", event.StatusCompleted)
	if err := server.Answer(t.Context(), "r", engine.Answer{Wait: "w1", Value: quoted("reject")}); !errors.Is(err,
		waits.ErrAnswered) {
		t.Errorf("another answer: %v", err)
	}
}

// TestRequest_FromProcessWithoutTemporal checks that what a process without Temporal appends
// reaches the workflow: an answer to a run that has no workflow, and a cancellation that stops a
// call.
func TestRequest_FromProcessWithoutTemporal(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	began, ended := make(chan struct{}, 1), make(chan time.Time, 1)
	w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
		began <- struct{}{}
		<-ctx.Done()
		ended <- time.Now()
		return model.Reply{}, ctx.Err()
	}}
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "go on?"}}
	p := c.process(t, drivertest.Options{World: w}, temporaldriver.Queues())
	begin(t, p, "r", line(approve, node("a", workflow.KindAgent)))
	settles(t, c, p, "r", event.StatusPaused)
	plain := c.plainDriver(t, w, true)
	if err := plain.Answer(t.Context(), "r", engine.Answer{Value: quoted("approve")}); err != nil {
		t.Fatal(err)
	}
	<-began
	if err := plain.Cancel(t.Context(), "r", "enough"); err != nil {
		t.Fatal(err)
	}
	settles(t, c, plain, "r", event.StatusCancelled)
	<-ended
}

// TestObserve checks that Observe of a launched run receives all of its events until it first
// rests.
func TestObserve(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	p := c.process(t, drivertest.Options{World: &sim.World{}}, temporaldriver.Queues())
	var seqs []uint64
	l, err := p.Launch(t.Context(), driver.Spec{Workflow: pair(), Input: quoted("in"),
		Observe: func(run *engine.Run, events []event.Event) {
			if run.Seq() != events[len(events)-1].Seq {
				t.Errorf("the run is at event %d, the events end with %d", run.Seq(), events[len(events)-1].Seq)
			}
			for _, e := range events {
				seqs = append(seqs, e.Seq)
			}
		}})
	if err != nil {
		t.Fatal(err)
	}
	if begun, err := l.Wait(t.Context()); !begun || err != nil {
		t.Fatal(begun, err)
	}
	if want := len(c.Events(t, l.ID())); len(seqs) != want {
		t.Errorf("%d events were observed of %d: %v", len(seqs), want, seqs)
	}
}
