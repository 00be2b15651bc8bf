package project

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestGraphFolderLaws checks S2-63: after each event the folder of a random graph agrees with the
// engine that folded the same events. The nodes that it reports as visited are those whose steps
// ended, in order; steps arrive in order and only the last one carries the final status of the run;
// and reading the state between events changes nothing.
func TestGraphFolderLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		s := enginetest.DrawShape(rt, 3)
		s.SetLoops(2)
		def := s.Compile()
		def.Rules = workflow.TypedRules()
		def.Rules.Serial = rapid.Bool().Draw(rt, "serial")
		w := enginetest.New(t, def, enginetest.Host{})
		w.SkipLaws = true
		s.Answers(w)
		w.StartWith(event.RunCreated{Input: event.Value(`{"n":1}`)})
		w.Go(func(n int) int { return rapid.IntRange(0, n-1).Draw(rt, "pick") })
		if len(w.Events) > 150 { // folding every prefix takes quadratic time
			return
		}

		looked, whole := NewGraphFolder("r", w.Plan), NewGraphFolder("r", w.Plan)
		var steps, again []GraphStep
		var visited []string
		for i, ev := range w.Events {
			given, err := looked.Add(ev)
			if err != nil {
				rt.Fatalf("event %d: %v", ev.Seq, err)
			}
			for _, g := range given {
				if g.Status != event.StatusRunning && g.Status != looked.State().Status {
					rt.Fatalf("event %d gives a step that is %s, the run is %s", ev.Seq, g.Status,
						looked.State().Status)
				}
			}
			steps = append(steps, given...)
			switch ev.Data.(type) {
			case *event.StepCompleted, *event.StepFailed:
				if v, ok := w.Fold(i + 1).StepView(ev.Step); ok && !v.Nested && !v.Hidden {
					visited = append(visited, v.Node)
				}
			}
			run, got := w.Fold(i+1), looked.State()
			want := GraphState{Status: run.Status(), Outputs: run.Outputs(), Pending: run.Pending(), Waits: run.Waits(),
				Seq: run.Seq(), Visited: visited}
			same := cmp.Options{cmpopts.EquateEmpty(), cmpopts.IgnoreFields(GraphState{}, "Current", "Errors",
				"Signals", "Failure", "StartedAt", "UpdatedAt", "EndedAt")}
			if diff := cmp.Diff(got, want, same); diff != "" {
				rt.Fatalf("after event %d (-got +want):\n%s\n%s", ev.Seq, diff, w.Log())
			}
			if diff := cmp.Diff(looked.Typed().Map(), run.State(), cmpopts.EquateEmpty()); diff != "" {
				rt.Fatalf("the state after event %d (-got +want):\n%s\n%s", ev.Seq, diff, w.Log())
			}
			for j := range got.Visited {
				got.Visited[j] = "mine" // the caller owns the slices
			}
			for j := range got.Pending {
				got.Pending[j] = "mine"
			}
		}
		for _, ev := range w.Events {
			given, err := whole.Add(ev)
			if err != nil {
				rt.Fatal(err)
			}
			again = append(again, given...)
		}
		if diff := cmp.Diff(again, steps, cmpopts.EquateEmpty()); diff != "" {
			rt.Fatalf("looking changed the steps (-without +with):\n%s", diff)
		}
		if !slices.IsSortedFunc(steps, func(a, b GraphStep) int { return int(a.Seq) - int(b.Seq) }) {
			rt.Fatalf("steps out of order: %+v", steps)
		}
		end := looked.State()
		run, observer := engine.New(w.Plan, "r"), NewGraphObserver(w.Plan)
		for rest := w.Events; len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(rt, "batch")
			if err := run.Apply(rest[:n]); err != nil {
				rt.Fatal(err)
			}
			observer.Observe(run, rest[:n])
			rest = rest[n:]
		}
		if diff := cmp.Diff(observer.State(), whole.State(), cmpopts.EquateEmpty()) + cmp.Diff(observer.Typed().Map(),
			whole.Typed().Map()); diff != "" {
			rt.Fatalf("observing gives another state than folding (-observed +folded):\n%s\n%s", diff, w.Log())
		}
		if len(steps) == 0 || steps[len(steps)-1].Status != end.Status || end.Status.Ended() != !end.EndedAt.IsZero() {
			rt.Fatalf("the run is %s, the last of %d steps says otherwise\n%s", end.Status, len(steps), w.Log())
		}
	})
}
