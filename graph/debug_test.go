package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/program"
)

// report returns the report that a failed run raised, and its failure.
func (w *world) report() (*graph.DebugReport, *event.RunFailed) {
	w.T.Helper()
	var out *graph.DebugReport
	for i, e := range w.Events {
		d, ok := e.Data.(*event.SignalRaised)
		if !ok || d.Signal != string(graph.SignalDebugReport) || e.Step != 0 {
			continue
		}
		if out != nil || i != len(w.Events)-2 {
			w.T.Errorf("a report in the wrong place\n%s", w.Log())
		}
		raw, err := json.Marshal(d.Data)
		if err == nil {
			err = json.Unmarshal(raw, &out)
		}
		if err != nil || d.Message != out.ErrorSummary {
			w.T.Fatalf("report %s: %v", raw, err)
		}
		var decoded any
		if err := json.Unmarshal(raw, &decoded); err != nil || !compat.IsDebugReport(decoded) {
			w.T.Errorf("%s is no debug report", raw)
		}
	}
	f, _ := w.Events[len(w.Events)-1].Data.(*event.RunFailed)
	return out, f
}

// TestDebugReport checks that a failing run raises a report before its last event, equal to the one
// that DebugReport returns, and that the flow is otherwise unchanged (S2-59).
func TestDebugReport(t *testing.T) {
	t.Parallel()
	opts := graph.NodeOptions{Retry: once()}
	conflict := func(id string) graph.Node[state] { return changes(id, func(s *state) { s.Text = id }) }
	for name, tc := range map[string]struct {
		graph   *graph.Builder[state]
		config  graph.Config
		node    string
		fixes   []string // prefix of each
		stack   string   // contents of the trace
		summary string
	}{
		"error": {graph.New[state]("t").Start(failingNode("a", -1, opts)), graph.Config{}, "a",
			[]string{`To continue after this failure, give node "a" an OnError`}, "", "it is broken"},
		"handled by catch": {graph.New[state]("t").Start(failingNode("a", -1, opts)).Catch(nothing("h")),
			graph.Config{},
			"a", nil, "", "it is broken"},
		"panic": {graph.New[state]("t").Start(graph.Do("a", func(context.Context, *state) error { panic("oops") },
			opts)), graph.Config{}, "a",
			[]string{"Fix the panic", `To continue after this failure, give node "a" an OnError`}, "debug_test.go",
			`node "a" panicked: oops`},
		"panic behind catch": {
			graph.New[state]("t").Start(graph.Do("a", func(context.Context, *state) error { panic("oops") }, opts)).
				Catch(nothing("h")), graph.Config{}, "a",
			[]string{"Fix the panic"}, "debug_test.go", `node "a" panicked: oops`},
		"panic of a tool": {graph.New[state]("t").Tool(graph.ToolConfig[state, int, int]{ID: "a", Options: opts,
			Execute: func(context.Context, int) (int, error) { panic("oops") }}),
			graph.Config{}, "a", []string{"Fix the panic", `To continue after this failure, give node "a" an OnError`},
			"debug_test.go", `tool "a" panicked: oops`},
		"schema": {
			graph.New[state]("t").Start(nothing("a",
				graph.NodeOptions{Retry: once(), InputSchema: graph.SchemaJSON("false")})), graph.Config{}, "a",
			[]string{"Compare the state"}, "", `Node "a" input validation failed`},
		"tool timeout": {graph.New[state]("t").Tool(graph.ToolConfig[state, int, int]{
			ID: "a", Timeout: time.Millisecond, Options: opts,
			Execute: func(ctx context.Context, _ int) (int, error) { <-ctx.Done(); return 0, ctx.Err() }}),
			graph.Config{}, "a", []string{"Raise the node's Timeout"}, "", `Tool "a" timed out`},
		"steps": {graph.New[state]("t").Start(gotoNode("a", "a")), graph.Config{MaxSteps: 2}, "a",
			[]string{"Raise Config.MaxSteps"}, "", "Exceeded maximum steps (2)"},
		"conflict": {graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"}}).Node(
			conflict("a")).Node(conflict("b")), graph.Config{}, "parallel_1", []string{"Declare a reducer"}, "",
			`nodes "a" and "b"`},
		"no node": {graph.New[state]("t").Start(gotoNode("a", "nope")), graph.Config{}, "a", []string{"Add the node"},
			"",
			`Node "nope" not found in graph`},
		"border": {graph.New[state]("t").Parallel(graph.ParallelConfig[state]{Branches: []string{"a"}}).Node(
			gotoNode("a", "z")).Node(nothing("z")), graph.Config{}, "a",
			[]string{"Change the goto to"}, "", `goto from "a" to "z"`},
		"condition": {graph.New[state]("t").Start(nothing("a")).If(func(graph.View[state]) bool {
			panic("oops")
		}).EndIf(), graph.Config{}, "decision_1", []string{"Fix the condition"}, "",
			`function "decision_1/if" panicked`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := compiled(t, tc.graph, tc.config)
			w := newWorld(t, g)
			w.begin(state{})
			got, failed := w.report()
			if got == nil || failed == nil {
				t.Fatalf("no report, or no failure\n%s", w.Log())
			}
			last := w.Events[len(w.Events)-1]
			made := g.Running().DebugReport("run1", program.Failure{Code: failed.Error.Code,
				Message: failed.Error.Message, Node: failed.Error.Node, Stack: failed.Error.Stack}, last.At)
			if d := cmp.Diff(got, made); d != "" {
				t.Errorf("signal - function +\n%s", d)
			}
			if !strings.HasPrefix(got.ErrorSummary, tc.summary) || got.NodeID != tc.node || got.ExecutionID != "run1" ||
				!got.GeneratedAt.Equal(last.At) {
				t.Errorf("report %+v", got)
			}
			if len(got.RelevantFiles) != 1 || !strings.HasPrefix(got.RelevantFiles[0], "debug_test.go:") {
				t.Errorf("files %q", got.RelevantFiles)
			}
			if !strings.Contains(got.StackTrace, tc.stack) || (got.StackTrace != "") != (tc.stack != "") ||
				strings.Contains(failed.Error.Message, "goroutine") {
				t.Errorf("stack %q", got.StackTrace)
			}
			if got.SuggestedFixes == nil || len(got.SuggestedFixes) != len(tc.fixes) {
				t.Fatalf("fixes %q", got.SuggestedFixes)
			}
			for i, fix := range got.SuggestedFixes {
				if !strings.HasPrefix(fix, tc.fixes[i]) {
					t.Errorf("fix %q, want %q", fix, tc.fixes[i])
				}
			}
		})
	}
}

// TestDebugReport_OtherEndings checks that exceeding the time limit of the run is a failure like
// any other, that runs that end otherwise raise no report, and that a node may raise the signal
// itself and continue (S2-59).
func TestDebugReport_OtherEndings(t *testing.T) {
	t.Parallel()
	w := newWorld(t, compiled(t, graph.New[state]("t").Start(note("a")), graph.Config{Timeout: time.Second}))
	w.StartWith(event.RunCreated{})
	w.Fire("timeout")
	w.Go(nil)
	if got, _ := w.report(); got == nil || got.ErrorSummary != "Graph execution timed out after 1000ms" ||
		!strings.HasPrefix(got.SuggestedFixes[0], "Raise Config.Timeout") || len(got.RelevantFiles) != 0 {
		t.Errorf("report %+v", got)
	}
	own := graph.NewNode("a", graph.TypeTool,
		func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
			return graph.Result[state]{
				Signals: []graph.Signal{{Type: graph.SignalDebugReport, Data: map[string]any{"errorSummary": "mine"}}},
			}, nil
		})
	w = run(t, graph.New[state]("t").Start(own).Then(nothing("z")), state{})
	w.want("a, z", "completed")
	if s := w.raised(false); len(s) != 1 || string(s[0].Data["errorSummary"]) != `"mine"` {
		t.Errorf("signals %+v", s)
	}
	if got, _ := w.report(); got != nil {
		t.Errorf("report of a completed run: %+v", got)
	}
}

// TestStackIsBounded checks that the size of a stack is limited, and that it is never part of the
// error (S2-59).
func TestStackIsBounded(t *testing.T) {
	t.Parallel()
	var deep func(n int) int
	deep = func(n int) int {
		if n == 0 {
			panic(errors.New("deep"))
		}
		return deep(n-1) + 1
	}
	w := run(t, graph.New[state]("t").Start(graph.Do("a", func(_ context.Context, s *state) error {
		s.N = deep(500)
		return nil
	}, graph.NodeOptions{Retry: once()})), state{})
	_, failed := w.report()
	if failed == nil || failed.Error.Message != `node "a" panicked: deep` || len(failed.Error.Stack) > 4096 ||
		len(failed.Error.Stack) < 3000 {
		t.Errorf("failure %+v", failed)
	}
}
