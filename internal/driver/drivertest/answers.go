package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// threeApprovals is a block of three branches, each an approval with an agent after either outcome,
// and a slow sibling.
func threeApprovals() *flow {
	f := &flow{}
	f.Name, f.Entry = "test", "f"
	set := &workflow.Fork{Join: "f/join"}
	for _, id := range []string{"x", "y", "z"} {
		set.Branches = append(set.Branches, workflow.Branch{ID: id})
	}
	set.Branches = append(set.Branches, workflow.Branch{ID: "slow"})
	f.add(workflow.Node{ID: "f", Kind: workflow.KindFork, Fork: set})
	for _, id := range []string{"x", "y", "z"} {
		f.add(within("f", approval(id)))
		f.edge("f", id, id)
		for _, way := range []string{"approve", "reject"} {
			f.add(within("f", agent(id+"-"+way)))
			f.edge(id, way, id+"-"+way)
			f.edge(id+"-"+way, "", "f/join")
		}
	}
	f.add(within("f", agent("slow")))
	f.edge("f", "slow", "slow")
	f.edge("slow", "", "f/join")
	f.add(workflow.Node{ID: "f/join", Kind: workflow.KindJoin, Hidden: true, Join: &workflow.Join{Fork: "f"}})
	return f
}

// actors returns who answered the waits of a run, or closed them at their deadline.
func actors(events []event.Event) (out []event.Actor) {
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.WaitAnswered:
			out = append(out, d.By)
		case *event.WaitClosed:
			out = append(out, d.By)
		}
	}
	return out
}

// openWaits returns the open waits of a run by node.
func openWaits(events []event.Event) map[string]string {
	open := map[string]string{}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.WaitOpened:
			open[e.Node] = d.Wait
		case *event.WaitAnswered, *event.WaitClosed:
			delete(open, e.Node)
		}
	}
	return open
}

func testAnswerOrders(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		if q.Node == "slow" {
			return sim.Reply("slow"), wait(ctx, time.Second)
		}
		return sim.Reply("%s", q.Node), nil
	}}
	p := c.Open(t, Options{World: w})
	decisions := map[string]string{"x": "approve", "y": "reject", "z": "approve"}
	for _, order := range [][]string{{"x", "y", "z"}, {"x", "z", "y"}, {"y", "x", "z"}, {"y", "z", "x"},
		{"z", "x", "y"}, {"z", "y", "x"}} {
		for early := range 3 { // number of answers while the sibling still runs
			run := start(t, p, threeApprovals())
			synctest.Wait()
			open := openWaits(c.Events(t, run))
			if len(open) != 3 {
				t.Fatalf("%d waits, want 3\n%s", len(open), show(c.Events(t, run)))
			}
			before := len(c.Events(t, run))
			if err := p.Answer(t.Context(), run, engine.Answer{Value: text("approve")}); !errors.Is(err,
				waits.ErrAmbiguous) {
				t.Fatalf("answer without id: %v, want ErrWaitAmbiguous", err)
			}
			if after := len(c.Events(t, run)); after != before {
				t.Fatalf("a refused answer wrote %d events", after-before)
			}
			for i, id := range order {
				if i == early {
					settle(t, c, p, run, event.StatusPaused)
				}
				if err := p.Answer(t.Context(), run,
					engine.Answer{Wait: open[id], Value: text(decisions[id])}); err != nil {
					t.Fatalf("answer %s of %v: %v", id, order, err)
				}
				if i >= early && i < 2 {
					settle(t, c, p, run, event.StatusPaused)
				}
			}
			settle(t, c, p, run, event.StatusCompleted)
			got := replies(c.Events(t, run))
			for id, d := range decisions {
				if n := len(got[id+"-"+d]); n != 1 {
					t.Fatalf("order %v: %d executions of %s-%s, want 1\n%s", order, n, id, d, show(c.Events(t, run)))
				}
			}
			if len(got) != 4 {
				t.Fatalf("order %v: nodes that ran: %v", order, got)
			}
		}
	}
	closeAll(t, p)
}

func testDoubleAnswers(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	run := start(t, p, chain(approval("ok"), agent("a")))
	settle(t, c, p, run, event.StatusPaused)
	id := openWaits(c.Events(t, run))["ok"]
	var wg sync.WaitGroup
	errs := make([]error, 100)
	for i := range errs {
		wg.Go(func() { errs[i] = p.Answer(t.Context(), run, engine.Answer{Wait: id, Value: text("approve")}) })
	}
	wg.Wait()
	for i, err := range errs {
		if err != nil {
			t.Fatalf("answer %d: %v", i, err)
		}
	}
	settle(t, c, p, run, event.StatusCompleted)
	if n := count(c.Events(t, run), "wait.answered"); n != 1 {
		t.Errorf("%d answers in the journal, want 1", n)
	}
	if err := p.Answer(t.Context(), run, engine.Answer{Wait: id, Value: text("approve")}); err != nil {
		t.Errorf("the same answer after the end: %v", err)
	}
	if err := p.Answer(t.Context(), run, engine.Answer{Wait: id, Value: text("reject")}); !errors.Is(err,
		waits.ErrAnswered) {
		t.Errorf("the opposite answer: %v, want ErrWaitAnswered", err)
	}
	if err := p.Answer(t.Context(), run, engine.Answer{Wait: "w99", Value: text("reject")}); !errors.Is(err,
		waits.ErrNotFound) {
		t.Errorf("an answer to no wait: %v, want ErrWaitNotFound", err)
	}
	closeAll(t, p)
}

func testAnswerRefused(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		<-ctx.Done()
		return model.Reply{}, ctx.Err()
	}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain().fork("", "f", workflow.Fork{}, nodes(approval("ok")), nodes(agent("a"))))
	synctest.Wait()
	p.Kill()
	q := c.Open(t, Options{World: w})
	before := len(c.Events(t, run))
	if err := q.Answer(t.Context(), run, engine.Answer{Value: text("perhaps")}); !errors.Is(err, waits.ErrAnswer) {
		t.Errorf("answer that has no meaning: %v, want ErrAnswer", err)
	}
	if s, err := q.Wait(t.Context(), run); err != nil || !s.Interrupted {
		t.Errorf("after a refused answer: %+v, %v; want interrupted as before", s, err)
	}
	if after := len(c.Events(t, run)); after != before {
		t.Errorf("a refused answer wrote %d events", after-before)
	}
	w.Model = nil
	if err := q.Answer(t.Context(), run, engine.Answer{Value: text("approve")}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusCompleted)
	events := c.Events(t, run)
	if d, ok := events[before].Data.(*event.RunResumed); !ok || d.Reason != "recovered" {
		t.Errorf("the first event after the kill is %s, want run.resumed: the time without owner must not count "+
			"(D21)\n%s",
			events[before].Data.Type(), show(events))
	}
	closeAll(t, q)
}

func testApproveAll(t *testing.T, c Cluster) {
	w := &sim.World{Tools: map[string]sim.Tool{
		"act": {Policy: tool.PolicyAsk, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}}}
	p := c.Open(t, Options{World: w, ApproveAll: true})
	run := start(t, p, chain(approval("one"), approval("two"), agent("a")))
	settle(t, c, p, run, event.StatusCompleted)
	if by := event.LocalBy(event.ChannelApproveAll); !slices.Equal(actors(c.Events(t, run)), []event.Actor{by, by}) {
		t.Errorf("the journal has answers by %v, want two by %v", actors(c.Events(t, run)), by)
	}

	question := workflow.Node{ID: "q", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitQuestion,
		Prompt: "why?"}}
	settle(t, c, p, start(t, p, chain(question)), event.StatusPaused)

	lost := start(t, p, chain(toolNode("a", "act")))
	synctest.Wait()
	p.Kill()
	q := c.Open(t, Options{World: w, ApproveAll: true})
	if err := q.Resume(t.Context(), lost); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, lost, event.StatusPaused) // an unknown outcome is not an approval
	closeAll(t, q)
}

func testInbox(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("ok"), wait(ctx, time.Minute)
	}}
	owner := c.Open(t, Options{World: w})
	other := c.Open(t, Options{World: w})
	f := func() *flow { return chain().fork("", "f", workflow.Fork{}, nodes(approval("ok")), nodes(agent("a"))) }

	run := start(t, owner, f())
	synctest.Wait()
	began := time.Now()
	ann := event.Actor{Name: "ann", Token: "t1", Channel: event.ChannelHTTP}
	if err := other.Answer(t.Context(), run, engine.Answer{Value: text("what?")}); !errors.Is(err, waits.ErrAnswer) {
		t.Errorf("bad answer through the inbox: %v, want ErrAnswer", err)
	}
	if err := other.Answer(t.Context(), run, engine.Answer{Value: text("approve"), Note: "from afar", Key: "k",
		By: ann}); err != nil {
		t.Errorf("answer through the inbox: %v", err)
	}
	if err := other.Answer(t.Context(), run, engine.Answer{Value: text("approve"), Key: "k"}); err != nil {
		t.Errorf("the same answer by its key, through the inbox: %v (P24)", err)
	}
	if took := time.Since(began); took > time.Second {
		t.Errorf("two requests took %s; owners are signalled", took)
	}
	settle(t, c, other, run, event.StatusCompleted)
	if got := actors(c.Events(t, run)); !slices.Equal(got, []event.Actor{ann}) {
		t.Errorf("the journal has answers by %v, want one by %v", got, ann)
	}

	run = start(t, owner, f())
	synctest.Wait()
	if err := other.Cancel(t.Context(), run, "from afar"); err != nil {
		t.Errorf("cancel through the inbox: %v", err)
	}
	settle(t, c, other, run, event.StatusCancelled)
	closeAll(t, owner, other)
}

func testInboxDeath(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("ok"), wait(ctx, time.Minute)
	}}
	owner := c.Open(t, Options{World: w, Deaf: true})
	other := c.Open(t, Options{World: w})
	run := start(t, owner, chain().fork("", "f", workflow.Fork{}, nodes(approval("ok")), nodes(agent("a"))))
	synctest.Wait()
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { err = other.Answer(t.Context(), run, engine.Answer{Value: text("approve")}) })
	synctest.Wait() // the request is in the inbox
	owner.Kill()
	wg.Wait()
	if err != nil {
		t.Errorf("answer to a run whose owner died: %v", err)
	}
	settle(t, c, other, run, event.StatusCompleted)
	closeAll(t, other)
}

func testReopen(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	f := chain(agent("a"), agent("b"), agent("c"))
	most := 2
	f.Limits.MaxSteps = &most
	run := start(t, p, f)
	settle(t, c, p, run, event.StatusFailed)
	if err := p.Resume(t.Context(), run); !errors.Is(err, engine.ErrEnded) {
		t.Errorf("resume: %v, want ErrEnded", err)
	}
	more := 10
	if err := p.Reopen(t.Context(), run, workflow.Limits{MaxSteps: &more},
		event.LocalBy(event.ChannelCLI)); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusCompleted)
	if err := p.Reopen(t.Context(), run, workflow.Limits{MaxSteps: &more},
		event.LocalBy(event.ChannelCLI)); !errors.Is(err, engine.ErrNotReopenable) {
		t.Errorf("reopen of a completed run: %v, want ErrNotReopenable", err)
	}
	if got := replies(c.Events(t, run)); fmt.Sprint(len(got["a"]), len(got["b"]), len(got["c"])) != "1 1 1" {
		t.Errorf("executions: %v", got)
	}
	closeAll(t, p)
}
