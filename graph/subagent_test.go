package graph_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/graphtest"
)

// TestSubagentNode checks the fields of a subagent node, and that as a first call it is the start
// (S2-0, S2-3, S2-79).
func TestSubagentNode(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		node   graph.SubagentConfig[state]
		config graph.Config
		want   graph.SpawnOptions
	}{
		"least": {
			node: graph.SubagentConfig[state]{Task: "work"},
			want: graph.SpawnOptions{Task: "work"},
		},
		"all": {
			node: graph.SubagentConfig[state]{
				Task: "work", SystemPrompt: "be", Model: "p/own", Tools: []string{"x"},
				Options: graph.NodeOptions{Model: "p/node"},
			},
			config: graph.Config{DefaultModel: "p/graph"},
			want:   graph.SpawnOptions{Task: "work", SystemPrompt: "be", Model: "p/own", Tools: []string{"x"}},
		},
		"of state": {
			node: graph.SubagentConfig[state]{
				Task: "work", TaskFunc: func(v graph.View[state]) string { return "do " + v.State.Text },
				SystemPrompt: "be", SystemPromptFunc: func(v graph.View[state]) string {
					return "know " + v.State.Text
				},
			},
			want: graph.SpawnOptions{Task: "do it", SystemPrompt: "know it"},
		},
		"model of the node": {
			node: graph.SubagentConfig[state]{Task: "work", Model: "inherit",
				Options: graph.NodeOptions{Model: "p/node"}},
			config: graph.Config{DefaultModel: "p/graph"},
			want:   graph.SpawnOptions{Task: "work", Model: "p/node"},
		},
		"model of the graph": {
			node:   graph.SubagentConfig[state]{Task: "work"},
			config: graph.Config{DefaultModel: "p/graph"},
			want:   graph.SpawnOptions{Task: "work", Model: "p/graph"},
		},
		"no tools at all": {
			node: graph.SubagentConfig[state]{Task: "work", Tools: []string{}},
			want: graph.SpawnOptions{Task: "work", Tools: []string{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bridge := &graphtest.Team{Names: []string{"coder"}}
			tc.node.ID, tc.node.Agent = "s", "coder"
			b := graph.New[state]("g").Subagent(tc.node)
			offering(t, bridge.Runtime(), b, state{Text: "it"}, tc.config).want("s", "completed")
			if m := compiled(t, b, tc.config).Running().Model("s", nil); m != tc.want.Model {
				t.Errorf("the node is shown with model %q, want %q", m, tc.want.Model)
			}
			tc.want.AgentID, tc.want.AgentName = "s-run1", "coder"
			if d := cmp.Diff(bridge.Spawned(), []graph.SpawnOptions{tc.want},
				cmpopts.IgnoreFields(graph.SpawnOptions{}, "Key")); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
	g := compiled(t, graph.New[state]("g").
		Subagent(graph.SubagentConfig[state]{ID: "s", Agent: "coder", Task: "work"}).
		Subagent(graph.SubagentConfig[state]{ID: "named", Agent: "coder", Task: "work",
			Options: graph.NodeOptions{Name: "N", Description: "D"}}))
	if n, _ := compat.Node(g, "s"); g.Start() != "s" || n.Type != graph.TypeAgent || n.Name != "coder" {
		t.Errorf("start %q, node %+v", g.Start(), n)
	}
	if n, _ := compat.Node(g, "named"); n.Name != "N" || n.Description != "D" ||
		g.Workflow().Node("named").Retry.MaxRetries != 2 {
		t.Errorf("node %+v", n)
	}
}

// TestSubagentNodeOutput checks that the result is stored in the outputs as a string, or wherever
// Output writes it (S2-0).
func TestSubagentNodeOutput(t *testing.T) {
	t.Parallel()
	bridge := &graphtest.Team{Names: []string{"coder"}}
	node := graph.SubagentConfig[state]{ID: "s", Agent: "coder", Task: "work"}
	if got := outputOf(t, bridge.Runtime(), node, "s"); got != `"did work"` {
		t.Errorf("outputs: %s", got)
	}
	node.Output = func(s *state, r graph.SubagentResult) error {
		s.Text = r.AgentID + " " + r.Output
		return nil
	}
	if got := outputOf(t, bridge.Runtime(), node, "s"); got != "none" {
		t.Errorf("outputs beside Output: %s", got)
	}
	w := offering(t, bridge.Runtime(), graph.New[state]("g").Subagent(node), state{})
	if w.want("s", "completed"); w.state().Text != "s-run1 did work" {
		t.Errorf("state %+v", w.state())
	}
}

// TestSubagentNodeFailures checks the messages of failures, and that missing parts are named
// (S2-54, S2-71).
func TestSubagentNodeFailures(t *testing.T) {
	t.Parallel()
	gives := func(r graph.SubagentResult, err error) *graphtest.Team {
		return &graphtest.Team{Names: []string{"x"},
			Result: func(int, graph.SpawnOptions) (graph.SubagentResult, error) { return r, err }}
	}
	ok := &graphtest.Team{Names: []string{"x"}}
	for name, tc := range map[string]struct {
		runtime graph.Runtime
		output  func(*state, graph.SubagentResult) error
		want    string
	}{
		"no bridge": {runtime: graph.Runtime{Registry: ok},
			want: `sub-agent node "s" needs a sub-agent bridge: Runtime.Subagents is not set`},
		"no registry": {runtime: graph.Runtime{Subagents: ok},
			want: `sub-agent node "s" needs a sub-agent registry: Runtime.Registry is not set`},
		"unknown": {runtime: (&graphtest.Team{Names: []string{"a", "b"}}).Runtime(),
			want: `Sub-agent "x" not found in registry. Available agents: a, b`},
		"none known": {runtime: (&graphtest.Team{}).Runtime(),
			want: `Sub-agent "x" not found in registry. Available agents: none`},
		"failed": {runtime: gives(graph.SubagentResult{Error: "too hard"}, nil).Runtime(),
			want: `Sub-agent "x" failed: too hard`},
		"no reason": {runtime: gives(graph.SubagentResult{}, nil).Runtime(),
			want: `Sub-agent "x" failed: unknown error`},
		"not run": {runtime: gives(graph.SubagentResult{}, errAgent).Runtime(),
			want: `Sub-agent "x" failed: the agent broke`},
		"output": {runtime: ok.Runtime(), output: func(*state, graph.SubagentResult) error { return errBroken },
			want: "it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := graph.SubagentConfig[state]{ID: "s", Agent: "x", Task: "work", Output: tc.output,
				Options: graph.NodeOptions{Retry: once()}}
			offering(t, tc.runtime, graph.New[state]("g").Subagent(node), state{}).want("s", tc.want)
		})
	}
}

// TestSubagentAttempts checks that attempts after the first have a suffix and say what failed.
// Executions of one node in a loop share the agent id, as the document specifies, but not the key;
// attempts do not share the key either (S2-58, S2-79).
func TestSubagentAttempts(t *testing.T) {
	t.Parallel()
	bridge := &graphtest.Team{Names: []string{"coder"},
		Result: func(n int, o graph.SpawnOptions) (graph.SubagentResult, error) {
			return graph.SubagentResult{Success: n != 1, Error: "too hard", Output: o.Task}, nil
		}}
	body := graph.SubagentConfig[state]{ID: "s", Agent: "coder", Task: "work",
		Output: func(s *state, _ graph.SubagentResult) error {
			s.N++
			return nil
		}}
	b := graph.New[state]("g").Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool {
		return v.State.N == 2
	}}, body)
	offering(t, bridge.Runtime(), b, state{}).want("loop_start_1, s, loop_check_2, s, loop_check_2", "completed")
	var ids, tasks []string
	keys := map[string]bool{}
	for _, o := range bridge.Spawned() {
		ids, tasks = append(ids, o.AgentID), append(tasks, o.Task)
		keys[o.Key] = true
	}
	if d := cmp.Diff(ids, []string{"s-run1", "s-run1-2", "s-run1"}); d != "" {
		t.Errorf("agent ids: got - want +\n%s", d)
	}
	if d := cmp.Diff(tasks, []string{"work",
		"work\n\nThe previous attempt failed: Sub-agent \"coder\" failed: too hard", "work"}); d != "" {
		t.Errorf("tasks: got - want +\n%s", d)
	}
	if len(keys) != 3 || keys[""] {
		t.Errorf("keys %v", keys)
	}
}

// TestParallelSubagentNode checks parallel subagents: ids by index, keys in order, failures passed
// to Output as data (S2-54, S2-79).
func TestParallelSubagentNode(t *testing.T) {
	t.Parallel()
	bridge := &graphtest.Team{Result: func(_ int, o graph.SpawnOptions) (graph.SubagentResult, error) {
		if o.AgentName == "tester" {
			return graph.SubagentResult{AgentID: o.AgentID, Error: "red"}, nil
		}
		return graph.SubagentResult{AgentID: o.AgentID, Success: true, Output: o.Task}, nil
	}}
	var got []graph.AgentResult
	node := graph.ParallelSubagentConfig[state]{ID: "p", Agents: []graph.ParallelAgent[state]{
		{Agent: "coder", Task: "one", Model: "p/own", Tools: []string{"x"}, SystemPrompt: "be"},
		{Agent: "tester", TaskFunc: func(v graph.View[state]) string { return "test " + v.State.Text },
			SystemPromptFunc: func(v graph.View[state]) string { return "know " + v.State.Text }},
		{Agent: "coder", Task: "two"},
	}, Output: func(s *state, results []graph.AgentResult) error {
		got = results
		s.N = len(results)
		return nil
	}, Options: graph.NodeOptions{Model: "p/node"}}
	w := offering(t, graph.Runtime{Subagents: bridge}, graph.New[state]("g").Start(node), state{Text: "it"})
	if w.want("p", "completed"); w.state().N != 3 {
		t.Errorf("state %+v", w.state())
	}
	wantSpawned := []graph.SpawnOptions{
		{AgentID: "p-0-run1", AgentName: "coder", Task: "one", Model: "p/own", Tools: []string{"x"},
			SystemPrompt: "be"},
		{AgentID: "p-1-run1", AgentName: "tester", Task: "test it", Model: "p/node", SystemPrompt: "know it"},
		{AgentID: "p-2-run1", AgentName: "coder", Task: "two", Model: "p/node"},
	}
	if d := cmp.Diff(bridge.Spawned(), wantSpawned, cmpopts.IgnoreFields(graph.SpawnOptions{}, "Key")); d != "" {
		t.Errorf("spawned: got - want +\n%s", d)
	}
	keys := map[string]bool{}
	for _, o := range bridge.Spawned() {
		keys[o.Key] = true
	}
	if len(keys) != 3 {
		t.Errorf("keys %v", keys)
	}
	want := []graph.AgentResult{
		{Key: "coder-0", SubagentResult: graph.SubagentResult{AgentID: "p-0-run1", Success: true, Output: "one"}},
		{Key: "tester-1", SubagentResult: graph.SubagentResult{AgentID: "p-1-run1", Error: "red"}},
		{Key: "coder-2", SubagentResult: graph.SubagentResult{AgentID: "p-2-run1", Success: true, Output: "two"}},
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("results: got - want +\n%s", d)
	}
	if n, _ := compat.Node(compiled(t, graph.New[state]("g").Start(node)), "p"); n.Type != graph.TypeParallel ||
		n.Name != "" {
		t.Errorf("node %+v", n)
	}
}

// TestParallelSubagentFailures checks that errors from a bridge fail the node (S2-71), and that the
// next attempt has its own ids (S2-79) and says why.
func TestParallelSubagentFailures(t *testing.T) {
	t.Parallel()
	node := func(output func(*state, []graph.AgentResult) error, most int) graph.Node[state] {
		return graph.ParallelSubagentConfig[state]{
			ID: "p", Agents: []graph.ParallelAgent[state]{{Agent: "a", Task: "work"}, {Agent: "b", Task: "rest"}},
			Output: output, Options: fast(most),
		}
	}
	fine := func(*state, []graph.AgentResult) error { return nil }
	for name, tc := range map[string]struct {
		runtime graph.Runtime
		output  func(*state, []graph.AgentResult) error
		want    string
	}{
		"no bridge": {output: fine,
			want: `parallel sub-agent node "p" needs a sub-agent bridge: Runtime.Subagents is not set`},
		"not run": {
			runtime: graph.Runtime{Subagents: &graphtest.Team{
				Together: func(context.Context, []graph.SpawnOptions) ([]graph.SubagentResult, error) {
					return nil, errAgent
				}}}, output: fine, want: "spawn parallel sub-agents: the agent broke"},
		"too few": {
			runtime: graph.Runtime{Subagents: &graphtest.Team{
				Together: func(context.Context, []graph.SpawnOptions) ([]graph.SubagentResult, error) {
					return make([]graph.SubagentResult, 1), nil
				}}}, output: fine, want: "spawn parallel sub-agents: the bridge gave 1 results for 2 agents"},
		"output": {runtime: graph.Runtime{Subagents: &graphtest.Team{}},
			output: func(*state, []graph.AgentResult) error { return errBroken }, want: "it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			offering(t, tc.runtime, graph.New[state]("g").Start(node(tc.output, 1)), state{}).want("p", tc.want)
		})
	}
	bridge := &graphtest.Team{}
	offering(t, graph.Runtime{Subagents: bridge},
		graph.New[state]("g").Start(node(func(*state, []graph.AgentResult) error {
			if len(bridge.Spawned()) == 2 {
				return errors.New("no agreement")
			}
			return nil
		}, 2)), state{}).want("p", "completed")
	if o := bridge.Spawned()[3]; o.AgentID != "p-1-run1-2" ||
		o.Task != "rest\n\nThe previous attempt failed: no agreement" {
		t.Errorf("second attempt: %+v", o)
	}
}

// TestSubagentMisuse checks that Compile reports invalid subagent nodes (S2-1).
func TestSubagentMisuse(t *testing.T) {
	t.Parallel()
	agents := []graph.ParallelAgent[state]{{Agent: "a", Task: "work"}}
	output := func(*state, []graph.AgentResult) error { return nil }
	for want, node := range map[string]graph.Node[state]{
		`Sub-agent node "x" requires the name of ` +
			`an agent`: graph.SubagentConfig[state]{ID: "x", Task: "work"},
		`Sub-agent node "x" requires a task`: graph.SubagentConfig[state]{ID: "x", Agent: "a"},
		`Parallel sub-agent node "x" requires an Output ` +
			`function`: graph.ParallelSubagentConfig[state]{ID: "x", Agents: agents},
		`Parallel sub-agent node "x" requires at least ` +
			`one agent`: graph.ParallelSubagentConfig[state]{ID: "x", Output: output},
		`Parallel sub-agent node "x": agent 2 ` +
			`requires a task`: graph.ParallelSubagentConfig[state]{ID: "x", Output: output,
			Agents: append(agents[:1:1], graph.ParallelAgent[state]{Agent: "b"})},
		`Parallel sub-agent node "x": agent 1 requires the name of ` +
			`an agent`: graph.ParallelSubagentConfig[state]{ID: "x", Output: output,
			Agents: make([]graph.ParallelAgent[state], 2)},
		`Context monitor node "x" has the unknown ` +
			`action "dance"`: graph.ContextMonitorConfig[state]{ID: "x", Action: "dance"},
		`Context monitor node "x": the threshold is 101; it must be between ` +
			`0 and 100`: graph.ContextMonitorConfig[state]{ID: "x", Threshold: 101},
		`Custom tool node "x" has a ` +
			`negative timeout`: graph.CustomToolConfig[state, int, int]{ID: "x", Timeout: -1},
		`The InputSchema of custom tool node "x" is empty; make it with SchemaOf or ` +
			`SchemaJSON`: graph.CustomToolConfig[state, int, int]{ID: "x", InputSchema: &graph.Schema{}},
	} {
		_, err := graph.New[state]("g").Start(node).Compile()
		if l := problems(t, err); len(l) != 1 || l[0].Message != want || l[0].Span.File != "subagent_test.go" {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestSubagentNode_CopiesLists checks that a compiled graph does not change with the values that it
// was built from (S2-77).
func TestSubagentNode_CopiesLists(t *testing.T) {
	t.Parallel()
	tools := []string{"x"}
	agents := []graph.ParallelAgent[state]{{Agent: "a", Task: "work", Tools: tools}}
	bridge := &graphtest.Team{Names: []string{"a"}}
	g := compiled(t, graph.New[state]("g").
		Subagent(graph.SubagentConfig[state]{ID: "s", Agent: "a", Task: "work", Tools: tools}).
		Then(graph.ParallelSubagentConfig[state]{ID: "p", Agents: agents,
			Output: func(*state, []graph.AgentResult) error { return nil }}),
		graph.Config{Runtime: bridge.Runtime()})
	tools[0], agents[0].Agent = "y", "b"
	w := newWorld(t, g)
	w.begin(state{})
	w.want("s, p", "completed")
	for i, o := range bridge.Spawned() {
		if fmt.Sprintf("%s by %s", o.Tools, o.AgentName) != "[x] by a" {
			t.Errorf("%d: %+v", i, o)
		}
	}
}
