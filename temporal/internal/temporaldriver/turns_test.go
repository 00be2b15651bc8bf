package temporaldriver_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// enqueue starts a run that requests the only slot of a queue, as package service does. The run
// waits for an approval.
func (c *cluster) enqueue(t *testing.T, d driver.Driver, run string) {
	t.Helper()
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "go on?"}}
	slot := journal.Slot{Name: "queue", Run: run, Max: 1}
	turn, err := c.reader.Queue(t.Context(), slot)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Start(t.Context(), driver.Spec{Run: run, Workflow: line(approve, node("a", workflow.KindAgent)),
		Input: quoted("in"), Slot: &slot, Queued: !turn.Admitted}); err != nil {
		t.Fatal(err)
	}
	if err := c.reader.Confirm(t.Context(), run); err != nil {
		t.Fatal(err)
	}
}

// TestQueue_ProcessDies checks that a queued run has no workflow while it waits, and that it begins
// in another process, which works already, wherever the process that started it dies.
func TestQueue_ProcessDies(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func(op string, n int) sim.Fault{
		"while the run waits": func(string, int) sim.Fault { return sim.FaultNone },
		"before it lets it begin": func(_ string, n int) sim.Fault {
			return map[int]sim.Fault{2: sim.FaultDieBefore}[n]
		},
		"before it sends the signal": func(_ string, n int) sim.Fault {
			return map[int]sim.Fault{2: sim.FaultDieAfter}[n]
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := memoryCluster(t)
			w := &sim.World{}
			other := c.process(t, drivertest.Options{World: w}, temporaldriver.Queues())
			other.SetSweep(100 * time.Millisecond)
			starter := c.process(t, drivertest.Options{World: w, Fault: fault}, nil)
			for i, run := range []string{"first", "second"} {
				c.enqueue(t, []*process{other, starter}[i], run)
			}
			settles(t, c, other, "first", event.StatusPaused)
			_, err := dial(t, c.address, c.temporal).DescribeWorkflowExecution(t.Context(),
				temporaldriver.WorkflowID(c.namespace, "second"), "")
			if _, missing := errors.AsType[*serviceerror.NotFound](err); !missing {
				t.Errorf("the workflow of a run that waits: %v, want none", err)
			}
			if name == "while the run waits" {
				starter.Kill()
			}
			if err := other.Answer(t.Context(), "first", engine.Answer{Value: quoted("approve")}); err != nil {
				t.Fatal(err)
			}
			settles(t, c, other, "first", event.StatusCompleted)
			settles(t, c, other, "second", event.StatusPaused)
			starts := 0
			for _, e := range c.Events(t, "second") {
				if _, ok := e.Data.(*event.RunStarted); ok {
					starts++
				}
			}
			if starts != 1 {
				t.Errorf("the run began %d times\n%s", starts, shown(c.Events(t, "second")))
			}
			if err := other.Answer(t.Context(), "second", engine.Answer{Value: quoted("approve")}); err != nil {
				t.Fatal(err)
			}
			settles(t, c, other, "second", event.StatusCompleted)
		})
	}
}

// TestQueue_Adopted checks that a pending run that is moved to Temporal, or away from it, begins
// there in its turn.
func TestQueue_Adopted(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	w := &sim.World{}
	p := c.process(t, drivertest.Options{World: w}, temporaldriver.Queues())
	plain, err := embedded.New(embedded.Config{Expressions: celexpr.Compiler{}, Store: c.open(), Open: w.Open,
		Kind: journal.KindRun}) // p claims no runs of this kind
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { plain.Close(context.Background()) })
	runs := []string{"first", "second", "third"}
	for i, run := range runs {
		c.enqueue(t, []driver.Driver{p, plain, p}[i], run)
	}
	if err := plain.Interrupt(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	if err := p.Adopt(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	if err := p.Resume(t.Context(), "second"); err != nil {
		t.Fatal(err)
	}
	if err := plain.Adopt(t.Context(), "third"); err != nil { // p then claims it
		t.Fatal(err)
	}
	for _, run := range runs {
		settles(t, c, p, run, event.StatusPaused)
		if err := p.Answer(t.Context(), run, engine.Answer{Value: quoted("approve")}); err != nil {
			t.Fatal(err)
		}
		settles(t, c, p, run, event.StatusCompleted)
	}
}
