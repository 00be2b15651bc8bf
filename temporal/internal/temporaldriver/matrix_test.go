package temporaldriver_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/common/v1"
	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/faultmatrix"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// byHand lets an operator do something to the workflows of two runs whose second call is in flight:
// a model call, and a call of a tool that may not be repeated. The first call of each is not
// repeated, the model is called again, and a person is asked about the tool (P12).
func byHand(t *testing.T, do func(c *cluster, run string)) {
	t.Helper()
	c := memoryCluster(t)
	began, let := make(chan string, 10), make(chan struct{})
	block := func(ctx context.Context, what string) {
		began <- what
		select {
		case <-let:
		case <-ctx.Done():
		}
	}
	w := &sim.World{
		Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
			if q.Node == "b" {
				block(ctx, "b")
			}
			if ctx.Err() != nil {
				return model.Reply{}, ctx.Err()
			}
			return sim.Reply("done"), nil
		},
		Tools: map[string]sim.Tool{
			"act": {Policy: tool.PolicyAsk, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				block(ctx, "act")
				return tool.Result{Text: "acted"}, ctx.Err()
			}}},
	}
	p := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	p.SetSweep(100 * time.Millisecond)
	begin(t, p, "model", line(node("a", workflow.KindAgent), node("b", workflow.KindAgent)))
	begin(t, p, "tool", line(node("a", workflow.KindAgent), node("act", workflow.KindTool)))
	<-began
	<-began
	do(c, "model")
	do(c, "tool")
	settles(t, c, p, "tool", event.StatusPaused)
	if what := <-began; what != "b" {
		t.Errorf("%s was called again", what)
	}
	close(let)
	settles(t, c, p, "model", event.StatusCompleted)
	if a, act := w.Count("model", "a"), w.Count("tool", ""); a != 2 || act != 1 {
		t.Errorf("the first agents were called %d times, want 2; the tool %d times, want 1", a, act)
	}
	if err := p.Answer(t.Context(), "tool", engine.Answer{Value: quoted("retry")}); err != nil {
		t.Fatal(err)
	}
	settles(t, c, p, "tool", event.StatusCompleted)
}

// TestTerminatedByHand checks that a run whose workflow was terminated by a Temporal operator
// continues: the sweep starts another workflow.
func TestTerminatedByHand(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-terminated")
	byHand(t, func(c *cluster, run string) {
		if err := dial(t, c.address, c.temporal).TerminateWorkflow(t.Context(),
			temporaldriver.WorkflowID(c.namespace, run), "", "by hand"); err != nil {
			t.Fatal(err)
		}
	})
}

// TestResetByHand checks that a run whose workflow was reset by a Temporal operator continues from
// the head of its journal, whatever state the workflow is in.
func TestResetByHand(t *testing.T) {
	t.Parallel()
	faultmatrix.Proves(t, "temporal-reset")
	for name, at := range map[string]func(tasks []int64) int64{
		"to the beginning": func(tasks []int64) int64 { return tasks[0] },
		"to the middle":    func(tasks []int64) int64 { return tasks[len(tasks)/2] },
		"to the end":       func(tasks []int64) int64 { return tasks[len(tasks)-1] },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			byHand(t, func(c *cluster, run string) {
				events, _ := c.historyOf(t, run)
				var tasks []int64
				for _, e := range events {
					if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_TASK_COMPLETED {
						tasks = append(tasks, e.GetEventId())
					}
				}
				if _, err := dial(t, c.address, c.temporal).ResetWorkflowExecution(t.Context(),
					&workflowservice.ResetWorkflowExecutionRequest{
						Namespace: c.temporal, WorkflowExecution: &common.WorkflowExecution{
							WorkflowId: temporaldriver.WorkflowID(c.namespace, run),
						},
						Reason: "by hand", WorkflowTaskFinishEventId: at(tasks), RequestId: run + name,
					}); err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}

// TestCall_TimeoutIsInterrupt checks that a function whose call Temporal abandons while the run
// needs its result is told that it was interrupted, not that it was cancelled, and that its child
// runs continue.
func TestCall_TimeoutIsInterrupt(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	began, cause, seen := make(chan struct{}), make(chan error, 1), make(chan struct{})
	var calls atomic.Int64
	w := &sim.World{Func: func(ctx context.Context, _ string, _ *engine.CallFunc, _ driver.Caller) engine.FuncResult {
		if calls.Add(1) > 1 {
			<-seen
			return engine.FuncResult{Output: quoted("done")}
		}
		close(began)
		<-ctx.Done()
		cause <- context.Cause(ctx)
		return engine.FuncResult{Failure: &event.Failure{Code: event.CodeCancelled, Message: "cancelled"}}
	}}
	p := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	p.SetSweep(100 * time.Millisecond)
	begin(t, p, "r", line(node("f", workflow.KindFunc)))
	<-began
	if err := dial(t, c.address, c.temporal).TerminateWorkflow(t.Context(), temporaldriver.WorkflowID(c.namespace, "r"),
		"", "by hand"); err != nil {
		t.Fatal(err)
	}
	if err := <-cause; !errors.Is(err, driver.ErrInterrupted) {
		t.Errorf("the call ended with %v, want ErrInterrupted", err)
	}
	close(seen)
	settles(t, c, p, "r", event.StatusCompleted)
}
