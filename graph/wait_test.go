package graph_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// TestWaits checks that a wait pauses the run, and that the answer is applied and the successors
// run, even after a crash. The wait does not run again (S2-52, S2-74).
func TestWaits(t *testing.T) {
	t.Parallel()
	into := func(s *state, answer string) error {
		if answer == "bad" {
			return errors.New("not that")
		}
		s.Text = "said " + answer
		return nil
	}
	type waitNode = graph.WaitConfig[state]
	type askNode = graph.AskUserConfig[state]
	choices := []graph.Choice{{Label: "yes", Description: "go on"}, {Label: "no"}}
	for name, tc := range map[string]struct {
		node    graph.Node[state]
		prompt  string
		options []string
		answer  string
		end     string
		text    string
		output  string
	}{
		"prompt": {waitNode{ID: "w", Prompt: "Go on?"}, "Go on?", nil, `"sure"`, "completed", "", `"sure"`},
		"of state": {waitNode{ID: "w", Prompt: "?", PromptFunc: func(v graph.View[state]) string {
			return "Go on, " + v.State.Counter + "?"
		}}, "Go on, you?", nil, `"sure"`, "completed", "", `"sure"`},
		"mapper": {waitNode{ID: "w", Prompt: "Go on?", Input: into}, "Go on?", nil, `"sure"`, "completed",
			"said sure", `"sure"`},
		"mapper, number": {waitNode{ID: "w", Prompt: "Go on?", Input: into}, "Go on?", nil, `7`, "completed", "said 7",
			`7`},
		"mapper fails": {waitNode{ID: "w", Prompt: "Go on?", Input: into}, "Go on?", nil, `"bad"`, "not that", "",
			""},
		"approved": {waitNode{ID: "w", AutoApprove: true, Input: into}, "", nil, "", "completed", "said ", `""`},
		"WaitNode": {compat.WaitNode[state]("w", "Go on?"), "Go on?", nil, `"sure"`, "completed", "", `"sure"`},
		"ask": {askNode{ID: "w", Question: graph.Question{Text: "Go on?", Choices: choices}}, "Go on?",
			[]string{"yes", "no"}, `"yes"`, "completed", "", `"yes"`},
		"ask, free text": {askNode{ID: "w", Question: graph.Question{Text: "Go on?", Choices: choices}}, "Go on?",
			[]string{"yes", "no"}, `"perhaps"`, "completed", "", `"perhaps"`},
		"ask with header": {askNode{ID: "w", QuestionFunc: func(v graph.View[state]) graph.Question {
			return graph.Question{Header: v.State.Counter, Text: "Go on?", Choices: choices[:1]}
		}}, "you\n\nGo on?", []string{"yes"}, `"yes"`, "completed", "", `"yes"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var output string
			w := run(t, graph.New[state]("t").Start(nothing("s")).Then(tc.node).
				Then(graph.NewNode("z", graph.TypeTool,
					func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
						v, _ := c.Output("w")
						output = string(v)
						return graph.Result[state]{}, nil
					})), state{Counter: "you"})
			if tc.answer != "" {
				w.want("s, w", "paused")
				waits := w.Run.Waits()
				if len(waits) != 1 || waits[0].Prompt != tc.prompt || !slices.Equal(waits[0].Options, tc.options) {
					t.Fatalf("waits %+v", waits)
				}
				w.Crash()
				w.Feed(engine.Answer{Wait: waits[0].ID, Value: event.Value(tc.answer)})
				w.Go(nil)
			}
			visited := "s, w, z"
			if tc.end != "completed" {
				visited = "s, w"
			}
			w.want(visited, tc.end)
			if got := w.state().Text; got != tc.text || output != tc.output {
				t.Errorf("state %q, output %s", got, output)
			}
		})
	}
}

// TestWait_QueuedNodesDeferred checks that the rest of the queue is held while a question is open,
// and that afterwards all pending nodes run, and no finished node runs again (S2-63).
func TestWait_QueuedNodesDeferred(t *testing.T) {
	t.Parallel()
	w := run(t, graph.New[state]("t").Start(gotoNode("s", "w", "a")).Node(compat.WaitNode[state]("w", "?"),
		nothing("w2")).
		Node(nothing("a")), state{})
	w.want("s, w", "paused")
	w.Crash()
	w.Feed(engine.Answer{Value: enginetest.Text("on")})
	w.Go(nil)
	w.want("s, w, a, w2", "completed")
}

// TestBuilderWaits checks that the builder's own waits have ids from the shared counter (S2-2).
func TestBuilderWaits(t *testing.T) {
	t.Parallel()
	w := run(t, graph.New[state]("t").Start(nothing("s")).Wait("Sure?").Then(graph.AskUserConfig[state]{ID: "ask",
		Question: graph.Question{Text: "Why?"}}).Wait("Really?"), state{})
	var prompts []string
	for w.Run.Status() == event.StatusPaused {
		prompts = append(prompts, w.Run.Waits()[0].Node+": "+w.Run.Waits()[0].Prompt)
		w.Feed(engine.Answer{Value: enginetest.Text("yes")})
		w.Go(nil)
	}
	if d := cmp.Diff(prompts, []string{"wait_1: Sure?", "ask: Why?", "wait_2: Really?"}); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	w.want("s, wait_1, ask, wait_2", "completed")
}

// TestRun_CrashRecovery checks that a run that crashes at any point continues to the same state,
// and that functions whose results are recorded are not called again (D4, P7).
func TestRun_CrashRecovery(t *testing.T) {
	t.Parallel()
	add := func(s *state, k string) { s.Log = append(s.Log, k) }
	b := graph.New[state]("t").Start(changes("s", func(s *state) { s.N = 1 })).
		If(func(v graph.View[state]) bool { return v.State.N == 1 }).
		Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool { return v.State.N >= 3 }}, count("l")).
		EndIf().
		Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).
		Then(changes("z", func(s *state) { add(s, "z") })).
		Node(changes("a", func(s *state) { add(s, "a") })).Node(changes("b", func(s *state) { add(s, "b") }),
		failingNode("b2", 1))
	g := compiled(t, b, graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}})
	whole := newWorld(t, g)
	whole.begin(state{})
	want := state{N: 3, Log: []string{"a", "b", "z"}}
	if d := cmp.Diff(whole.state(), want); d != "" || whole.Run.Status() != event.StatusCompleted {
		t.Fatalf("%s, got - want +\n%s", whole.Run.Status(), d)
	}
	for stop := 1; stop < len(whole.Batches); stop++ {
		w := newWorld(t, g)
		f, answered := w.Func, 0
		w.Func = func(c *engine.CallFunc) *engine.FuncResult {
			if answered++; answered > stop {
				return nil
			}
			return f(c)
		}
		w.begin(state{})
		w.Crash()
		w.Func = f
		w.Go(nil)
		if d := cmp.Diff(w.state(), want); d != "" || w.visited() != whole.visited() {
			t.Errorf("stopped after %d calls: visited %s, got - want +\n%s", stop, w.visited(), d)
		}
	}
}

// TestAsk checks that a node that raises human_input_required pauses the run with the signal's
// message and data as the question, after its changes to the state, and that the answer is its
// output: nothing runs again, and a goto of the node counts (S2-52).
func TestAsk(t *testing.T) {
	t.Parallel()
	type signal = graph.Signal
	for name, tc := range map[string]struct {
		signal  signal
		goTo    []string
		prompt  string
		options []string
		visited string
	}{
		"message":  {signal{Message: "Go on?"}, nil, "Go on?", nil, "s, q, z"},
		"question": {signal{Data: map[string]any{"question": "Which?"}}, nil, "Which?", nil, "s, q, z"},
		"neither":  {signal{}, nil, "q", nil, "s, q, z"},
		"options": {signal{Message: "Which?", Data: map[string]any{"options": []string{"a", "b"}}}, nil, "Which?",
			[]string{"a", "b"}, "s, q, z"},
		"choices": {signal{Message: "Which?", Data: map[string]any{"options": []graph.Choice{{Label: "a"},
			{Label: "b", Description: "the other"}}}}, nil, "Which?", []string{"a", "b"}, "s, q, z"},
		"other data": {signal{Message: "Which?", Data: map[string]any{"options": 7}}, nil, "Which?", nil, "s, q, z"},
		"goto":       {signal{Message: "Go on?"}, []string{"x"}, "Go on?", nil, "s, q, x"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, output := 0, ""
			tc.signal.Type = graph.SignalHumanInputRequired
			look := graph.NewNode("z", graph.TypeTool,
				func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
					v, _ := c.Output("q")
					output = string(v)
					return graph.Result[state]{}, nil
				})
			w := run(t, graph.New[state]("t").Start(nothing("s")).Then(graph.NewNode("q", graph.TypeTool,
				func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
					asked++
					c.State.N++
					return graph.Result[state]{Update: &c.State, Output: "dropped", Goto: tc.goTo,
						Signals: []signal{{Type: graph.SignalCheckpoint}, tc.signal}}, nil
				})).Then(look).Node(nothing("x")), state{})
			w.want("s, q", "paused")
			waits := w.Run.Waits()
			if len(waits) != 1 || waits[0].Node != "q" || waits[0].Prompt != tc.prompt ||
				!slices.Equal(waits[0].Options, tc.options) {
				t.Fatalf("waits %+v", waits)
			}
			if w.state().N != 1 {
				t.Errorf("while the question is open: %+v", w.state())
			}
			w.Crash()
			w.Feed(engine.Answer{Value: event.Value(`"sure"`)})
			w.Go(nil)
			w.want(tc.visited, "completed")
			if tc.goTo == nil && output != `"sure"` || asked != 1 || w.state().N != 1 {
				t.Errorf("output %s after %d calls, state %+v", output, asked, w.state())
			}
		})
	}
}

// TestAsk_Twice checks that a node cannot ask two questions at once (S2-52).
func TestAsk_Twice(t *testing.T) {
	t.Parallel()
	ask := graph.Signal{Type: graph.SignalHumanInputRequired, Message: "?"}
	run(t, graph.New[state]("t").Start(graph.NewNode("q", graph.TypeTool,
		func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
			return graph.Result[state]{Signals: []graph.Signal{ask, ask}}, nil
		}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 1}})), state{}).want("q",
		"the signal human_input_required was raised twice; a node can ask one question")
}

// TestAsk_UnknownTarget checks that a node that asks and goes to a node that does not exist fails
// without asking.
func TestAsk_UnknownTarget(t *testing.T) {
	t.Parallel()
	w := run(t, graph.New[state]("t").Start(graph.NewNode("q", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			c.State.N++
			return graph.Result[state]{Update: &c.State, Goto: []string{"ghost"},
				Signals: []graph.Signal{{Type: graph.SignalHumanInputRequired, Message: "?"}}}, nil
		}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 1}})), state{})
	w.want("q", `Node "ghost" not found in graph`)
	if n := w.state().N; n != 0 {
		t.Errorf("the state was changed %d times", n)
	}
}
