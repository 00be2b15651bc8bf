package drivertest

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/longtest"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

func testInterrupt(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		if q.Node == "kept" {
			<-ctx.Done() // cancelled, but returns its answer nevertheless
			return sim.Reply("kept"), nil
		}
		return sim.Reply("ok"), wait(ctx, time.Minute)
	}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain().fork("", "f", workflow.Fork{}, nodes(agent("kept")), nodes(agent("stopped"))))
	synctest.Wait()
	began := time.Now()
	closeAll(t, p)
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("closing took %s", took)
	}
	q := c.Open(t, Options{World: w})
	if s, err := q.Wait(t.Context(), run); err != nil || !s.Interrupted || s.Status != event.StatusRunning {
		t.Fatalf("after close: %+v, %v; want running and interrupted", s, err)
	}
	if err := q.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusCompleted)
	if n := w.Count("model", "kept"); n != 1 {
		t.Errorf("%d calls of kept, want 1: its answer came in time (D8)", n)
	}
	if n := w.Count("model", "stopped"); n != 2 {
		t.Errorf("%d calls of stopped, want 2", n)
	}
	closeAll(t, q)
}

// fullWorkflow is a workflow with a join, a loop, an approval, a tool whose calls a person
// approves, and a retry (P4, P8).
func fullWorkflow() (*flow, *sim.World) {
	f := chain(agent("a"), agent("head"))
	f.add(workflow.Node{ID: "more", Kind: workflow.KindDecide, Decide: &workflow.Decide{
		Cases: []workflow.Case{{Port: "again", When: workflow.Condition{Language: workflow.LangMatch, Op: "contains",
			Text: "again"}}}, Else: "go",
	}})
	f.edge("head", "", "more")
	f.Edges = append(f.Edges, workflow.Edge{From: "more", Port: "again", To: "head", Loop: true})
	n := toolNode("act", "act")
	shaky := agent("shaky")
	shaky.Retry = &workflow.Retry{MaxRetries: 3, Delay: workflow.Duration(time.Second)}
	f.edge("more", "go", "f")
	mark := len(f.Edges)
	f.fork("more", "f", workflow.Fork{}, nodes(agent("x"), approval("ok")), nodes(shaky), nodes(agent("y"), n))
	f.Edges = slices.Delete(f.Edges, mark, mark+1) // the block starts at the port above
	f.then("f/join", agent("end"))

	w := &sim.World{
		Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
			if err := wait(ctx, 50*time.Millisecond); err != nil {
				return model.Reply{}, err
			}
			switch q.Node {
			case "head":
				if len(q.LastText()) < 30 {
					return sim.Reply("%s again", q.LastText()), nil
				}
				return sim.Reply("enough"), nil
			case "end":
				return sim.Reply("the end"), nil
			}
			return sim.Reply("%s-%s", q.LastText(), q.Node), nil
		},
		Tools: map[string]sim.Tool{"act": {Policy: tool.PolicyRetry, Asks: true}},
	}
	inner := w.Model
	var mu sync.Mutex
	failed := map[string]bool{}
	w.Model = func(ctx context.Context, q model.Request) (model.Reply, error) {
		mu.Lock()
		first := q.Node == "shaky" && !failed[q.IdempotencyKey]
		failed[q.IdempotencyKey] = true
		mu.Unlock()
		if first {
			return model.Reply{}, &model.Error{Kind: model.KindOverloaded, Message: "try again"}
		}
		return inner(ctx, q)
	}
	return f, w
}

// drive runs the workflow f to its end, whatever processes die on the way, and returns its events
// and the number of writes of the process that ended it.
func drive(t *testing.T, c Cluster, w *sim.World, f *flow, fault func(process int) func(string, int) sim.Fault) (
	events []event.Event, writes int) {
	t.Helper()
	run, begun := "r", false
	for process := range 10 {
		p := c.Open(t, Options{World: w, Fault: fault(process)})
		alive := func() bool {
			select {
			case <-p.Dead():
				return false
			default:
				return true
			}
		}
		for alive() {
			var err error
			switch {
			case !begun:
				err = tryStart(t, p, run, f)
				if _, e := journalHas(t, c, run); e {
					begun = true
				}
			default:
				err = p.Resume(t.Context(), run)
			}
			if err == nil {
				var s event.Status
				s, err = waitAnswer(t, p, c, run)
				if err == nil && s.Ended() {
					writes = p.Writes()
					closeAll(t, p)
					return c.Events(t, run), writes
				}
			}
			if errors.Is(err, journal.ErrClosed) {
				<-p.Dead() // dying: others see its store closed before it is dead
			}
			if err != nil && alive() && !errors.Is(err, engine.ErrEnded) {
				t.Fatalf("process %d: %v", process, err)
			}
			if errors.Is(err, engine.ErrEnded) {
				closeAll(t, p)
				return c.Events(t, run), p.Writes()
			}
		}
		p.Kill()
	}
	t.Fatal("the run does not come to its end")
	return nil, 0
}

// waitAnswer waits for the run and answers its approval, or sends its signals.
func waitAnswer(t *testing.T, p Process, c Cluster, run string) (event.Status, error) {
	for {
		s, err := p.Wait(t.Context(), run)
		if err != nil || s.Status != event.StatusPaused {
			return s.Status, err
		}
		events := c.Events(t, run)
		for _, id := range openWaits(events) {
			answers := signalsFor(events, id)
			if answers == nil {
				answers = []engine.Answer{{Wait: id, Value: text("approve")}}
			}
			for _, a := range answers {
				if err := p.Answer(t.Context(), run, a); err != nil {
					return s.Status, err
				}
			}
		}
	}
}

// outcome returns what must not depend on crashes: the nodes that ran, their outputs, and how the
// run ended.
func outcome(events []event.Event) map[string]any {
	out := map[string]any{}
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.StepCompleted:
			key := "step " + e.Node
			list, _ := out[key].([]string)
			out[key] = append(list, fmt.Sprint(d.Ports))
		case *event.ModelReplied:
			key := "reply " + e.Node
			list, _ := out[key].([]string)
			out[key] = append(list, d.Message.Text.String())
		case *event.SignalReceived:
			list, _ := out["kept"].([]string)
			out["kept"] = append(list, d.Key+" "+string(d.Value))
		case *event.WaitAnswered:
			if d.Key != "" {
				list, _ := out["taken"].([]string)
				out["taken"] = append(list, d.Wait+" "+d.Key+" "+string(d.Answer))
			}
		case *event.RunCompleted, *event.RunFailed, *event.RunCancelled:
			out["end"] = e.Data.Type()
		}
	}
	return out
}

// faults yields each fault with the number of the write at which it occurs, starting with first. A
// slow cluster gets every fourth write, with a different offset for each fault.
func faults(c Cluster, first, writes int, hows ...sim.Fault) iter.Seq2[sim.Fault, int] {
	step := 1
	if c.Slow() && !longtest.Enabled() {
		step = 4
	}
	return func(yield func(sim.Fault, int) bool) {
		for i, how := range hows {
			for n := first + i%step; n <= writes; n += step {
				if !yield(how, n) {
					return
				}
			}
		}
	}
}

func testKillEverywhere(t *testing.T, c Cluster) {
	f, w := fullWorkflow()
	clean, writes := drive(t, c, w, f, func(int) func(string, int) sim.Fault { return nil })
	want := outcome(clean)
	if want["end"] != event.Type("run.completed") {
		t.Fatalf("the run does not complete\n%s", show(clean))
	}
	if writes < 10 {
		t.Fatalf("only %d writes", writes)
	}
	for how, n := range faults(c, 1, writes, sim.FaultDieBefore, sim.FaultDieAfter) {
		f, w := fullWorkflow()
		c := c.Fresh(t)
		events, _ := drive(t, c, w, f, func(process int) func(string, int) sim.Fault {
			return func(_ string, k int) sim.Fault {
				if process == 0 && k == n {
					return how
				}
				return sim.FaultNone
			}
		})
		if got := outcome(events); !cmp.Equal(got, want) {
			t.Errorf("death at write %d (%v):\n%s\n%s", n, how, cmp.Diff(want, got), show(events))
		}
		if again := w.Wrong(); len(again) > 0 {
			t.Errorf("death at write %d (%v): calls that were wrong: %q", n, how, again)
		}
	}
}

func testFailingWrites(t *testing.T, c Cluster) {
	f, w := fullWorkflow()
	clean, writes := drive(t, c, w, f, func(int) func(string, int) sim.Fault { return nil })
	want := outcome(clean)
	for how, n := range faults(c, 2, writes, sim.FaultError, sim.FaultSilent) {
		f, w := fullWorkflow()
		c := c.Fresh(t)
		events, _ := drive(t, c, w, f, func(int) func(string, int) sim.Fault {
			return func(_ string, k int) sim.Fault {
				if k >= n && k < n+3 {
					return how
				}
				return sim.FaultNone
			}
		})
		if got := outcome(events); !cmp.Equal(got, want) {
			t.Errorf("errors from write %d on (%v):\n%s\n%s", n, how, cmp.Diff(want, got), show(events))
		}
		if again := w.Wrong(); len(again) > 0 {
			t.Errorf("errors from write %d on (%v): calls that were wrong: %q", n, how, again)
		}
		for _, call := range w.Calls() {
			if most := 1 + boolInt(call.Node == "shaky"); w.Started(call.Key) > most {
				t.Errorf("errors from write %d on (%v): call %s was made %d times; no process died", n, how, call.Key,
					w.Started(call.Key))
			}
		}
	}
	// The very first write fails: nothing is stored, and the caller gets an error.
	p := c.Open(t, Options{World: w, Fault: func(_ string, n int) sim.Fault {
		if n == 1 {
			return sim.FaultError
		}
		return sim.FaultNone
	}})
	if err := tryStart(t, p, "first", f); !errors.Is(err, sim.ErrDisk) {
		t.Errorf("start on a failing disk: %v, want its error", err)
	}
	if _, err := p.Wait(t.Context(), "first"); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("run that was not stored: %v, want ErrNotFound", err)
	}
	closeAll(t, p)
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

func testLong(t *testing.T, c Cluster) {
	w := &sim.World{Model: callsTool(slices.Repeat([]string{"act"}, 400)...), Tools: map[string]sim.Tool{"act": {}}}
	n := 0
	w.Tools["act"] = sim.Tool{Policy: tool.PolicyRetry, Do: func(context.Context, tool.Call) (tool.Result, error) {
		n++
		return tool.Result{Text: fmt.Sprint(n)}, nil
	}}
	f := chain(agent("a"), agent("b"))
	for i := range f.Agents {
		f.Agents[i].MaxTurns, f.Agents[i].NoProgress = 1000, 1000
	}
	writes := 0
	p := c.Open(t, Options{World: w, Unchecked: true, Fault: func(string, int) sim.Fault {
		if writes++; writes == 1000 {
			return sim.FaultDieAfter
		}
		return sim.FaultNone
	}})
	run := start(t, p, f)
	<-p.Dead()
	p.Kill()
	calls := len(w.Calls())
	q := c.Open(t, Options{World: w, Unchecked: true})
	if err := q.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	settle(t, c, q, run, event.StatusCompleted)
	for _, call := range w.Calls()[:calls-1] {
		if w.Started(call.Key) != 1 {
			t.Errorf("call %s was made %d times (D8)", call.Key, w.Started(call.Key))
		}
	}
	if got := replies(c.Events(t, run)); len(got["a"]) != 401 || len(got["b"]) != 401 {
		t.Errorf("%d and %d replies, want 401 each", len(got["a"]), len(got["b"]))
	}
	closeAll(t, q)
}
