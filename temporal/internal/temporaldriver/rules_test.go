package temporaldriver_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// TestPlaces checks that the tools of a run that needs a place are called by the worker there, its
// models by any worker, and that a run whose place has no worker waits for one.
func TestPlaces(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	at := func(place string) (*process, *sim.World) {
		w := &sim.World{Tools: map[string]sim.Tool{"act": {Policy: tool.PolicyAsk, Do: does}}}
		return c.process(t, drivertest.Options{World: w}, temporaldriver.Queues(), func(cfg *temporaldriver.Config) {
			cfg.Place = place
		}), w
	}
	here, first := at("one")
	_, second := at("two")
	flow := line(node("a", workflow.KindAgent), node("act", workflow.KindTool), node("b", workflow.KindAgent))
	start := func(run, place string) {
		t.Helper()
		if _, err := here.Start(t.Context(), driver.Spec{Run: run, Workflow: flow, Input: quoted("in"),
			Place: place}); err != nil {
			t.Fatal(err)
		}
	}
	start("r1", "two")
	settles(t, c, here, "r1", event.StatusCompleted)
	start("r2", "one")
	settles(t, c, here, "r2", event.StatusCompleted)
	if one, two := first.Count("tool", ""), second.Count("tool", ""); one != 1 || two != 1 {
		t.Errorf("%d and %d calls of tools at the places, want one at each", one, two)
	}
	const odd = "größer/als:drei,'\"%" // valid as the name of a place in the store
	start("r3", odd)
	for c.pending(t, "r3") != c.queue(t)+".tool."+odd {
		time.Sleep(20 * time.Millisecond)
	}
	_, third := at(odd)
	settles(t, c, here, "r3", event.StatusCompleted)
	if n := third.Count("tool", ""); n != 1 {
		t.Errorf("%d calls of tools at the place that came late", n)
	}
}

// pending returns the queue of the call that a run waits for; "" means that it waits for none, or
// has no workflow yet.
func (c *cluster) pending(t *testing.T, run string) string {
	t.Helper()
	if _, err := dial(t, c.address, c.temporal).DescribeWorkflowExecution(t.Context(),
		temporaldriver.WorkflowID(c.namespace, run), ""); err != nil {
		return ""
	}
	queue := map[int64]string{}
	for _, e := range c.execution(t, temporaldriver.WorkflowID(c.namespace, run), "") {
		if a := e.GetActivityTaskScheduledEventAttributes(); a != nil {
			queue[e.GetEventId()] = a.GetTaskQueue().GetName()
		}
		delete(queue, e.GetActivityTaskCompletedEventAttributes().GetScheduledEventId())
	}
	for _, name := range queue {
		return name
	}
	return ""
}

// TestTemporalAttributes checks that a run has search attributes if the namespace has them, and
// that it continues without them if they were removed or never existed.
func TestTemporalAttributes(t *testing.T) {
	t.Parallel()
	newCluster(t)
	c, server := ownServer(t)
	with := func(cfg *temporaldriver.Config) { cfg.Attributes = true }
	attributes := func(p *process, run string) string {
		t.Helper()
		begin(t, p, run, pair())
		settles(t, c, p, run, event.StatusCompleted)
		dialed := dial(t, c.address, c.temporal)
		if err := dialed.GetWorkflow(t.Context(), run, "").Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		is, err := dialed.DescribeWorkflowExecution(t.Context(), run, "")
		if err != nil {
			t.Fatal(err)
		}
		var all []string
		for _, name := range []string{"HocketWorkflow", "HocketStatus"} {
			all = append(all,
				string(is.GetWorkflowExecutionInfo().GetSearchAttributes().GetIndexedFields()[name].GetData()))
		}
		return strings.Join(all, " ")
	}
	if got := attributes(c.process(t, drivertest.Options{World: &sim.World{}}, temporaldriver.Queues(), with),
		"r1"); got != " " {
		t.Errorf("in a namespace without them, attributes are %s", got)
	}
	server.AddAttributes(t, c.temporal)
	if got := attributes(c.process(t, drivertest.Options{World: &sim.World{}}, temporaldriver.Queues(), with),
		"r2"); got != `"pair" "completed"` {
		t.Errorf("attributes are %s", got)
	}
}

// TestForeignWorkflow checks that a run whose ID is that of another program's workflow is rejected
// with a one-sentence error, and that the workflow is left alone. Once that workflow has ended, the
// ID is free.
func TestForeignWorkflow(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	p := c.process(t, drivertest.Options{World: &sim.World{}}, temporaldriver.Queues())
	dialed, id := dial(t, c.address, c.temporal), temporaldriver.WorkflowID(c.namespace, "r")
	if _, err := dialed.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: "theirs"},
		"billing"); err != nil {
		t.Fatal(err)
	}
	plain := c.plainDriver(t, &sim.World{}, true)
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "go on?"}}
	refused := func(err error) {
		t.Helper()
		if code, _ := errcode.Of(err); code != errcode.TemporalWorkflow || !strings.Contains(err.Error(),
			`another program in Temporal, of type "billing"`) || strings.Contains(err.Error(), "\n") {
			t.Errorf("got %v", err)
		}
	}
	_, err := p.Start(t.Context(), driver.Spec{Run: "r", Workflow: pair(), Input: quoted("in")})
	refused(err)
	if len(c.Events(t, "r")) > 0 {
		t.Error("the run was stored")
	}
	begin(t, plain, "r", line(approve, node("a", workflow.KindAgent)))
	settles(t, c, plain, "r", event.StatusPaused)
	refused(p.Adopt(t.Context(), "r"))
	for _, e := range c.execution(t, id, "") {
		if e.GetEventType() == enums.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED {
			t.Error("the other program's workflow was signalled")
		}
	}
	if err := dialed.TerminateWorkflow(t.Context(), id, "", "over"); err != nil {
		t.Fatal(err)
	}
	if err := p.Adopt(t.Context(), "r"); err != nil {
		t.Fatal(err)
	}
	if err := p.Answer(t.Context(), "r", engine.Answer{Value: quoted("approve")}); err != nil {
		t.Fatal(err)
	}
	settles(t, c, p, "r", event.StatusCompleted)
}

// TestTwoStores checks that processes of two stores that use one Temporal namespace complete their
// own runs.
func TestTwoStores(t *testing.T) {
	t.Parallel()
	one, two := memoryCluster(t), memoryCluster(t)
	two.address, two.temporal, two.namespace = one.address, one.temporal, one.namespace
	w := &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) { return sim.Reply("done"), nil }}
	o := drivertest.Options{World: w, Unchecked: true}
	first, second := one.process(t, o, temporaldriver.Queues()), two.process(t, o, temporaldriver.Queues())
	for i := range 10 { // in one queue, some would be taken by the other store's workers
		begin(t, first, fmt.Sprint("first", i), pair())
		begin(t, second, fmt.Sprint("second", i), pair())
	}
	for i := range 10 {
		settles(t, one, first, fmt.Sprint("first", i), event.StatusCompleted)
		settles(t, two, second, fmt.Sprint("second", i), event.StatusCompleted)
	}
}

// TestNewerProtocol checks that a workflow that a newer version of Hocket started is left to newer
// workers, that Temporal shows its protocol version in the error, and that no call of its run is
// made.
func TestNewerProtocol(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	w := &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) { return sim.Reply("done"), nil }}
	p := c.process(t, drivertest.Options{World: w}, temporaldriver.Queues())
	begin(t, p, "other", pair()) // shows that the worker works
	settles(t, c, p, "other", event.StatusCompleted)
	_, err := dial(t, c.address, c.temporal).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: temporaldriver.WorkflowID(c.namespace, "r"), TaskQueue: c.queue(t),
	}, temporaldriver.WorkflowName, temporaldriver.Input{Run: "r", Protocol: 7})
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	for said == "" {
		for _, e := range c.execution(t, temporaldriver.WorkflowID(c.namespace, "r"), "") {
			said += e.GetWorkflowTaskFailedEventAttributes().GetFailure().GetMessage()
			if e.GetEventType() == enums.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED ||
				e.GetEventType() == enums.EVENT_TYPE_MARKER_RECORDED {
				t.Errorf("the workflow went on: %s", e.GetEventType())
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	if !strings.Contains(said, "newer Hocket (protocol 7)") {
		t.Errorf("Temporal shows %q", said)
	}
}
