package temporaldriver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	enums "go.temporal.io/api/enums/v1"
	history "go.temporal.io/api/history/v1"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/drivertest"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/temporalserver"
	"github.com/hocket-run/hocket/internal/text"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/temporal/internal/temporaldriver"
	"github.com/hocket-run/hocket/workflow"
)

// ownServer returns a cluster with its own Temporal server.
func ownServer(t *testing.T) (*cluster, *temporalserver.Server) {
	t.Helper()
	s := temporalserver.Start(t, temporalserver.Config{})
	m := journal.NewMemory()
	return &cluster{
		open: func() journal.Backend { return m.Open(journal.KindServe) }, reader: m.Open(""),
		address: s.Address, temporal: s.Namespace(t), namespace: "default",
	}, s
}

// TestTemporalLost checks that a server that restarts without any of its data gets its runs back
// through the sweep. Answers are accepted while it is down; a call that was begun and may be
// repeated is repeated, and one that may not be leads to a question (P12).
func TestTemporalLost(t *testing.T) {
	t.Parallel()
	newCluster(t)
	c, server := ownServer(t)
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
			block(ctx, q.Node)
			return sim.Reply("done"), nil
		},
		Tools: map[string]sim.Tool{
			"act": {Policy: tool.PolicyAsk, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				block(ctx, "act")
				return tool.Result{Text: "acted"}, nil
			}}},
	}
	p := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	approve := workflow.Node{ID: "ok", Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: workflow.WaitApproval,
		Prompt: "go on?"}}
	start := func(run string, flow *workflow.Workflow) {
		t.Helper()
		if _, err := p.Start(t.Context(), driver.Spec{Run: run, Workflow: flow, Input: quoted("in")}); err != nil {
			t.Fatal(err)
		}
	}
	settle := func(d driver.Driver, run string, want event.Status) {
		t.Helper()
		if s, err := d.Wait(t.Context(), run); err != nil || s != (driver.State{Status: want}) {
			t.Fatalf("run %s is %+v, %v; want %s\n%s", run, s, err, want, shown(c.Events(t, run)))
		}
	}
	start("paused", line(approve, node("b", workflow.KindAgent)))
	settle(p, "paused", event.StatusPaused)
	start("model", line(node("a", workflow.KindAgent)))
	start("tool", line(node("act", workflow.KindTool)))
	<-began
	<-began
	server.Kill(t)
	p.Kill() // so that the calls are cut off too
	server.Start(t)
	q := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	q.SetSweep(100 * time.Millisecond)
	if err := q.Answer(t.Context(), "paused", engine.Answer{Value: quoted("approve")}); err != nil {
		t.Fatal(err) // the server has no such namespace
	}
	if _, err := q.Start(t.Context(), driver.Spec{Run: "new", Workflow: line(node("c", workflow.KindAgent)),
		Input: quoted("in")}); err != nil {
		t.Fatal(err)
	}
	server.Register(t, c.temporal)
	close(let)
	for _, run := range []string{"paused", "model", "new"} {
		settle(q, run, event.StatusCompleted)
	}
	settle(q, "tool", event.StatusPaused)
	if n := w.Count("tool", ""); n != 1 {
		t.Errorf("the tool was called %d times", n)
	}
	if err := q.Answer(t.Context(), "tool", engine.Answer{Value: quoted("retry")}); err != nil {
		t.Fatal(err)
	}
	settle(q, "tool", event.StatusCompleted)
}

// historyOf returns the history of a run in Temporal, and its size in bytes.
func (c *cluster) historyOf(t *testing.T, run string) (events []*history.HistoryEvent, bytes int) {
	t.Helper()
	events = c.execution(t, temporaldriver.WorkflowID(c.namespace, run), "")
	for _, e := range events {
		bytes += e.Size()
	}
	return events, bytes
}

// execution returns the history of one execution of a workflow in Temporal; an empty execution
// means the last.
func (c *cluster) execution(t *testing.T, id, execution string) (events []*history.HistoryEvent) {
	t.Helper()
	pages := dial(t, c.address, c.temporal).GetWorkflowHistory(t.Context(), id, execution, false,
		enums.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for pages.HasNext() {
		e, err := pages.Next()
		if err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

// TestHistories checks that what a call costs in Temporal is limited and does not grow with the
// conversation, and that none of the conversation is stored there.
func TestHistories(t *testing.T) {
	t.Parallel()
	c := memoryCluster(t)
	const turns, secret = 100, "zebra-crossing"
	w := &sim.World{
		Model: func(_ context.Context, q model.Request) (model.Reply, error) {
			n := 0
			for _, m := range q.Messages {
				if m.Role == chat.RoleTool {
					n++
				}
			}
			if n == turns {
				return sim.Reply("%s", secret), nil
			}
			return model.Reply{Message: chat.Message{Text: text.Of(secret + strings.Repeat(" ", 1000)),
				ToolCalls: []chat.ToolCall{
					{ID: fmt.Sprint("c", n), Name: "read", Arguments: []byte(`{"of":"` + secret + `"}`)},
				}}}, nil
		},
		Tools: map[string]sim.Tool{
			"read": {Policy: tool.PolicyRetry, Do: func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Result{Text: secret + strings.Repeat("x", 5000)}, nil
			}}},
	}
	flow := line(node("a", workflow.KindAgent))
	flow.Agents[0].MaxTurns, flow.Agents[0].NoProgress = 1000, 1000
	p := c.process(t, drivertest.Options{World: w, Unchecked: true}, temporaldriver.Queues())
	run, err := p.Start(t.Context(), driver.Spec{Workflow: flow, Input: quoted(secret)})
	if err != nil {
		t.Fatal(err)
	}
	if s, err := p.Wait(t.Context(), run); err != nil || s.Status != event.StatusCompleted {
		t.Fatalf("the run is %+v, %v\n%s", s, err, shown(c.Events(t, run))[:2000])
	}
	events, size := c.historyOf(t, run)
	calls := 2*turns + 1
	t.Logf("%d calls: %d events, %d bytes and %d actions; %.1f events and %.0f bytes a call", calls, len(events), size,
		actions(events), float64(len(events))/float64(calls), float64(size)/float64(calls))
	if most := 7 * calls; len(events) > most {
		t.Errorf("%d events for %d calls, at most %d", len(events), calls, most)
	}
	if most := 300 << 10; size > most {
		t.Errorf("%d bytes for %d turns, at most %d", size, turns, most)
	}
	tenth := make([]int, 10) // bytes
	for i, e := range events {
		tenth[i*10/len(events)] += e.Size()
	}
	each := 2 * turns / 10
	for i, bytes := range tenth {
		most := 1024 * each
		if i == 0 {
			most = 1536 * each // including the start of the workflow
		}
		if bytes > most {
			t.Errorf("turns %d to %d have %d bytes, at most %d", i*turns/10, (i+1)*turns/10, bytes, most)
		}
	}
	if first, last := tenth[1], tenth[9]; last > first+first/10 {
		t.Errorf("the last ten turns have %d bytes, the tenth to the twentieth %d: it grows", last, first)
	}
	for _, e := range events {
		if text, err := json.Marshal(e); err != nil || strings.Contains(string(text), secret) ||
			strings.Contains(fmt.Sprint(e), secret) {
			t.Fatalf("%v; the history has what the run says: %v", err, e)
		}
	}
}
