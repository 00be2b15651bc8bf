package drivertest

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/sim"
)

// asking is a workflow whose first function changes the state and asks a person.
func asking() (*flow, *sim.World) {
	w := &sim.World{Func: func(_ context.Context, _ string, c *engine.CallFunc, _ driver.Caller) engine.FuncResult {
		if c.Node == "z" {
			return engine.FuncResult{Output: c.Input}
		}
		return engine.FuncResult{Update: map[string]event.Value{"n": event.Value("1")}, Output: text("not this"),
			Signals: []event.SignalRaised{{Signal: "human_input_required", Message: "Sure?",
				Data: map[string]event.Value{"options": event.Value(`["yes", "no"]`)}}}}
	}}
	return chain(funcNode("q"), funcNode("z")), w
}

// testAsk checks that a function that asks a person pauses its run after its changes to the state,
// that another process may continue the run, and that the answer is the output of the step.
func testAsk(t *testing.T, c Cluster) {
	f, w := asking()
	p := c.Open(t, Options{World: w})
	run := start(t, p, f)
	settle(t, c, p, run, event.StatusPaused)
	closeAll(t, p)
	p = c.Open(t, Options{World: w})
	if err := p.Answer(t.Context(), run, engine.Answer{Wait: "w1", Value: text("yes")}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusCompleted)
	events := c.Events(t, run)
	if n := count(events, "func.called"); n != 2 {
		t.Errorf("%d calls of functions\n%s", n, show(events))
	}
	plan, err := engine.Compile(f.workflow(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	r := engine.New(plan, run)
	if err := r.Apply(events); err != nil {
		t.Fatal(err)
	}
	if got := string(r.Output()) + string(r.State()["n"]); got != `"yes"1` {
		t.Errorf("output and state %s\n%s", got, show(events))
	}
	for _, e := range events {
		if d, ok := e.Data.(*event.WaitOpened); ok && (d.Prompt != "Sure?" || len(d.Options) != 2) {
			t.Errorf("asked %+v", d)
		}
	}
	closeAll(t, p)
}

// testAskFaults checks that deaths and failing writes do not change the outcome.
func testAskFaults(t *testing.T, c Cluster) {
	f, w := asking()
	clean, writes := drive(t, c, w, f, func(int) func(string, int) sim.Fault { return nil })
	want := outcome(clean)
	if want["end"] != event.Type("run.completed") || count(clean, "wait.opened") != 1 {
		t.Fatal(show(clean))
	}
	for how, k := range faults(c, 2, writes, sim.FaultDieBefore, sim.FaultDieAfter, sim.FaultError, sim.FaultSilent) {
		c := c.Fresh(t)
		f, w := asking()
		events, _ := drive(t, c, w, f, func(process int) func(string, int) sim.Fault {
			return func(_ string, i int) sim.Fault {
				if process == 0 && i == k {
					return how
				}
				return sim.FaultNone
			}
		})
		if got := outcome(events); !cmp.Equal(got, want) {
			t.Errorf("fault %v at write %d:\n%s\n%s", how, k, cmp.Diff(want, got), show(events))
		}
	}
}
