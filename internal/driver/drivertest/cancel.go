package drivertest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// startTyped starts a run of functions with typed state.
func startTyped(t *testing.T, p Process, f *flow) string {
	t.Helper()
	f.Rules = workflow.TypedRules()
	run, err := p.Start(t.Context(), driver.Spec{Workflow: f.workflow(), Input: event.Value(`{"n":1}`)})
	if err != nil {
		t.Fatalf("start: %v", err)
	}
	return run
}

// testCancelFunc checks that results of a cancelled run's functions count if they arrive within 5
// s, including notes, and that nothing follows them (S2-36, ADR 15).
func testCancelFunc(t *testing.T, c Cluster) {
	w := &sim.World{Func: func(ctx context.Context, _ string, f *engine.CallFunc, rec driver.Caller) engine.FuncResult {
		<-ctx.Done()
		if err := wait(context.Background(), 4*time.Second); err != nil {
			t.Error(err)
		}
		if err := rec.Record(engine.FuncNote{ID: f.ID, Key: "k"}); err != nil {
			t.Errorf("note: %v", err)
		}
		return engine.FuncResult{Output: text("done"), Update: map[string]event.Value{"n": event.Value("2")}}
	}}
	p := c.Open(t, Options{World: w})
	run := startTyped(t, p, chain(funcNode("a"), funcNode("b")))
	synctest.Wait()
	if err := p.Cancel(t.Context(), run, "enough"); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusCancelled)
	if events := c.Events(t, run); count(events, "step.completed") != 1 || count(events, "step.started") != 1 ||
		count(events, "func.noted") != 1 {
		t.Errorf("what the function gave is lost, or another one was begun\n%s", show(events))
	}
	closeAll(t, p)
}

// testCancelDeafFunc checks that a function that ignores its context delays the cancellation for 5
// s; then its step is cancelled, not failed. Its slot is released soon after (ADR 15, P11).
func testCancelDeafFunc(t *testing.T, c Cluster) {
	let := make(chan struct{})
	w := &sim.World{Func: func(context.Context, string, *engine.CallFunc, driver.Caller) engine.FuncResult {
		<-let
		return engine.FuncResult{Output: text("too late")}
	}}
	p := c.Open(t, Options{World: w, MaxCalls: 1})
	run := startTyped(t, p, chain(funcNode("a")))
	synctest.Wait()
	began := time.Now()
	if err := p.Cancel(t.Context(), run, ""); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusCancelled)
	if took := time.Since(began); took != 5*time.Second {
		t.Errorf("cancelling took %s, want 5s", took)
	}
	if events := c.Events(t, run); count(events, "step.cancelled") != 1 || count(events, "step.failed")+
		count(events, "step.retrying") > 0 {
		t.Errorf("the step did not end as cancelled\n%s", show(events))
	}
	w.Func = nil
	settle(t, c, p, startTyped(t, p, chain(funcNode("a"))), event.StatusCompleted)
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("the slot of the deaf function was free after %s", took)
	}
	close(let)
	closeAll(t, p)
}

// testCancelFuncFaults checks that a process that dies at any write of a cancellation leaves a run
// that the next process cancels, or that continues if no part of the cancellation was stored; once
// cancelled, the function is not called again.
func testCancelFuncFaults(t *testing.T, c Cluster) {
	for _, how := range []sim.Fault{sim.FaultDieBefore, sim.FaultDieAfter, sim.FaultError, sim.FaultSilent} {
		for k := 2; k <= 4; k++ {
			c, calls, writes := c.Fresh(t), 0, 0
			w := &sim.World{
				Func: func(ctx context.Context, _ string, f *engine.CallFunc, rec driver.Caller) engine.FuncResult {
					if calls++; calls > 1 {
						return engine.FuncResult{Output: text("again")}
					}
					<-ctx.Done()
					if err := rec.Record(engine.FuncNote{ID: f.ID, Key: "k"}); err != nil {
						return engine.FuncResult{Failure: &event.Failure{Code: event.CodeFunc, Message: err.Error()}}
					}
					return engine.FuncResult{Output: text("done")}
				}}
			p := c.Open(t, Options{World: w, Fault: func(_ string, n int) sim.Fault {
				writes = n
				if n == k {
					return how
				}
				return sim.FaultNone
			}})
			run := startTyped(t, p, chain(funcNode("a"), funcNode("b")))
			synctest.Wait()
			err := p.Cancel(t.Context(), run, "enough")
			synctest.Wait()
			closeAll(t, p)
			if writes < k {
				t.Errorf("fault %v at write %d: there were %d writes", how, k, writes)
			}
			kept := count(c.Events(t, run), "run.cancelling") > 0
			if err == nil && !kept {
				t.Errorf("fault %v at write %d: a cancellation that is not kept was confirmed", how, k)
			}
			q := c.Open(t, Options{World: w})
			if err := q.Recover(t.Context()); err != nil {
				t.Fatal(err)
			}
			s, err := q.Wait(t.Context(), run)
			events := c.Events(t, run)
			switch last, isCancelled := events[len(events)-1].Data.(*event.RunCancelled); {
			case err != nil || s.Interrupted || isCancelled != kept || isCancelled && last.Reason != "enough":
				t.Errorf("fault %v at write %d: %+v, %v\n%s", how, k, s, err, show(events))
			case kept && calls != 1:
				t.Errorf("fault %v at write %d: functions were called %d times\n%s", how, k, calls, show(events))
			}
			closeAll(t, q)
		}
	}
}
