package drivertest

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
)

// callsOf returns the open waits for tool calls, oldest first.
func callsOf(events []event.Event) []*event.WaitOpened {
	var open []*event.WaitOpened
	for _, e := range events {
		done := ""
		switch d := e.Data.(type) {
		case *event.WaitOpened:
			if d.Binding != "" {
				open = append(open, d)
			}
		case *event.WaitAnswered:
			done = d.Wait
		case *event.WaitClosed:
			done = d.Wait
		}
		open = slices.DeleteFunc(open, func(w *event.WaitOpened) bool { return w.Wait == done })
	}
	return open
}

// testHeldCalls checks that a call that a person must approve is not made before the approval, is
// made once after it, and is not made after a rejection (P8), whichever process dies.
func testHeldCalls(t *testing.T, c Cluster) {
	for _, answer := range []string{"approve", "reject"} {
		w := &sim.World{Model: callsTool("act"), Tools: map[string]sim.Tool{"act": {
			Policy: tool.PolicyAsk, Asks: true, Do: func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Result{Text: "acted"}, nil
			},
		}}}
		p := c.Open(t, Options{World: w})
		run := start(t, p, chain(agent("a")))
		settle(t, c, p, run, event.StatusPaused)
		p.Kill()
		open := callsOf(c.Events(t, run))
		if len(open) != 1 || open[0].Tool != "act" || len(open[0].Arguments) == 0 || w.Count("tool", "") != 0 {
			t.Fatalf("%d waits and %d calls, want one wait that shows the call\n%s", len(open), w.Count("tool", ""),
				show(c.Events(t, run)))
		}
		q := c.Open(t, Options{World: w})
		var group sync.WaitGroup
		errs := make([]error, 20)
		for i := range errs {
			group.Go(func() {
				errs[i] = q.Answer(t.Context(), run, engine.Answer{Wait: open[0].Wait, Value: text(answer),
					Note: "not now"})
			})
		}
		group.Wait()
		if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
			t.Fatalf("the same answer again (P24): %v", errs[i])
		}
		settle(t, c, q, run, event.StatusCompleted)
		want, reply := 1, "acted"
		if answer == "reject" {
			want, reply = 0, "A person rejected the call of tool act; it was not made. Reason: not now"
		}
		if n := w.Count("tool", ""); n != want {
			t.Errorf("%s: %d calls, want %d", answer, n, want)
		}
		if got := replies(c.Events(t, run))["a"]; !slices.Contains(got, reply) {
			t.Errorf("%s: the agent said %q, want what it read, %q", answer, got, reply)
		}
		if err := q.Answer(t.Context(), run,
			engine.Answer{Wait: open[0].Wait,
				Value: text(map[string]string{"approve": "reject", "reject": "approve"}[answer])}); !errors.Is(err,
			waits.ErrAnswered) {
			t.Errorf("the opposite answer: %v, want ErrWaitAnswered", err)
		}
		closeAll(t, q)
	}
}

// testHeldAfterApproval checks that a process that dies while an approved call is in flight leaves
// its outcome unknown, so that the tool's policy decides (P12).
func testHeldAfterApproval(t *testing.T, c Cluster) {
	w := &sim.World{Model: callsTool("act"), Tools: map[string]sim.Tool{"act": {
		Policy: tool.PolicyAsk, Asks: true, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		},
	}}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain(agent("a")))
	settle(t, c, p, run, event.StatusPaused)
	if err := p.Answer(t.Context(), run, engine.Answer{Value: text("approve")}); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	p.Kill()
	q := c.Open(t, Options{World: w})
	if err := q.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusPaused)
	if n := w.Count("tool", ""); n != 1 {
		t.Errorf("%d calls, want 1: its policy does not let it be repeated", n)
	}
	if err := q.Answer(t.Context(), run, engine.Answer{Value: text("skip")}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusCompleted)
	closeAll(t, q)
}
