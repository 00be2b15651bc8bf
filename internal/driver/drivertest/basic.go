package drivertest

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

func testLinear(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(_ context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("%s+%s", q.LastText(), q.Node), nil
	}}
	var ops []string
	p := c.Open(t, Options{World: w, Fault: func(op string, _ int) sim.Fault {
		ops = append(ops, op)
		return sim.FaultNone
	}})
	run := start(t, p, chain(agent("a"), agent("b")))
	settle(t, c, p, run, event.StatusCompleted)
	if want := []string{"append", "append", "append"}; !slices.Equal(ops, want) {
		t.Errorf("writes %v, want %v: one commit a result, the last gives the run up too", ops, want)
	}
	events := c.Events(t, run)
	for i, e := range events {
		if e.Seq != uint64(i+1) {
			t.Fatalf("event %d has number %d", i+1, e.Seq)
		}
	}
	if got, want := replies(events), map[string][]string{"a": {"in+a"}, "b": {"in+a+b"}}; !cmp.Equal(got, want) {
		t.Error(cmp.Diff(want, got))
	}
	if got := w.Count("model", ""); got != 2 {
		t.Errorf("%d model calls, want 2", got)
	}
	if err := p.Resume(t.Context(), run); !errors.Is(err, engine.ErrEnded) {
		t.Errorf("resume of an ended run: %v, want ErrEnded", err)
	}
	if _, err := p.Wait(t.Context(), "unknown"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("wait for no run: %v, want ErrNotFound", err)
	}
	closeAll(t, p)
	if _, err := p.Start(t.Context(), driver.Spec{Workflow: chain(agent("a")).workflow()}); !errors.Is(err,
		driver.ErrClosed) {
		t.Errorf("start after close: %v, want ErrClosed", err)
	}
}

func testParallel(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("from %s", q.Node), wait(ctx, time.Second)
	}}
	p := c.Open(t, Options{World: w})
	f := chain(agent("a")).fork("a", "f", workflow.Fork{}, nodes(agent("x")), nodes(agent("y")), nodes(agent("z"))).
		then("f/join", agent("end"))
	began := time.Now()
	run := start(t, p, f)
	settle(t, c, p, run, event.StatusCompleted)
	if took := time.Since(began); took != 3*time.Second {
		t.Errorf("took %s, want 3s: branches run side by side", took)
	}
	closeAll(t, p)
}

func nodes(n ...workflow.Node) []workflow.Node { return n }

// wait waits for d, or until ctx is done.
func wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func testStartRefused(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	broken := chain(agent("a"))
	broken.Entry = "nowhere"
	if _, err := p.Start(t.Context(), driver.Spec{Run: "r1", Workflow: broken.workflow()}); err == nil {
		t.Error("a workflow without entry started")
	}
	if _, err := p.Wait(t.Context(), "r1"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("a run that did not start: %v, want ErrNotFound (D25)", err)
	}
	spec := driver.Spec{Run: "r2", Workflow: chain(agent("a")).workflow()}
	if _, err := p.Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Start(t.Context(), spec); !errors.Is(err, journal.ErrExists) {
		t.Errorf("second start of r2: %v, want ErrExists", err)
	}
	settle(t, c, p, "r2", event.StatusCompleted)
	if _, err := p.Start(t.Context(), spec); !errors.Is(err, journal.ErrExists) {
		t.Errorf("third start of r2: %v, want ErrExists", err)
	}
	closeAll(t, p)
}

func testCancel(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
		<-ctx.Done()
		return model.Reply{}, ctx.Err()
	}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain().fork("", "f", workflow.Fork{}, nodes(agent("x")), nodes(agent("y"))))
	synctest.Wait()
	began := time.Now()
	if err := p.Cancel(t.Context(), run, "enough"); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusCancelled)
	if took := time.Since(began); took > time.Second {
		t.Errorf("cancelling took %s", took)
	}
	if err := p.Cancel(t.Context(), run, "again"); err != nil {
		t.Errorf("second cancel: %v", err)
	}
	closeAll(t, p)
}

func testCancelDeaf(t *testing.T, c Cluster) {
	let := make(chan struct{})
	w := &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) {
		<-let
		return sim.Reply("too late"), nil
	}}
	p := c.Open(t, Options{World: w, MaxCalls: 1})
	run := start(t, p, chain(agent("a")))
	synctest.Wait()
	began := time.Now()
	if err := p.Cancel(t.Context(), run, ""); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusCancelled)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("cancelling took %s, more than 5s", took)
	}
	// The abandoned call holds no slot.
	w.Model = nil
	settle(t, c, p, start(t, p, chain(agent("a"))), event.StatusCompleted)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the slot of the deaf call was free after %s", took)
	}
	close(let)
	closeAll(t, p)
}

func testCancelPaused(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	run := start(t, p, chain(approval("ok"), agent("a")))
	settle(t, c, p, run, event.StatusPaused)
	if err := p.Cancel(t.Context(), run, "no"); err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusCancelled)
	if err := p.Answer(t.Context(), run, engine.Answer{Wait: "w1", Value: text("approve")}); !errors.Is(err,
		waits.ErrClosed) {
		t.Errorf("answer to a cancelled run: %v, want ErrWaitClosed", err)
	}
	closeAll(t, p)
}

func testCancelInterrupted(t *testing.T, c Cluster) {
	w := &sim.World{Tools: map[string]sim.Tool{
		"act": {Policy: tool.PolicyAsk, Do: func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-ctx.Done()
			return tool.Result{}, ctx.Err()
		}}}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain(toolNode("a", "act")))
	synctest.Wait()
	p.Kill()
	q := c.Open(t, Options{World: w})
	if s, err := q.Wait(t.Context(), run); err != nil || !s.Interrupted {
		t.Fatalf("after a kill: %+v, %v; want interrupted", s, err)
	}
	began := time.Now()
	if err := q.Cancel(t.Context(), run, ""); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusCancelled)
	if took := time.Since(began); took > time.Second {
		t.Errorf("cancelling took %s, though no call was in flight", took)
	}
	if n := w.Count("tool", ""); n != 1 {
		t.Errorf("%d tool calls, want 1", n)
	}
	closeAll(t, q)
}

func testDeafTimeout(t *testing.T, c Cluster) {
	let := make(chan struct{})
	w := &sim.World{Model: func(context.Context, model.Request) (model.Reply, error) {
		<-let
		return sim.Reply("too late"), nil
	}}
	p := c.Open(t, Options{World: w})
	n := agent("a")
	n.CallTimeout = workflow.Duration(3 * time.Second)
	began := time.Now()
	run := start(t, p, chain(n))
	settle(t, c, p, run, event.StatusFailed)
	if took := time.Since(began); took > 6*time.Second {
		t.Errorf("failing took %s", took)
	}
	close(let)
	closeAll(t, p)
}

func testLateResult(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		if q.Node == "slow" {
			<-ctx.Done()
			time.Sleep(time.Second) // the answer had not been delivered yet
			return sim.Reply("slow"), nil
		}
		return sim.Reply("fast"), wait(ctx, time.Second)
	}}
	p := c.Open(t, Options{World: w})
	f := chain().fork("", "f", workflow.Fork{Until: workflow.UntilAny}, nodes(agent("slow")), nodes(agent("fast")))
	run := start(t, p, f)
	settle(t, c, p, run, event.StatusCompleted)
	late := 0
	for _, e := range c.Events(t, run) {
		if d, ok := e.Data.(*event.ModelReplied); ok && d.Late {
			late++
			if d.Usage == nil {
				t.Error("the late answer's usage is lost")
			}
		}
	}
	if late != 1 {
		t.Errorf("%d late answers, want 1\n%s", late, show(c.Events(t, run)))
	}
	closeAll(t, p)
}

func testPanics(t *testing.T, c Cluster) {
	w := &sim.World{
		Model: func(context.Context, model.Request) (model.Reply, error) { panic("model adapter") },
		Tools: map[string]sim.Tool{"boom": {Do: func(context.Context, tool.Call) (tool.Result, error) {
			panic("tool adapter")
		}}},
	}
	p := c.Open(t, Options{World: w})
	for _, f := range []*flow{chain(agent("a")), chain(toolNode("a", "boom"))} {
		run := start(t, p, f)
		settle(t, c, p, run, event.StatusFailed)
		if log := show(c.Events(t, run)); !strings.Contains(log, "panicked: ") {
			t.Errorf("the failure does not tell of the panic\n%s", log)
		}
	}
	closeAll(t, p)
}

func testRetrySlots(t *testing.T, c Cluster) {
	var mu sync.Mutex
	tries := map[string]int{}
	w := &sim.World{Model: func(_ context.Context, q model.Request) (model.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		tries[q.IdempotencyKey]++
		if q.Node == "sleepy" && tries[q.IdempotencyKey] < 3 {
			return model.Reply{}, &model.Error{Kind: model.KindRateLimit, Message: "slow down",
				RetryAfter: 10 * time.Second}
		}
		return sim.Reply("ok"), nil
	}}
	p := c.Open(t, Options{World: w, MaxCalls: 1})
	n := agent("sleepy")
	n.Retry = &workflow.Retry{MaxRetries: 5}
	slow := start(t, p, chain(n))
	synctest.Wait()
	began := time.Now()
	settle(t, c, p, start(t, p, chain(agent("a"), agent("b"))), event.StatusCompleted)
	if took := time.Since(began); took > time.Second {
		t.Errorf("a run waited %s for the slot of a retry that sleeps", took)
	}
	settle(t, c, p, slow, event.StatusCompleted)
	if took := time.Since(began); took < 20*time.Second {
		t.Errorf("retries came after %s, though 10s were asked for twice", took)
	}
	closeAll(t, p)
}

// testManyRuns checks that calls of different runs do not wait for each other (P40). Each first
// call returns when the first calls of all runs are in progress.
func testManyRuns(t *testing.T, c Cluster) {
	const runs, patience = 200, time.Minute
	var calls atomic.Int64
	all := make(chan struct{})
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		n := calls.Add(1)
		if n == runs {
			close(all)
		}
		select {
		case <-all:
		case <-time.After(patience):
			return model.Reply{}, fmt.Errorf("%d of %d calls are in progress", n, runs)
		case <-ctx.Done():
			return model.Reply{}, ctx.Err()
		}
		return sim.Reply("ok"), nil
	}}
	p := c.Open(t, Options{World: w})
	var ids []string
	for range runs {
		ids = append(ids, start(t, p, chain(agent("a"), agent("b"), agent("c"))))
	}
	for _, id := range ids {
		settle(t, c, p, id, event.StatusCompleted)
	}
	closeAll(t, p)
}

func testFuncs(t *testing.T, c Cluster) {
	w := &sim.World{Func: func(_ context.Context, _ string, f *engine.CallFunc, _ driver.Caller) engine.FuncResult {
		switch f.Func {
		case "boom":
			panic("in a function")
		case "bad":
			return engine.FuncResult{Output: event.Value(`{"no json`)}
		}
		return engine.FuncResult{Output: text("from " + f.Func)}
	}}
	p := c.Open(t, Options{World: w})
	fn := func(name string) *flow {
		return chain(workflow.Node{ID: "n", Kind: workflow.KindFunc, Func: &workflow.FuncNode{Func: name}})
	}
	settle(t, c, p, start(t, p, fn("good")), event.StatusCompleted)
	for _, name := range []string{"boom", "bad"} {
		run := start(t, p, fn(name))
		settle(t, c, p, run, event.StatusFailed)
	}
	closeAll(t, p)
}

func testKept(t *testing.T, c Cluster) {
	var mu sync.Mutex
	var models []string
	w := &sim.World{Model: func(_ context.Context, q model.Request) (model.Reply, error) {
		mu.Lock()
		defer mu.Unlock()
		models = append(models, q.Model)
		return sim.Reply("ok"), nil
	}}
	p := c.Open(t, Options{World: w})
	f := chain(approval("ok"), agent("a"))
	f.Agents[0].Model = "sim/of-the-document"
	run, err := p.Start(t.Context(), driver.Spec{Workflow: f.workflow(), Model: "sim/of-the-flags",
		Meta:  map[string]string{"branch": "b1"},
		Files: map[string][]byte{"tools": []byte("toolsets: []")}})
	if err != nil {
		t.Fatal(err)
	}
	settle(t, c, p, run, event.StatusPaused)
	closeAll(t, p)

	q := c.Open(t, Options{World: w})
	if err := q.Answer(t.Context(), run, engine.Answer{Value: text("approve")}); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusCompleted)
	if want := []string{"sim/of-the-flags"}; !slices.Equal(models, want) {
		t.Errorf("models asked: %v, want %v", models, want)
	}
	info := w.Info(run)
	if data, err := info.File(t.Context(), "tools"); err != nil || string(data) != "toolsets: []" {
		t.Errorf("file tools: %q, %v", data, err)
	}
	if _, err := info.File(t.Context(), "replies"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("file replies: %v, want ErrNotFound", err)
	}
	if want := map[string]string{"branch": "b1"}; !cmp.Equal(info.Meta, want) {
		t.Errorf("meta: %v, want %v", info.Meta, want)
	}
	closeAll(t, q)
}

// callsTool is a model that requests tool calls until it has seen as many results as there are
// names, then replies with the results.
func callsTool(names ...string) func(context.Context, model.Request) (model.Reply, error) {
	return func(_ context.Context, q model.Request) (model.Reply, error) {
		var results []string
		for _, m := range q.Messages {
			if m.Role == chat.RoleTool {
				results = append(results, m.Text.String())
			}
		}
		if len(results) < len(names) {
			name := names[len(results)]
			call := chat.ToolCall{ID: fmt.Sprintf("c%d", len(results)), Name: name, Arguments: []byte(`{}`)}
			return model.Reply{Message: chat.Message{ToolCalls: []chat.ToolCall{call}}}, nil
		}
		return sim.Reply("%s", strings.Join(results, ",")), nil
	}
}
