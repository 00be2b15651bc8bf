package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// subNode returns a sub-flow node that runs f; maps names its two functions `in` and `out`.
func subNode(id string, maps bool) workflow.Node {
	n := workflow.Node{ID: id, Kind: workflow.KindSubflow, Subflow: &workflow.Subflow{Flow: "f"}}
	if maps {
		n.Subflow.Input, n.Subflow.Mapper = "in", "out"
	}
	return n
}

// typedFlow adds f, with typed state, to a graph with typed state.
func typedFlow(g, f *workflow.Workflow) *workflow.Workflow {
	for _, w := range []*workflow.Workflow{g, f} {
		reducers := w.Rules.Reducers
		w.Rules = workflow.TypedRules()
		w.Rules.Reducers = reducers
	}
	g.Flows = map[string]*workflow.Workflow{"f": f}
	return g
}

// mappers returns a host that passes the parent's n to the sub-flow as m, and the sub-flow's state
// to the parent as k.
func mappers(t *testing.T) *host {
	return &host{
		value: func(fn string, v engine.View) (event.Value, error) {
			if fn != "in" {
				t.Errorf("%s asked for a value", fn)
			}
			return event.Value(`{"m": ` + string(v.State.Get("n")) + `}`), nil
		},
		merge: func(fn string, o map[string]event.Value, v engine.View) (map[string]event.Value, error) {
			if fn != "out" || len(o) != 1 {
				t.Errorf("%s asked with %s", fn, o)
			}
			return map[string]event.Value{"k": o[v.Node]}, nil
		},
	}
}

// sees returns the state that the pending call of a node sees.
func sees(t *testing.T, w *enginetest.World, node string) string {
	t.Helper()
	for _, c := range w.Pending {
		if c := c.(*engine.CallFunc); c.Node == node {
			return show(c.State.Map())
		}
	}
	t.Fatalf("%s is not at work\n%s", node, w.Log())
	return ""
}

// TestSubflowState checks that a sub-flow has a state of its own. Functions create its initial
// state and receive its final state; without them it starts with what the step sees and returns its
// state as output (S2-66).
func TestSubflowState(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		maps              bool
		x, y, z, out, end string
	}{
		"mapped":   {true, "m=1", "d=7 m=1", `k={"d":7,"m":1} n=1`, "", `k={"d":7,"m":1} n=1`},
		"unmapped": {false, "n=1", "d=7 n=1", "n=1", `{"d":7,"n":1}`, "n=1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := typedFlow(enginetest.Graph(nodes(subNode("s", tc.maps), funcNode("z")), "s -> z"),
				enginetest.Graph(nodes(funcNode("x"), funcNode("y")), "x -> y"))
			w := enginetest.New(t, g, mappers(t))
			w.StartWith(event.RunCreated{Input: event.Value(`{"n":1}`)})
			if got := sees(t, w, "s/x"); got != tc.x {
				t.Errorf("x sees %s, want %s", got, tc.x)
			}
			w.Crash()
			w.Finish("s/x", update("d=7"))
			if got := show(w.Run.State()); got != "n=1" {
				t.Errorf("the run tells %s while the sub-flow is at work", got)
			}
			if got := sees(t, w, "s/y"); got != tc.y {
				t.Errorf("y sees %s, want %s", got, tc.y)
			}
			w.Finish("s/y", update(""))
			w.Crash()
			z := w.Pending[0].(*engine.CallFunc)
			if out, _ := z.Outputs.Get("s"); sees(t, w, "z") != tc.z || string(out) != tc.out {
				t.Errorf("z sees %s and %s, want %s and %s", show(z.State.Map()), out, tc.z, tc.out)
			}
			w.Finish("z", update(""))
			if got := show(w.Run.State()); got != tc.end {
				t.Errorf("the run ends with %s, want %s", got, tc.end)
			}
			w.CheckPrefixes()
		})
	}
}

// TestSubflowMappersFail checks that a failing mapper fails the step, which its policy retries as a
// whole: with a newly created initial state, and nothing of the previous attempt.
func TestSubflowMappersFail(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		in, out string // what they return on the first attempt
		want    string
	}{
		"in is broken":   {"!", `{}`, "broken"},
		"in is no state": {`[1]`, `{}`, `function "in" returned no state: json: cannot unmarshal array`},
		"in is no JSON":  {`{`, `{}`, `function "in"`},
		"out is broken":  {`{"m":1}`, "!", "broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ins, outs := 0, 0
			h := &host{
				value: func(string, engine.View) (event.Value, error) {
					if ins++; ins > 1 {
						return event.Value(`{"m":2}`), nil
					}
					if tc.in == "!" {
						return nil, errors.New("broken")
					}
					return event.Value(tc.in), nil
				},
				merge: func(string, map[string]event.Value, engine.View) (map[string]event.Value, error) {
					if outs++; tc.out == "!" && outs == 1 {
						return nil, errors.New("broken")
					}
					return map[string]event.Value{"k": event.Value("3")}, nil
				},
			}
			s := subNode("s", true)
			s.Retry = &workflow.Retry{MaxRetries: 1}
			w := enginetest.New(t,
				typedFlow(enginetest.Graph(nodes(s), ""), enginetest.Graph(nodes(funcNode("x")), "")), h)
			w.StartWith(event.RunCreated{})
			if len(w.Pending) > 0 {
				w.Finish("s/x", update("d=7"))
			}
			i := slices.IndexFunc(w.Events, func(e event.Event) bool { return e.Data.Type() == "step.retrying" })
			if i < 0 {
				t.Fatalf("it is not tried again\n%s", w.Log())
			}
			if f := w.Events[i].Data.(*event.StepRetrying).Error; f.Code != event.CodeFunc || f.Node != "s" ||
				!strings.Contains(f.Message, tc.want) {
				t.Errorf("failure %+v", f)
			}
			w.Fire("retry:1")
			if got := sees(t, w, "s/x"); got != "m=2" {
				t.Errorf("x sees %s", got)
			}
			w.Finish("s/x", update(""))
			wantStatus(t, w, event.StatusCompleted)
			if got := show(w.Run.State()); got != "k=3" {
				t.Errorf("the run ends with %s", got)
			}
		})
	}
}

// TestSubflowIterations checks that a node inside a sub-flow counts its executions across all of
// that sub-flow's executions at that place, separately from those at another place (P15).
func TestSubflowIterations(t *testing.T) {
	t.Parallel()
	inner := enginetest.Graph(nodes(funcNode("x")), "")
	mid := typedFlow(enginetest.Graph(nodes(subNode("i", false)), ""), inner)
	g := typedFlow(enginetest.Graph(nodes(subNode("a", false), subNode("b", false),
		workflow.Node{ID: "d", Kind: workflow.KindDecide, Decide: &workflow.Decide{
			Cases: []workflow.Case{
				{Port: "again", When: workflow.Condition{Language: workflow.LangFunc, Func: "again"}},
			},
			Else: "out",
		}}), "a -> b; b -> d; d:again -> a"), mid)
	asked := 0
	w := enginetest.New(t, g, &host{condition: func(string, engine.View) (bool, error) {
		asked++
		return asked < 3, nil
	}})
	w.SkipLaws = true // the condition counts, and a fold must not repeat that
	w.Func = func(*engine.CallFunc) *engine.FuncResult { return update("") }
	w.StartWith(event.RunCreated{})
	w.Go(nil)
	wantStatus(t, w, event.StatusCompleted)
	ran := map[string][]int{}
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.StepStarted); ok {
			ran[e.Node] = append(ran[e.Node], d.Iteration)
		}
	}
	for _, node := range []string{"a", "b", "a/i", "b/i", "a/i/x", "b/i/x"} {
		if got := ran[node]; !slices.Equal(got, []int{1, 2, 3}) {
			t.Errorf("%s ran as %v", node, got)
		}
	}
	w.Crash()
}

// TestSubflowStateInBranches checks that changes made by two sub-flows in branches of a fork count
// as the sub-flow steps' changes, not as those of the nodes inside; reducers of a sub-flow's own
// fork apply only there (P7).
func TestSubflowStateInBranches(t *testing.T) {
	t.Parallel()
	flow := func() *workflow.Workflow {
		f := enginetest.Graph(nodes(enginetest.Fork("g", workflow.Fork{}, "p", "q"), enginetest.In("g", funcNode("p")),
			enginetest.In("g", funcNode("q")), funcNode("y")),
			"g:p -> p; g:q -> q; p -> g/join; q -> g/join; g/join -> y")
		f.Rules.Reducers = map[string]string{"m": "sum"}
		return f
	}
	for name, tc := range map[string]struct {
		reducers map[string]string
		end      string
	}{
		"reduced":  {map[string]string{"k": "last"}, `k={"m":5} n=1`},
		"conflict": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := typedFlow(enginetest.Graph(nodes(enginetest.Fork("f", workflow.Fork{}, "a", "b"),
				enginetest.In("f", subNode("a", true)), enginetest.In("f", subNode("b", true))),
				"f:a -> a; f:b -> b; a -> f/join; b -> f/join"), flow())
			g.Rules.Reducers = tc.reducers
			w := enginetest.New(t, g, mappers(t))
			w.StartWith(event.RunCreated{Input: event.Value(`{"n":1}`)})
			for _, node := range []string{"b/p", "a/p", "a/q", "b/q"} {
				w.Finish(node, update("m=3"))
			}
			w.Crash()
			for _, node := range []string{"b/y", "a/y"} {
				if got := sees(t, w, node); got != "m=5" {
					t.Errorf("%s sees %s", node, got)
				}
				w.Finish(node, update(""))
			}
			if tc.end == "" {
				if f := failure(t, w); f.Code != event.CodeStateConflict ||
					!strings.Contains(f.Message, `nodes "a" and "b" both changed field "k"`) {
					t.Errorf("failure %+v", f)
				}
				return
			}
			if got := show(w.Run.State()); got != tc.end {
				t.Errorf("the run ends with %s", got)
			}
			w.CheckPrefixes()
		})
	}
}

// TestSubflowState_InvalidJournal checks that a journal is rejected if an edge carries a state to a
// place where no state starts.
func TestSubflowState_InvalidJournal(t *testing.T) {
	t.Parallel()
	world := func() *enginetest.World {
		w := enginetest.New(t, typedFlow(enginetest.Graph(nodes(funcNode("a"), subNode("s", true), funcNode("z")),
			"a -> s; s -> z"), enginetest.Graph(nodes(funcNode("x"), funcNode("y")), "x -> y")), mappers(t))
		w.StartWith(event.RunCreated{Input: event.Value(`{"n":1}`)})
		w.Finish("a", update(""))
		w.Finish("s/x", update(""))
		w.Finish("s/y", update(""))
		return w
	}
	edges := 0
	for i, e := range world().Events {
		d, ok := e.Data.(*event.EdgeTaken)
		if !ok || d.State != nil {
			continue
		}
		edges++
		w := world()
		w.Events[i].Data.(*event.EdgeTaken).State = map[string]event.Value{"n": event.Value("2")}
		if err := engine.New(w.Plan, "run1").Apply(w.Events); err == nil ||
			!strings.Contains(err.Error(), "edge.taken") {
			t.Errorf("event %d: %v", i+1, err)
		}
	}
	if edges != 4 {
		t.Errorf("%d edges were changed", edges)
	}
}
