package graph_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// TestSpec_JSONTypes checks that the document's types have its names in JSON, and that optional
// fields are omitted if empty (S2-0).
func TestSpec_JSONTypes(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for name, tc := range map[string]struct {
		value any
		want  string
	}{
		"ContextWindowUsage": {graph.ContextWindowUsage{InputTokens: 1, OutputTokens: 2, MaxTokens: 3,
			UsagePercentage: 4.5}, `{"inputTokens":1,"outputTokens":2,"maxTokens":3,"usagePercentage":4.5}`},
		"SignalData": {graph.Signal{Type: graph.SignalCheckpoint, Message: "m",
			Data: map[string]any{"label": "x"}}, `{"type":"checkpoint","message":"m","data":{"label":"x"}}`},
		"SignalData, type alone": {graph.Signal{Type: graph.SignalCheckpoint}, `{"type":"checkpoint"}`},
		"ExecutionError": {graph.ExecutionError{NodeID: "a", Message: "e", Timestamp: at, Attempt: 2},
			`{"nodeId":"a","error":"e","timestamp":"2026-01-02T03:04:05Z","attempt":2}`},
		"ErrorFeedback": {graph.ErrorFeedback{FailedNodeID: "a", ErrorMessage: "m", ErrorType: "func", Attempt: 1,
			MaxAttempts: 3, PreviousOutput: json.RawMessage(`7`)},
			`{"failedNodeId":"a","errorMessage":"m","errorType":"func","attempt":1,"maxAttempts":3,` +
				`"previousOutput":7}`},
		"ErrorFeedback, no output": {graph.ErrorFeedback{FailedNodeID: "a"},
			`{"failedNodeId":"a","errorMessage":"","errorType":"","attempt":0,"maxAttempts":0}`},
		"DebugReport": {graph.DebugReport{ErrorSummary: "e", StackTrace: "s", RelevantFiles: []string{"f"},
			SuggestedFixes: []string{"x"}, GeneratedAt: at, NodeID: "a", ExecutionID: "r"},
			`{"errorSummary":"e","stackTrace":"s","relevantFiles":["f"],"suggestedFixes":["x"],` +
				`"generatedAt":"2026-01-02T03:04:05Z","nodeId":"a","executionId":"r"}`},
		"DebugReport, required alone": {graph.DebugReport{ErrorSummary: "e", RelevantFiles: []string{},
			SuggestedFixes: []string{}, GeneratedAt: at},
			`{"errorSummary":"e","relevantFiles":[],"suggestedFixes":[],"generatedAt":"2026-01-02T03:04:05Z"}`},
		"BaseState": {graph.BaseState{ExecutionID: "r", LastUpdated: at,
			Outputs: map[string]json.RawMessage{"a": json.RawMessage("1")}},
			`{"executionId":"r","lastUpdated":"2026-01-02T03:04:05Z","outputs":{"a":1}}`},
		"BaseState, waiting": {graph.BaseState{Outputs: map[string]json.RawMessage{}, WaitingForInput: true,
			WaitNodeID: "w", AskUserRequestID: "r/w1"},
			`{"executionId":"","lastUpdated":"0001-01-01T00:00:00Z","outputs":{},"__waitingForInput":true,` +
				`"__waitNodeId":"w","__askUserRequestId":"r/w1"}`},
		"AskUserOption": {graph.Choice{Label: "yes", Description: "d"},
			`{"label":"yes","description":"d"}`},
		"AskUserOption, no description": {graph.Choice{Label: "yes"}, `{"label":"yes"}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			raw, err := json.Marshal(tc.value)
			if err != nil || string(raw) != tc.want {
				t.Errorf("%v\ngot  %s\nwant %s", err, raw, tc.want)
			}
		})
	}
}

// TestSpec_Constants checks the words and the numbers of the document (S2-0, S2-55, S2-60).
func TestSpec_Constants(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"agent", "tool", "decision", "wait", "ask_user", "subgraph", "parallel"} {
		if !compat.IsNodeType(s) {
			t.Errorf("%s is no node type", s)
		}
	}
	for _, s := range []string{"context_window_warning", "checkpoint", "human_input_required",
		"debug_report_generated"} {
		if !compat.IsSignal(s) {
			t.Errorf("%s is no signal", s)
		}
	}
	for _, s := range []string{"", "Agent", "ask-user", "loop", "running"} {
		if compat.IsNodeType(s) || compat.IsSignal(s) {
			t.Errorf("%q was taken", s)
		}
	}
	retry := graph.Retry{MaxAttempts: 3, Backoff: time.Second, Multiplier: 2}
	if d := cmp.Diff(compat.DefaultRetry(), retry); d != "" {
		t.Errorf("default retry: got - want +\n%s", d)
	}
	if d := cmp.Diff(compat.AgentNodeRetry(), retry); d != "" {
		t.Errorf("retry of agents: got - want +\n%s", d)
	}
	for name, tc := range map[string][2]float64{
		"BACKGROUND_COMPACTION_THRESHOLD": {compat.BackgroundCompactionThreshold, 0.45},
		"BUFFER_EXHAUSTION_THRESHOLD":     {compat.BufferExhaustionThreshold, 0.6},
		"maxConcurrency":                  {compat.DefaultMaxConcurrency, 1},
		"contextWindowThreshold":          {compat.DefaultContextWindowThreshold, 45},
		"percent = fraction × 100": {compat.DefaultContextWindowThreshold,
			100 * compat.BackgroundCompactionThreshold},
		"maxAttempts":       {float64(compat.DefaultRetry().MaxAttempts), 3},
		"backoffMs":         {float64(compat.DefaultRetry().Backoff.Milliseconds()), 1000},
		"backoffMultiplier": {compat.DefaultRetry().Multiplier, 2},
	} {
		if tc[0] != tc[1] {
			t.Errorf("%s is %v, want %v", name, tc[0], tc[1])
		}
	}
	if !compat.DefaultAutoCheckpoint {
		t.Error("autoCheckpoint is off")
	}
}

// TestNodeKinds checks type, name, description and retry of every kind of node, by default and when
// set (S2-0).
func TestNodeKinds(t *testing.T) {
	t.Parallel()
	inner := compiled(t, graph.New[state]("in").Start(nothing("i")))
	execute := func(context.Context, int) (int, error) { return 0, nil }
	call := func(context.Context, *graph.Context[state]) (graph.Result[state], error) {
		return graph.Result[state]{}, nil
	}
	agents := []graph.ParallelAgent[state]{{}}
	agents[0].Agent, agents[0].Task = "coder", "t"
	settle := func(*state, []graph.AgentResult) error { return nil }
	type options = graph.NodeOptions
	type maker = func(options) graph.Node[state]
	for name, tc := range map[string]struct {
		node  maker
		typ   graph.NodeType
		title string // default name
		retry bool   // the document's retry is the default
	}{
		"agent": {func(o options) graph.Node[state] {
			return graph.AgentConfig[state]{ID: "n", AgentType: "claude", Options: o}
		}, graph.TypeAgent, "claude agent", true},
		"tool": {func(o options) graph.Node[state] {
			return graph.ToolConfig[state, int, int]{ID: "n", Execute: execute, Options: o}
		}, graph.TypeTool, "", true},
		"tool with a name": {func(o options) graph.Node[state] {
			return graph.ToolConfig[state, int, int]{ID: "n", ToolName: "hammer", Execute: execute, Options: o}
		}, graph.TypeTool, "hammer", true},
		"clear context": {func(o options) graph.Node[state] {
			return graph.ClearContextConfig[state]{ID: "n", Options: o}
		}, graph.TypeTool, "clear-context", true},
		"decision": {func(o options) graph.Node[state] { return graph.DecisionNode[state]("n", nil, "z", o) },
			graph.TypeDecision, "", false},
		"wait": {func(o options) graph.Node[state] { return graph.WaitConfig[state]{ID: "n", Options: o} },
			graph.TypeWait, "", false},
		"ask user": {func(o options) graph.Node[state] { return graph.AskUserConfig[state]{ID: "n", Options: o} },
			graph.TypeAskUser, "", false},
		"parallel": {func(o options) graph.Node[state] {
			return graph.ParallelConfig[state]{ID: "n", Branches: []string{"br"}, Options: o}
		}, graph.TypeParallel, "", false},
		"subgraph": {func(o options) graph.Node[state] {
			return graph.SubgraphConfig[state, state]{ID: "n", Graph: inner, Options: o}
		}, graph.TypeSubgraph, "", false},
		"context monitor": {func(o options) graph.Node[state] {
			return graph.ContextMonitorConfig[state]{ID: "n", AgentType: "claude", Options: o}
		}, graph.TypeTool, "context-monitor", true},
		"custom tool": {func(o options) graph.Node[state] {
			return graph.CustomToolConfig[state, int, int]{ID: "n", ToolName: "saw", Options: o}
		}, graph.TypeTool, "saw", true},
		"subagent": {func(o options) graph.Node[state] {
			return graph.SubagentConfig[state]{ID: "n", Agent: "coder", Task: "t", Options: o}
		}, graph.TypeAgent, "coder", true},
		"parallel subagent": {func(o options) graph.Node[state] {
			return graph.ParallelSubagentConfig[state]{ID: "n", Agents: agents, Output: settle, Options: o}
		}, graph.TypeParallel, "", true},
		"own function": {func(o options) graph.Node[state] { return graph.NewNode("n", graph.TypeAskUser, call, o) },
			graph.TypeAskUser, "", true},
		"do": {func(o options) graph.Node[state] {
			return graph.Do("n", func(context.Context, *state) error { return nil }, o)
		}, graph.TypeTool, "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			build := func(o options) (graph.NodeInfo, *workflow.Node) {
				t.Helper()
				b := graph.New[state]("t").Start(tc.node(o)).Then(nothing("z"))
				if name == "parallel" {
					b.Node(nothing("br"))
				}
				g := compiled(t, b)
				info, ok := compat.Node(g, "n")
				if !ok {
					t.Fatal("the node is not there")
				}
				return info, g.Workflow().Node("n")
			}
			info, n := build(options{})
			if d := cmp.Diff(info, graph.NodeInfo{ID: "n", Type: tc.typ, Name: tc.title}); d != "" {
				t.Errorf("by default: got - want +\n%s", d)
			}
			var retry *workflow.Retry
			if tc.retry {
				retry = &workflow.Retry{MaxRetries: 2, Delay: workflow.Duration(time.Second), Multiplier: 2}
			}
			// agents have their own predicate
			if d := cmp.Diff(n.Retry, retry, cmpopts.IgnoreFields(workflow.Retry{}, "Func")); d != "" {
				t.Errorf("retry by default: got - want +\n%s", d)
			}
			if _, same := build(options{Retry: compat.DefaultRetry()}); tc.retry {
				if d := cmp.Diff(n.Retry, same.Retry); d != "" {
					t.Errorf("compat.DefaultRetry is not what the zero Retry is: got - want +\n%s", d)
				}
			}
			info, n = build(options{
				Name: "N", Description: "D", Recovery: true, Retry: graph.Retry{MaxAttempts: 5, Backoff: time.Minute,
					Multiplier: 3, RetryOn: func(error) bool { return true }},
				OnError: graph.OnError(func(error, *graph.Context[state]) graph.ErrorAction[state] {
					return graph.ErrorAction[state]{}
				}),
			})
			if d := cmp.Diff(info, graph.NodeInfo{ID: "n", Type: tc.typ, Name: "N", Description: "D",
				Recovery: true}); d != "" {
				t.Errorf("as given: got - want +\n%s", d)
			}
			retry = &workflow.Retry{MaxRetries: 4, Delay: workflow.Duration(time.Minute), Multiplier: 3,
				Func: "n/retry"}
			if d := cmp.Diff(n.Retry, retry); d != "" || n.OnError != "n/error" || !n.Recovery {
				t.Errorf("%+v; retry as given: got - want +\n%s", n, d)
			}
		})
	}
}

// TestFieldsOfContext checks what a node sees, field by field (S2-0).
func TestFieldsOfContext(t *testing.T) {
	t.Parallel()
	var seen graph.Context[state]
	look := graph.NewNode("n", graph.TypeTool,
		func(ctx context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			if c.Attempt == 1 {
				return graph.Result[state]{}, errBroken
			}
			if v, ok := c.Output("g"); !ok || string(v) != `"given"` {
				t.Errorf("output %s", v)
			}
			if _, ok := c.Output("missing"); ok || ctx == nil {
				t.Error("an output that is not there")
			}
			seen = *c
			return graph.Result[state]{}, nil
		}, graph.NodeOptions{Model: "own"})
	w := run(t, graph.New[state]("t").Start(fixedOutput("g", "given")).Then(fills("f", 60)).Then(look), state{N: 3},
		graph.Config{
			ContextWindowThreshold: 70, DefaultModel: "all", Metadata: map[string]any{"team": "x"},
		})
	w.want("g, f, n", "completed")
	switch {
	case seen.State.N != 3, seen.ExecutionID != "run1", seen.NodeID != "n", seen.Attempt != 2, seen.Key != "run1/3.0.1":
		t.Errorf("context %+v", seen)
	case len(seen.Errors) != 1 || seen.Errors[0].NodeID != "n" || seen.Errors[0].Attempt != 1 ||
		seen.Errors[0].Message != "it is broken":
		t.Errorf("errors %+v", seen.Errors)
	case seen.Feedback == nil || seen.Feedback.Attempt != 1 || seen.Feedback.MaxAttempts != 3:
		t.Errorf("feedback %+v", seen.Feedback)
	case seen.Model != "own", seen.ContextWindowUsage == nil || seen.ContextWindowUsage.UsagePercentage != 60,
		seen.ContextWindowThreshold != 70:
		t.Errorf("context %+v", seen)
	case seen.Config.Metadata["team"] != "x" || seen.Config.DefaultModel != "all", seen.LastUpdated.IsZero():
		t.Errorf("context %+v", seen)
	}
}

// TestFieldsOfConfig checks the settings that a graph is compiled with, by default and when set
// (S2-0).
func TestFieldsOfConfig(t *testing.T) {
	t.Parallel()
	b := graph.New[state]("t").Start(nothing("a"))
	w := compiled(t, b).Workflow()
	if d := cmp.Diff(w.Limits, workflow.Limits{}); d != "" || !w.Rules.Serial || !w.Rules.InputIsState ||
		w.Limits.Steps() != 1000 {
		t.Errorf("by default %+v; got - want +\n%s", w.Rules, d)
	}
	w = compiled(t, b, graph.Config{
		Version: "2", Description: "d", MaxConcurrency: 3, MaxSteps: 7, Timeout: time.Minute,
		Reducers: map[string]graph.Reducer{"n": graph.Sum()},
	}).Workflow()
	if d := cmp.Diff(w.Limits, workflow.Limits{MaxConcurrency: 3, MaxSteps: new(7),
		Timeout: workflow.Duration(time.Minute)}); d != "" {
		t.Errorf("limits: got - want +\n%s", d)
	}
	if w.Rules.Serial || w.Rules.Reducers["n"] != "sum" || w.Version != "2" || w.Description != "d" || w.Name != "t" {
		t.Errorf("as given %+v", w)
	}
}

// TestReviewCycle checks the review cycle of the document: executor, reviewer, fixer; the fixer
// also runs in the iteration that approved (S2-56).
func TestReviewCycle(t *testing.T) {
	t.Parallel()
	step := func(id string) graph.Node[state] {
		return changes(id, func(s *state) {
			if s.Log = append(s.Log, id); id == "reviewer" {
				s.N++
			}
		})
	}
	w := run(t, graph.New[state]("t").Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool {
		return v.State.N == 2
	}}, step("executor"), step("reviewer"), step("fixer")), state{})
	w.want("loop_start_1, executor, reviewer, fixer, loop_check_2, executor, reviewer, fixer, loop_check_2",
		"completed")
	if got := w.Run.Status(); got != event.StatusCompleted || len(w.state().Log) != 6 {
		t.Errorf("%s, %+v", got, w.state())
	}
}
