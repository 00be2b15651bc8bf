package hocket_test

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestFork checks that a fork has the history of its run up to a step and repeats everything after
// it, and that the original run is unchanged.
func TestFork(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		var first atomic.Int64
		g := compiled(t, graph.New[state]("t").Start(graph.Do("a", func(_ context.Context, s *state) error {
			first.Add(1)
			s.Log = append(s.Log, "a")
			return nil
		})).Then(note("b")).Then(graph.WaitConfig[state]{
			ID: "w", Prompt: "Who?", Input: func(s *state, answer string) error {
				s.Text = answer
				return nil
			}}).Then(note("c")))
		seqs := map[string]uint64{}
		for s, err := range hocket.Stream(t.Context(), e, g, state{}, hocket.RunOptions{ID: "r"}) {
			if err != nil {
				t.Fatal(err)
			}
			seqs[s.NodeID] = s.Seq
		}
		early, err := e.Fork(t.Context(), "r", seqs["a"])
		if err != nil {
			t.Fatal(err)
		}
		late, err := e.Fork(t.Context(), "r", seqs["w"])
		if err != nil {
			t.Fatal(err)
		}
		r, err := hocket.Resume(t.Context(), e, g, late, hocket.Answer{Value: "me"})
		if err != nil || r.Status != hocket.StatusCompleted || r.State.Text != "me" ||
			cmp.Diff(r.State.Log, []string{"a", "b", "c"}) != "" {
			t.Fatalf("late %+v, %v", r, err)
		}
		r, err = hocket.Resume(t.Context(), e, g, early)
		if err != nil || r.Status != hocket.StatusPaused ||
			!slices.Equal(r.Snapshot.VisitedNodes, []string{"a", "b"}) || first.Load() != 1 {
			t.Errorf("early %+v, %v, %d first nodes", r, err, first.Load())
		}
		info, err := e.Get(t.Context(), early)
		if err != nil || info.ForkedFrom != "r" {
			t.Errorf("%+v, %v", info, err)
		}
		if info, err = e.Get(t.Context(), "r"); err != nil || info.Status != hocket.StatusPaused {
			t.Errorf("the run itself: %+v, %v", info, err)
		}
		for name, tc := range map[string]struct {
			run  string
			at   uint64
			want string
		}{
			"no event":  {"r", 10_000, "invalid fork point"},
			"event 0":   {"r", 0, "invalid fork point"},
			"no run":    {"none", 1, "not found"},
			"the ended": {late, 10_000, "invalid fork point"},
		} {
			if _, err := e.Fork(t.Context(), tc.run, tc.at); err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestReportAndBeside checks that a failed run has a report, and that the graph's own fields next
// to the state are part neither of it nor of updates (S2-59, S2-75).
func TestReportAndBeside(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	g := compiled(t, graph.New[state]("t").Start(note("a")).
		Loop(graph.LoopConfig[state]{Until: func(graph.View[state]) bool { return true }}, note("l")).Then(
		breaks("z", "no luck")))
	r, err := hocket.Run(t.Context(), e, g, state{})
	if err != nil {
		t.Fatal(err)
	}
	if d := r.Snapshot.DebugReport; d == nil || d.ErrorSummary != "no luck" || d.NodeID != "z" ||
		d.ExecutionID != r.Snapshot.ExecutionID || d.SuggestedFixes == nil || d.RelevantFiles == nil {
		t.Errorf("report %+v", d)
	}
	if got := string(r.Snapshot.Outputs["loop_start_1_iteration"]); got != "1" {
		t.Errorf("loop_start_1_iteration = %s in %v", got, r.Snapshot.Outputs)
	}
	for s, err := range hocket.Stream(t.Context(), e, g, state{}) {
		if err != nil {
			t.Fatal(err)
		}
		for name := range s.Result.Update {
			if name != "log" {
				t.Errorf("step %s changes %s", s.NodeID, name)
			}
		}
	}
}
