package engine_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

func retrying(id string, n int) workflow.Node {
	a := enginetest.Agent(id)
	a.Retry = &workflow.Retry{MaxRetries: n, Delay: workflow.Duration(time.Second)}
	return a
}

// TestRetryQueues checks that a retry that is due queues for a slot again, ahead of steps that have
// not started, and that a crash in between changes nothing (P14, P31).
func TestRetryQueues(t *testing.T) {
	t.Parallel()
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, retrying("a", 1), "b", "c"),
		"s -> a; s -> b; s -> c")
	g.Limits.MaxConcurrency = 1
	w := enginetest.New(t, g, nil)
	w.Start("go")
	w.Finish("a", enginetest.Fails("server", "boom"))
	w.Fire(w.Timers[0].ID)
	if got := w.PendingNodes(); got != "b" {
		t.Fatalf("pending %q, want b alone: it has the slot", got)
	}
	w.Crash()
	if got := w.PendingNodes(); got != "b" {
		t.Fatalf("pending %q after a crash, want b", got)
	}
	w.Finish("b", enginetest.Say("b"))
	if got := w.PendingNodes(); got != "a" {
		t.Fatalf("pending %q, want a: it came before c", got)
	}
	w.Finish("a", enginetest.Say("a"))
	w.Finish("c", enginetest.Say("c"))
	wantStatus(t, w, event.StatusCompleted)
	w.CheckPrefixes()
}

// TestStepRetryQueues checks that a step that restarts as a whole queues for a slot in the same
// way, and leaves the queue when it is cancelled.
func TestStepRetryQueues(t *testing.T) {
	t.Parallel()
	a := retrying("a", 1)
	g := enginetest.Graph(nodes(workflow.Node{ID: "s", Kind: workflow.KindStart}, a, "b"), "s -> a; s -> b",
		workflow.Agent{ID: "a", Output: &workflow.Output{Schema: []byte(`{"type":"object"}`), Repairs: new(int)}})
	g.Limits.MaxConcurrency = 1
	for _, cancel := range []bool{false, true} {
		w := enginetest.New(t, g, nil)
		w.Start("go")
		w.Finish("a", enginetest.Say("no JSON"))
		w.Fire("retry:2")
		if got := w.PendingNodes(); got != "b" {
			t.Fatalf("pending %q, want b", got)
		}
		if cancel {
			w.Feed(engine.Cancel{})
			w.Go(nil)
			wantTrace(t, w, 0, "+s, .s, +a, ra, +b, xb, xa, cancelled")
			continue
		}
		w.Finish("b", enginetest.Say("b"))
		w.Finish("a", enginetest.Say("{}"))
		wantTrace(t, w, 0, "+s, .s, +a, ra, +b, .b, .a, completed")
	}
}

// TestConcurrencyBound checks n items under a limit from 1 to n: n executions, never more than the
// limit in flight, results in declared order, retries included (P31).
func TestConcurrencyBound(t *testing.T) {
	t.Parallel()
	const n = 6
	for limit := 1; limit <= n; limit++ {
		for _, own := range []bool{true, false} { // the fork's limit, the run's limit
			t.Run(fmt.Sprint(limit, own), func(t *testing.T) {
				t.Parallel()
				f, ids := workflow.Fork{}, []string{}
				if own {
					f.MaxConcurrency = limit
				}
				edges, want := "", `{`
				var branches []workflow.Node
				for i := range n {
					id := fmt.Sprintf("n%d", i)
					ids = append(ids, id)
					branches = append(branches, enginetest.In("f", retrying(id, 1)))
					edges += fmt.Sprintf("f:%s -> %s; %s -> f/join;", id, id, id)
					want += fmt.Sprintf(`"%s":"from %s",`, id, id)
				}
				g := enginetest.Graph(nodes(enginetest.Fork("f", f, ids...), branches), edges)
				if !own {
					g.Limits.MaxConcurrency = limit
				}
				w := enginetest.New(t, g, nil)
				failed := map[string]bool{}
				most := 0
				w.Model = func(c *engine.CallModel) *engine.ModelResult {
					most = max(most, len(w.Pending))
					if !failed[c.Node] {
						failed[c.Node] = true
						return enginetest.Fails("server", "boom")
					}
					return enginetest.Reply("from " + c.Node)
				}
				w.Start("go")
				for i := 0; !w.Run.Status().Ended(); i++ {
					if i%3 != 0 && len(w.Timers) > 0 {
						w.Fire(w.Timers[0].ID)
						continue
					}
					c := w.Pending[len(w.Pending)-1]
					w.FinishAt(len(w.Pending)-1, w.Model(c.(*engine.CallModel)))
				}
				wantStatus(t, w, event.StatusCompleted)
				if most != limit {
					t.Errorf("%d in flight, want %d", most, limit)
				}
				if got := string(w.Run.Output()); got != want[:len(want)-1]+"}" {
					t.Errorf("output %s", got)
				}
				if len(w.Calls) != 2*n || slices.Max(slices.Collect(mapValues(w.Calls))) > 1 {
					t.Errorf("calls %v", w.Calls)
				}
			})
		}
	}
}

func mapValues[V any](m map[string]V) func(func(V) bool) {
	return func(yield func(V) bool) {
		for _, v := range m {
			if !yield(v) {
				return
			}
		}
	}
}
