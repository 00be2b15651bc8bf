package temporaldriver_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	history "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

var update = flag.Bool("update", false, "record the histories anew, with HOCKET_TEMPORAL=1")

// histories is the folder of the recorded histories.
const histories = "testdata/histories"

// canary appears in each prompt, reply, argument and result of the recorded runs.
const canary = "zebra-crossing"

// TestRecordHistories records the histories that the other tests of this file replay:
// `HOCKET_TEMPORAL=1 go test ./internal/temporaldriver -run RecordHistories -update`. Without
// -update it checks that the runs can be recorded and that their histories can be replayed too.
func TestRecordHistories(t *testing.T) {
	newCluster(t)
	for name, record := range recorded() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for i, h := range record(t) {
				if err := replay(t, h, temporaldriver.RunWorkflow); err != nil {
					t.Errorf("execution %d: %v", i+1, err)
				}
				onlyNames(t, h)
				if *update {
					writeHistory(t, filepath.Join(histories, fmt.Sprintf("%s-%d.json", name, i+1)), h)
				}
			}
		})
	}
}

// recorded returns the runs that are recorded. Each returns the histories of its executions in
// Temporal, in order.
func recorded() map[string]func(t *testing.T) []*history.History {
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: canary}}
	agent := func(id string) workflow.Node { return node(id, workflow.KindAgent) }
	again := agent("a")
	again.Retry = &workflow.Retry{MaxRetries: 2, Delay: workflow.Duration(200 * time.Millisecond)}
	branches := make([]string, 1400)
	for i := range branches {
		branches[i] = fmt.Sprint("n", i)
	}
	long := sideBySide(workflow.Fork{}, branches...)
	long.Limits.MaxSteps = new(2 * len(branches))
	last := line(agent("last"))
	long.Nodes, long.Agents, long.Edges = append(long.Nodes, last.Nodes...), append(long.Agents, last.Agents...),
		append(long.Edges, workflow.Edge{From: "join", To: "last"})
	return map[string]func(t *testing.T) []*history.History{
		"plain": whole(line(agent("a"), agent("b")), &sim.World{Model: says}),
		"tools": whole(line(agent("a"), node("act", workflow.KindTool)), &sim.World{
			Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
				if len(q.Messages) > 2 {
					return says(ctx, q)
				}
				return model.Reply{Message: chat.Message{ToolCalls: []chat.ToolCall{
					{ID: "c1", Name: "read", Arguments: []byte(`{"of":"` + canary + `"}`)},
					{ID: "c2", Name: "act", Arguments: []byte(`{"of":"` + canary + `"}`)},
				}}}, nil
			},
			Tools: map[string]sim.Tool{"read": {Policy: tool.PolicyRetry, Do: does},
				"act": {Policy: tool.PolicyAsk, Do: does}},
		}),
		"approval": func(t *testing.T) []*history.History {
			c := memoryCluster(t)
			p := c.process(t, drivertest.Options{World: &sim.World{Model: says}, Unchecked: true},
				temporaldriver.Queues())
			begin(t, p, "r", line(agent("a"), approve, agent("b")))
			settles(t, c, p, "r", event.StatusPaused)
			before := c.ended(t, "r")
			if err := p.Answer(t.Context(), "r", engine.Answer{Value: quoted("approve"), Note: canary}); err != nil {
				t.Fatal(err)
			}
			settles(t, c, p, "r", event.StatusCompleted)
			return append(before, c.ended(t, "r")...)
		},
		"retries": whole(line(again), func() *sim.World {
			var n atomic.Int64
			return &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
				if n.Add(1) < 3 {
					return model.Reply{}, &model.Error{Kind: model.KindOverloaded, Message: canary}
				}
				return says(ctx, q)
			}}
		}()),
		"race": whole(sideBySide(workflow.Fork{Until: workflow.UntilAny}, "slow", "fast"),
			&sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
				if q.Node == "slow" {
					<-ctx.Done()
					return model.Reply{}, ctx.Err()
				}
				return says(ctx, q)
			}}),
		"branches": whole(sideBySide(workflow.Fork{}, strings.Split("abcdeghijklm", "")...), &sim.World{Model: says}),
		"continued": func(t *testing.T) []*history.History { // Temporal suggests it after 4,096 events
			var mu sync.Mutex
			calls := map[string]int{}
			all := whole(long, &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
				mu.Lock()
				calls[q.Node]++
				mu.Unlock()
				return says(ctx, q)
			}})(t)
			if len(all) < 2 {
				t.Error("the workflow was not continued as new")
			}
			for _, n := range append([]string{"last"}, branches...) {
				if calls[n] != 1 {
					t.Errorf("node %s made %d calls", n, calls[n])
				}
			}
			return all
		},
		"cancelled": func(t *testing.T) []*history.History {
			c, began := memoryCluster(t), make(chan struct{}, 1)
			p := c.process(t, drivertest.Options{Unchecked: true,
				World: &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
					began <- struct{}{}
					<-ctx.Done()
					return model.Reply{}, ctx.Err()
				}}}, temporaldriver.Queues())
			begin(t, p, "r", line(agent("a")))
			<-began
			if err := p.Cancel(t.Context(), "r", canary); err != nil {
				t.Fatal(err)
			}
			settles(t, c, p, "r", event.StatusCancelled)
			return c.ended(t, "r")
		},
		"worker-stopped": func(t *testing.T) []*history.History {
			c, began := memoryCluster(t), make(chan struct{}, 2)
			p := c.process(t, drivertest.Options{Unchecked: true,
				World: &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
					began <- struct{}{}
					<-ctx.Done()
					return model.Reply{}, ctx.Err()
				}}}, temporaldriver.Queues())
			begin(t, p, "r", line(agent("a"), agent("b")))
			<-began
			if err := p.Close(t.Context()); err != nil {
				t.Fatal(err)
			}
			q := c.process(t, drivertest.Options{Unchecked: true, World: &sim.World{Model: says}},
				temporaldriver.Queues())
			settles(t, c, q, "r", event.StatusCompleted)
			return c.ended(t, "r")
		},
	}
}

func says(context.Context, model.Request) (model.Reply, error) { return sim.Reply("%s", canary), nil }

func does(context.Context, tool.Call) (tool.Result, error) {
	return tool.Result{Text: canary}, nil
}

// whole returns a function that runs a workflow to its end and returns its histories.
func whole(flow *workflow.Workflow, w *sim.World) func(t *testing.T) []*history.History {
	return func(t *testing.T) []*history.History {
		c := memoryCluster(t)
		p := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
		if _, err := p.Start(t.Context(), driver.Spec{Run: "r", Workflow: flow, Input: quoted(canary)}); err != nil {
			t.Fatal(err)
		}
		settles(t, c, p, "r", event.StatusCompleted)
		return c.ended(t, "r")
	}
}

// ended waits for the end of a run's workflow and returns the histories of its executions, oldest
// first.
func (c *cluster) ended(t *testing.T, run string) []*history.History {
	t.Helper()
	id, execution := temporaldriver.WorkflowID(c.namespace, run), ""
	if err := dial(t, c.address, c.temporal).GetWorkflow(t.Context(), id, "").Get(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	var all []*history.History
	for {
		h := &history.History{Events: c.execution(t, id, execution)}
		all = append(all, h)
		if execution = h.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().
			GetContinuedExecutionRunId(); execution == "" {
			slices.Reverse(all)
			return all
		}
	}
}

// packed is the size in bytes above which a history is compressed.
const packed = 200_000

// writeHistory writes a history in the export format of the SDK, without the name of this machine.
func writeHistory(t *testing.T, path string, h *history.History) {
	t.Helper()
	text, err := temporalproto.CustomJSONMarshalOptions{}.Marshal(h)
	if err != nil {
		t.Fatal(err)
	}
	host, err := os.Hostname()
	if err != nil {
		t.Fatal(err)
	}
	text = bytes.ReplaceAll(text, []byte(host+":"), []byte("machine:")) // the queue that a workflow prefers
	var out bytes.Buffer
	if err := json.Indent(&out, text, "", " "); err != nil {
		t.Fatal(err)
	}
	out.WriteByte('\n')
	if out.Len() > packed {
		var small bytes.Buffer
		z, err := gzip.NewWriterLevel(&small, gzip.BestCompression)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := z.Write(out.Bytes()); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		path, out = path+".gz", small
	}
	if err := os.WriteFile(path, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
