package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/enginetest"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/program"
)

// raised returns the signals of a run or, if events is true, the events that its nodes emitted.
func (w *world) raised(events bool) []event.SignalRaised {
	var out []event.SignalRaised
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.SignalRaised); ok && d.Event == events {
			out = append(out, *d)
		}
	}
	return out
}

// folded returns the folded run, which package hocket splits into the state and the graph's own
// fields.
func (w *world) folded() program.Folded {
	f := program.Folded{Run: "run1", Updated: w.Run.Updated(), State: w.Run.TypedState(),
		Outputs: map[string]program.Value{}}
	for _, wait := range w.Run.Waits() {
		f.Waits = append(f.Waits, program.Wait{ID: wait.ID, Node: wait.Node})
	}
	return f
}

// TestContext_Errors checks that every failed attempt of the run so far is in the context of the
// following attempts, and that a crash does not change that (S2-78).
func TestContext_Errors(t *testing.T) {
	t.Parallel()
	seen := map[string][]string{}
	at := func(c *graph.Context[state]) {
		var list []string
		for _, e := range c.Errors {
			list = append(list, fmt.Sprintf("%s#%d %s", e.NodeID, e.Attempt, e.Message))
			if e.Timestamp.IsZero() {
				t.Errorf("no time: %+v", e)
			}
		}
		seen[fmt.Sprintf("%s#%d", c.NodeID, c.Attempt)] = list
	}
	fails := func(id string, n int) graph.Node[state] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				at(c)
				if c.Attempt <= n {
					return graph.Result[state]{}, fmt.Errorf("%s broke", id)
				}
				return graph.Result[state]{}, nil
			})
	}
	w := newWorld(t, compiled(t, graph.New[state]("t").Start(fails("a", 2)).Then(fails("b", 1)).Then(fails("c", 0))))
	f, stop := w.Func, true
	w.Func = func(c *engine.CallFunc) *engine.FuncResult {
		if c.Node == "c" && stop {
			return nil
		}
		return f(c)
	}
	w.begin(state{})
	w.Crash()
	stop = false
	w.Go(nil)
	w.want("a, b, c", "completed")
	a1, a2, b1 := "a#1 a broke", "a#2 a broke", "b#1 b broke"
	want := map[string][]string{"a#1": nil, "a#2": {a1}, "a#3": {a1, a2}, "b#1": {a1, a2}, "b#2": {a1, a2, b1},
		"c#1": {a1, a2, b1}}
	if d := cmp.Diff(seen, want, cmpopts.EquateEmpty()); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	if n := len(w.Run.Errors()); n != 3 {
		t.Errorf("the run tells of %d errors", n)
	}
}

// TestContext_NonCallErrors checks that failures that do not belong to a call are recorded once, at
// the node where they happened, and that a context shows only the last 100 (S2-78).
func TestContext_NonCallErrors(t *testing.T) {
	t.Parallel()
	opts := graph.NodeOptions{Retry: once()}
	for name, tc := range map[string]struct {
		graph *graph.Builder[state]
		want  []string
	}{
		"condition": {graph.New[state]("t").Start(nothing("a")).If(func(graph.View[state]) bool { panic("oops") }).
			EndIf(), []string{`decision_1#1 function "decision_1/if" panicked: oops`}},
		"goto": {graph.New[state]("t").Start(gotoNode("a", "nope")), []string{`a#1 Node "nope" not found in graph`}},
		"in a branch": {graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"b"}}).Node(
			failingNode("b", -1, opts)),
			[]string{"b#1 it is broken"}},
		"skipped": {
			graph.New[state]("t").Start(failingNode("a", -1,
				graph.NodeOptions{OnError: graph.OnError(func(error, *graph.Context[state]) graph.ErrorAction[state] {
					return graph.ErrorAction[state]{Action: graph.ActionSkip}
				})})), []string{"a#1 it is broken"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, tc.graph, state{})
			var got []string
			for _, e := range w.Run.Errors() {
				got = append(got, fmt.Sprintf("%s#%d %s", e.Node, e.Attempt, e.Message))
			}
			if d := cmp.Diff(got, tc.want); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
	var last []graph.ExecutionError
	run(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			last = c.Errors
			return graph.Result[state]{}, errBroken
		}, graph.NodeOptions{Retry: graph.Retry{MaxAttempts: 130, Backoff: graph.Zero}})), state{})
	if len(last) != 100 || last[0].Attempt != 30 || last[99].Attempt != 129 {
		t.Errorf("%d errors", len(last))
	}
}

// TestContext_OnError checks that error handlers see what nodes see (S2-70).
func TestContext_OnError(t *testing.T) {
	t.Parallel()
	var got *graph.Context[state]
	cfg := graph.Config{DefaultModel: "m", Metadata: map[string]any{"k": 1}, ContextWindowThreshold: 50}
	run(t, graph.New[state]("t").Start(fills("f", 30)).Then(failingNode("a", 1,
		graph.NodeOptions{OnError: graph.OnError(func(_ error, c *graph.Context[state]) graph.ErrorAction[state] {
			got = c
			return graph.ErrorAction[state]{}
		})})), state{N: 4}, cfg).want("f, a", "completed")
	if got.ExecutionID != "run1" || got.NodeID != "a" || got.Attempt != 1 || got.State.N != 4 || len(got.Errors) != 1 ||
		got.LastUpdated.IsZero() || got.Model != "m" ||
		got.ContextWindowUsage.UsagePercentage != 30 || got.ContextWindowThreshold != 50 ||
		got.Config.Metadata["k"] != 1 {
		t.Errorf("context %+v", got)
	}
}

// TestEmit checks that a node's own events are recorded with its result, in order, before its
// signals, and that those of a failed attempt are dropped (S2-70, S2-73).
func TestEmit(t *testing.T) {
	t.Parallel()
	opts := graph.NodeOptions{Retry: graph.Retry{Backoff: graph.Zero}}
	w := run(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			data := map[string]any{"attempt": c.Attempt}
			c.Emit("progress", data)
			data["attempt"] = "changed afterwards"
			c.Emit("empty", nil)
			if c.Attempt == 1 {
				return graph.Result[state]{}, errBroken
			}
			return graph.Result[state]{Signals: []graph.Signal{{Type: graph.SignalCheckpoint}}}, nil
		}, opts)), state{})
	w.want("a", "completed")
	events := w.raised(true)
	want := []event.SignalRaised{
		{Signal: "progress", Data: map[string]event.Value{"attempt": event.Value("2")}, Event: true},
		{Signal: "empty", Data: map[string]event.Value{}, Event: true},
	}
	if d := cmp.Diff(events, want, cmpopts.IgnoreFields(event.SignalRaised{}, "At")); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	for _, e := range events {
		if e.At.IsZero() || !e.At.Equal(e.At.Truncate(time.Microsecond)) || e.At.Location() != time.UTC {
			t.Errorf("sent at %v", e.At)
		}
	}
	if s := w.raised(false); len(s) != 1 || s[0].Signal != "checkpoint" {
		t.Errorf("signals %+v", s)
	}
	for text, data := range map[string]map[string]any{
		"encode event bad: json: unsupported type: func()": {"x": func() {}},
		`encode event bad: the name "\xff" is not UTF-8`:   {"\xff": 1},
	} {
		run(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				c.Emit("bad", data)
				return graph.Result[state]{}, nil
			}, graph.NodeOptions{Retry: once()})), state{}).want("a", text)
	}
}

// TestPreviousOutput checks that the output of a failed attempt reaches the next one, even after a
// crash (S2-58).
func TestPreviousOutput(t *testing.T) {
	t.Parallel()
	small := graph.SchemaJSON(`{"properties": {"n": {"maximum": 3}}}`)
	for name, tc := range map[string]struct {
		first graph.Result[state]
		err   error
		want  string
	}{
		"refused by the schema":  {graph.Result[state]{Update: &state{N: 9}}, nil, `{"n":9}`},
		"output with the update": {graph.Result[state]{Update: &state{N: 9}, Output: "nine"}, nil, `"nine"`},
		"output with an error":   {graph.Result[state]{Output: 9}, errBroken, `9`},
		"an error alone":         {graph.Result[state]{}, errBroken, ``},
		"output is no JSON":      {graph.Result[state]{Output: func() {}}, errBroken, ``},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got string
			w := newWorld(t,
				compiled(t, graph.New[state]("t").Start(graph.NewNode("a", graph.TypeTool,
					func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
						if c.Attempt == 1 {
							return tc.first, tc.err
						}
						got = string(c.Feedback.PreviousOutput)
						return graph.Result[state]{}, nil
					}, graph.NodeOptions{OutputSchema: small}))))
			f := w.Func
			w.Func = func(c *engine.CallFunc) *engine.FuncResult {
				if c.Attempt == 2 {
					return nil
				}
				return f(c)
			}
			w.begin(state{})
			w.Crash()
			w.Func = f
			w.Go(nil)
			if w.want("a", "completed"); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}

// TestQuestionSignals checks that an open question raises human_input_required, and that the
// question of an ask-user node is also an event and sets flags until it is answered (S2-52, S2-53,
// S2-74).
func TestQuestionSignals(t *testing.T) {
	t.Parallel()
	type waitNode = graph.WaitConfig[state]
	type askNode = graph.AskUserConfig[state]
	question := graph.Question{Text: "Go on?", Header: "Stop",
		Choices: []graph.Choice{{Label: "yes", Description: "go on"}, {Label: "no"}}}
	full := `{"header":"Stop","nodeId":"w","options":[{"label":"yes","description":"go ` +
		`on"},{"label":"no"}],"question":"Go on?","requestId":"run1/w2"}`
	for name, tc := range map[string]struct {
		node    graph.Node[state]
		message string
		data    string
		ask     bool
	}{
		"wait": {waitNode{ID: "w", Prompt: "Go on?"}, "Go on?", `{"nodeId":"w","requestId":"run1/w2"}`, false},
		"wait func": {waitNode{ID: "w", PromptFunc: func(v graph.View[state]) string { return v.State.Text }},
			"from state", `{"nodeId":"w","requestId":"run1/w2"}`, false},
		"ask": {askNode{ID: "w", Question: question}, "Stop\n\nGo on?", full, true},
		"ask func": {askNode{ID: "w", QuestionFunc: func(graph.View[state]) graph.Question { return question }},
			"Stop\n\nGo on?", full, true},
		"ask, bare": {askNode{ID: "w", Question: graph.Question{Text: "Why?"}}, "Why?",
			`{"header":"","nodeId":"w","options":[],"question":"Why?","requestId":"run1/w2"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := compiled(t, graph.New[state]("t").Start(nothing("s")).Then(tc.node).Then(nothing("z")))
			w := newWorld(t, g)
			w.begin(state{Text: "from state"})
			w.want("s, w", "paused")
			signals, events := w.raised(false), w.raised(true)
			if len(signals) != 1 || signals[0].Signal != string(graph.SignalHumanInputRequired) ||
				signals[0].Message != tc.message {
				t.Fatalf("signals %+v", signals)
			}
			if raw, err := json.Marshal(signals[0].Data); err != nil || string(raw) != tc.data {
				t.Errorf("data %s, %v", raw, err)
			}
			if tc.ask {
				signals[0].Event = true
			} else {
				signals = nil
			}
			if d := cmp.Diff(events, signals); d != "" {
				t.Errorf("the event and the signal differ: got - want +\n%s", d)
			}
			w.Crash()
			s, base, err := g.Running().Split(w.folded())
			wantBase := graph.BaseState{ExecutionID: "run1", LastUpdated: w.Run.Updated(),
				Outputs: map[string]json.RawMessage{}}
			if tc.ask {
				wantBase.WaitingForInput, wantBase.WaitNodeID, wantBase.AskUserRequestID = true, "w", "run1/w2"
			}
			if d := cmp.Diff(base, wantBase); d != "" || err != nil || s.Text != "from state" {
				t.Errorf("%v, state %+v; got - want +\n%s", err, s, d)
			}
			w.Feed(engine.Answer{Value: enginetest.Text("perhaps")})
			w.Go(nil)
			w.want("s, w, z", "completed")
			wantBase.WaitingForInput, wantBase.WaitNodeID, wantBase.AskUserRequestID, wantBase.LastUpdated = false, "",
				"", w.Run.Updated()
			if _, base, err = g.Running().Split(w.folded()); err != nil || cmp.Diff(base, wantBase) != "" {
				t.Errorf("after the answer: %+v, %v", base, err)
			}
		})
	}
}

// TestState_SplitBaseFields checks that the graph's own fields are separate from S, wherever they
// come from; neither an update nor the initial state of the run can change them, except for the
// outputs of the latter (S2-75).
func TestState_SplitBaseFields(t *testing.T) {
	t.Parallel()
	outputs := func(id string) graph.Node[state] {
		return graph.NewNode(id, graph.TypeTool,
			func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
				c.State.N++
				v, _ := c.Output("before")
				return graph.Result[state]{Update: &c.State, Output: string(v),
					Usage: &graph.ContextWindowUsage{UsagePercentage: 7}}, nil
			})
	}
	g := compiled(t, graph.New[state]("t").Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool {
		return v.State.N == 2
	}}, outputs("a")).Catch(nothing("h")))
	w := newWorld(t, g)
	w.StartWith(
		event.RunCreated{
			Input: event.Value(
				`{"n":0,"text":"x","executionId":"forged","lastUpdated":"never","outputs":{"before":1,"a":2}}`),
		})
	w.Go(nil)
	f := w.folded()
	f.Outputs["a"] = program.Value(`"1"`)
	s, base, err := g.Running().Split(f)
	want := graph.BaseState{
		ExecutionID: "run1", LastUpdated: w.Run.Updated(),
		ContextWindowUsage: &graph.ContextWindowUsage{UsagePercentage: 7},
		Outputs: map[string]json.RawMessage{"before": json.RawMessage("1"), "a": json.RawMessage(`"1"`),
			"loop_start_1_iteration": json.RawMessage("2")},
	}
	if d := cmp.Diff(base, want); d != "" || err != nil || s.N != 2 || s.Text != "x" {
		t.Errorf("%v, state %+v; got - want +\n%s", err, s, d)
	}
	if base.LastUpdated.IsZero() {
		t.Error("no time of the last update")
	}
	if _, _, err := g.Running().Split(
		program.Folded{State: program.StateOf(program.Fields{"n": program.Value(`"many"`)})}); err == nil {
		t.Error("a state of another form was taken")
	}
	got := g.Running().Changes(map[string]json.RawMessage{"n": json.RawMessage("1"),
		"outputs.loop_start_1_iteration": json.RawMessage("2"), "$caught": nil, "$usage": nil})
	if d := cmp.Diff(got, map[string]json.RawMessage{"n": json.RawMessage("1")}); d != "" {
		t.Errorf("changes: got - want +\n%s", d)
	}
	if got := g.Running().Changes(map[string]json.RawMessage{"$usage": nil}); got != nil {
		t.Errorf("changes %v", got)
	}
}

// TestCompile_ReservedFieldNames checks that a state cannot have fields with the names of the
// graph's own fields (S2-75).
func TestCompile_ReservedFieldNames(t *testing.T) {
	t.Parallel()
	type odd struct {
		ExecutionID string
		Updated     string         `json:"lastUpdated"`
		Outputs     map[string]int `json:"OUTPUTS"`
		Flag        bool           `json:"__waitingForInput"`
		Fine        int            `json:"output"`
	}
	_, err := graph.New[odd]("t").Start(graph.Do("a", func(context.Context, *odd) error { return nil })).Compile()
	l := problems(t, err)
	if len(l) != 4 {
		t.Errorf("%d problems: %v", len(l), err)
	}
	for _, p := range l {
		if p.Code != "reserved-field" {
			t.Errorf("%s: %s", p.Code, p.Message)
		}
	}
}

// TestModelOfNode checks that the model of a node is its own, or else the parent run's, or else the
// graph's (S2-79).
func TestModelOfNode(t *testing.T) {
	t.Parallel()
	g := compiled(t, graph.New[state]("t").Start(nothing("own", graph.NodeOptions{Model: "a"})).Then(
		nothing("none", graph.NodeOptions{Model: "inherit"})),
		graph.Config{DefaultModel: "c"})
	for _, tc := range [][3]string{{"own", "b", "a"}, {"own", "", "a"}, {"none", "b", "b"}, {"none", "", "c"},
		{"none", "inherit", "c"}, {"missing", "b", ""}} {
		if got := g.Running().Model(tc[0], program.Fields{program.FieldModel: enginetest.Text(tc[1])}); got != tc[2] {
			t.Errorf("model of %s under %q: %q, want %q", tc[0], tc[1], got, tc[2])
		}
	}
}
