package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/graphtest"
	"github.com/hocket-run/hocket/workflow"
)

// signals returns the signals that the nodes of a run raised.
func (w *world) signals() []event.SignalRaised {
	var out []event.SignalRaised
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.SignalRaised); ok && e.Step > 0 {
			out = append(out, *d)
		}
	}
	return out
}

// outputOf returns the entry of a node in the outputs, as a later node sees it.
func outputOf(t *testing.T, services graph.Runtime, n graph.Node[state], id string) string {
	t.Helper()
	var got string
	b := graph.New[state]("g").Start(n).Then(graph.NewNode("see", graph.TypeTool,
		func(_ context.Context, c *graph.Context[state]) (graph.Result[state], error) {
			v, ok := c.Output(id)
			if got = string(v); !ok {
				got = "none"
			}
			return graph.Result[state]{}, nil
		}))
	offering(t, services, b, state{}).want(id+", see", "completed")
	return got
}

// TestAgentNodeDefaults checks the defaults of an agent node (S2-0, S2-68).
func TestAgentNodeDefaults(t *testing.T) {
	t.Parallel()
	g := compiled(t, graph.New[state]("g").
		Start(graph.AgentConfig[state]{ID: "a", AgentType: "claude"}).
		Then(graph.AgentConfig[state]{ID: "b", AgentType: "claude", Options: graph.NodeOptions{
			Name: "Reviewer", Description: "reads", Retry: graph.Retry{MaxAttempts: 5, Backoff: time.Minute,
				Multiplier: 3},
		}}))
	if n, _ := compat.Node(g, "a"); n.Type != graph.TypeAgent || n.Name != "claude agent" {
		t.Errorf("node %+v", n)
	}
	if n, _ := compat.Node(g, "b"); n.Name != "Reviewer" || n.Description != "reads" {
		t.Errorf("node %+v", n)
	}
	for id, want := range map[string]workflow.Retry{
		"a": {MaxRetries: 2, Delay: workflow.Duration(time.Second), Multiplier: 2, Func: "a/retry"},
		"b": {MaxRetries: 4, Delay: workflow.Duration(time.Minute), Multiplier: 3, Func: "b/retry"},
	} {
		if d := cmp.Diff(*g.Workflow().Node(id).Retry, want); d != "" {
			t.Errorf("retry of %s: got - want +\n%s", id, d)
		}
	}
	if d := cmp.Diff(compat.AgentNodeRetry(), graph.Retry{MaxAttempts: 3, Backoff: time.Second,
		Multiplier: 2}); d != "" {
		t.Errorf("AgentNodeRetry: got - want +\n%s", d)
	}
	_, err := graph.New[state]("g").Start(graph.AgentConfig[state]{ID: "a"}).Compile()
	if l := problems(t, err); len(l) != 1 || l[0].Message != `Agent node "a" requires an agent type` {
		t.Errorf("no type: %v", err)
	}
}

// TestAgentNodeSession checks how the session is configured: tools and system prompt of the node
// take precedence, and so does the model of the context (S2-68, S2-79).
func TestAgentNodeSession(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		node   graph.AgentConfig[state]
		config graph.Config
		want   graph.SessionConfig
	}{
		"nothing": {want: graph.SessionConfig{Name: "a", Node: "a", Key: "a"}},
		"session alone": {
			node: graph.AgentConfig[state]{Session: graph.SessionConfig{
				Name: "n", Node: "m", Key: "k", Load: "l", Model: "p/s", SystemPrompt: "be", Tools: []string{"x"},
				Dir: "/d", Options: map[string]any{"o": 1},
			}},
			want: graph.SessionConfig{Name: "n", Node: "m", Key: "k", Load: "l", Model: "p/s", SystemPrompt: "be",
				Tools: []string{"x"}, Dir: "/d", Options: map[string]any{"o": 1}},
		},
		"node wins": {
			node: graph.AgentConfig[state]{
				SystemPrompt: "mine", Tools: []string{"y"}, Options: graph.NodeOptions{Model: "p/node"},
				Session: graph.SessionConfig{Model: "p/s", SystemPrompt: "be", Tools: []string{"x"}},
			},
			config: graph.Config{DefaultModel: "p/graph"},
			want: graph.SessionConfig{Name: "a", Node: "a", Key: "a", Model: "p/node", SystemPrompt: "mine",
				Tools: []string{"y"}},
		},
		"no tools at all": {
			node: graph.AgentConfig[state]{Tools: []string{}, Session: graph.SessionConfig{Tools: []string{"x"}}},
			want: graph.SessionConfig{Name: "a", Node: "a", Key: "a", Tools: []string{}},
		},
		"model of the graph": {
			node:   graph.AgentConfig[state]{Session: graph.SessionConfig{Model: "p/s"}},
			config: graph.Config{DefaultModel: "p/graph"},
			want:   graph.SessionConfig{Name: "a", Node: "a", Key: "a", Model: "p/graph"},
		},
		"inherited without a parent": {
			node: graph.AgentConfig[state]{Session: graph.SessionConfig{Model: "inherit"}},
			want: graph.SessionConfig{Name: "a", Node: "a", Key: "a"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &graphtest.Agent{}
			tc.node.ID, tc.node.AgentType = "a", "claude"
			offering(t, agent.Runtime("claude"), graph.New[state]("g").Start(tc.node), state{}, tc.config).want("a",
				"completed")
			if d := cmp.Diff(agent.Configs(), []graph.SessionConfig{tc.want}); d != "" {
				t.Errorf("got - want +\n%s", d)
			}
		})
	}
}

// TestAgentNodeMessages checks that the message is derived from the state, or empty if nothing
// produces one, and that the outputs contain the list of messages unless Output writes it into the
// state (S2-68).
func TestAgentNodeMessages(t *testing.T) {
	t.Parallel()
	said := []graph.AgentMessage{
		{Type: graph.MessageThinking, Role: "assistant", Content: "hm"},
		{Type: graph.MessageToolUse, Role: "assistant", Tool: "ls", ToolCallID: "1",
			Arguments: json.RawMessage(`{"dir":"."}`)},
		{Type: graph.MessageToolResult, Role: "tool", Tool: "ls", ToolCallID: "1", Content: "no", IsError: true},
		{Type: graph.MessageText, Role: "assistant", Content: "done"},
	}
	for name, tc := range map[string]struct {
		message  func(graph.View[state]) string
		answer   []graph.AgentMessage
		wantSent string
		want     string
	}{
		"no message": {nil, graphtest.Hello(), "", `[{"type":"text","role":"assistant","content":"hello"}]`},
		"of state": {func(v graph.View[state]) string { return "to " + v.State.Text }, graphtest.Hello(), "to ",
			`[{"type":"text","role":"assistant","content":"hello"}]`},
		"nothing": {nil, []graph.AgentMessage{}, "", `[]`},
		"all types": {nil, said, "", `[{"type":"thinking","role":"assistant","content":"hm"},` +
			`{"type":"tool_use","role":"assistant","content":"","tool":"ls","toolCallId":"1",` +
			`"arguments":{"dir":"."}},` +
			`{"type":"tool_result","role":"tool","content":"no","tool":"ls","toolCallId":"1","isError":true},` +
			`{"type":"text","role":"assistant","content":"done"}]`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &graphtest.Agent{Answer: func(context.Context, int, string) ([]graph.AgentMessage, error) {
				return tc.answer, nil
			}}
			node := graph.AgentConfig[state]{ID: "a", AgentType: "x", MessageFunc: tc.message}
			if got := outputOf(t, agent.Runtime("x"), node, "a"); got != tc.want {
				t.Errorf("outputs: got %s, want %s", got, tc.want)
			}
			if d := cmp.Diff(agent.Messages(), []string{tc.wantSent}); d != "" {
				t.Errorf("sent: got - want +\n%s", d)
			}
			if d := cmp.Diff(agent.Calls(), []string{"create", "send", "usage", "destroy"}); d != "" {
				t.Errorf("calls: got - want +\n%s", d)
			}
			node.Output = func(s *state, messages []graph.AgentMessage) error {
				if d := cmp.Diff(messages, tc.answer); d != "" {
					t.Errorf("messages: got - want +\n%s", d)
				}
				s.Text = "mapped"
				return nil
			}
			if got := outputOf(t, agent.Runtime("x"), node, "a"); got != "none" {
				t.Errorf("outputs beside Output: %s", got)
			}
			w := offering(t, agent.Runtime("x"), graph.New[state]("g").Start(node), state{})
			if w.want("a", "completed"); w.state().Text != "mapped" {
				t.Errorf("state %+v", w.state())
			}
		})
	}
}

// TestAgentNodeUsage checks that usage at or above the threshold raises the signal, that later
// nodes see it, and that an agent that cannot report usage does not fail the node (S2-68, S2-70).
func TestAgentNodeUsage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		usage     *graph.SessionUsage
		usageErr  error
		threshold float64
		want      *graph.ContextWindowUsage
		warns     bool
	}{
		"below the default":    {usage: full(44), want: new(windowOf(44))},
		"at the default":       {usage: full(45), want: new(windowOf(45)), warns: true},
		"below the graph's":    {usage: full(69), threshold: 70, want: new(windowOf(69))},
		"at the graph's":       {usage: full(70), threshold: 70, want: new(windowOf(70)), warns: true},
		"not told":             {},
		"window not known":     {usage: &graph.SessionUsage{InputTokens: 900}},
		"cannot tell, this is": {usageErr: errAgent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &graphtest.Agent{Usage: tc.usage, UsageErr: tc.usageErr}
			var after graph.Context[state]
			b := graph.New[state]("g").Start(graph.AgentConfig[state]{ID: "a", AgentType: "x"}).Then(
				capturesContext("after", &after))
			w := offering(t, agent.Runtime("x"), b, state{}, graph.Config{ContextWindowThreshold: tc.threshold})
			w.want("a, after", "completed")
			if d := cmp.Diff(after.ContextWindowUsage, tc.want); d != "" {
				t.Errorf("seen: got - want +\n%s", d)
			}
			var want []event.SignalRaised
			if tc.warns {
				raw, err := json.Marshal(tc.want)
				if err != nil {
					t.Fatal(err)
				}
				percent, _ := json.Marshal(tc.want.UsagePercentage)
				want = []event.SignalRaised{{Signal: "context_window_warning", Message: "Context usage at " +
					string(percent) + ".0%", Data: map[string]event.Value{
					"usagePercent": percent, "contextUsage": raw,
				}}}
			}
			if d := cmp.Diff(w.signals(), want); d != "" {
				t.Errorf("signals: got - want +\n%s", d)
			}
		})
	}
}

// TestAgentNodeFailures checks that without a client the node fails and names the missing agent
// type, and that the session is destroyed whatever happens, but only if there is one (S2-68).
func TestAgentNodeFailures(t *testing.T) {
	t.Parallel()
	broken := func(context.Context, int, string) ([]graph.AgentMessage, error) { return graphtest.Hello(), errAgent }
	failing := func(*state, []graph.AgentMessage) error { return errBroken }
	for name, tc := range map[string]struct {
		agent   *graphtest.Agent
		runtime *graph.Runtime
		output  func(*state, []graph.AgentMessage) error
		want    string
		calls   []string
	}{
		"no provider": {runtime: &graph.Runtime{}, want: `No client provider set for agent type "x"`},
		"no such client": {runtime: new((&graphtest.Agent{}).Runtime("y")),
			want: `No client provider set for agent type "x"`},
		"create": {agent: &graphtest.Agent{CreateErr: errAgent},
			want: `create session with agent of type "x": the agent broke`, calls: []string{"create"}},
		"stream": {agent: &graphtest.Agent{Answer: broken}, want: "the agent broke",
			calls: []string{"create", "send", "destroy"}},
		"stream and end": {agent: &graphtest.Agent{Answer: broken, DestroyErr: errBroken}, want: "the agent broke",
			calls: []string{"create", "send", "destroy"}},
		"output": {output: failing, want: "it is broken",
			calls: []string{"create", "send", "usage", "destroy"}},
		"end alone": {agent: &graphtest.Agent{DestroyErr: errAgent}, want: "completed",
			calls: []string{"create", "send", "usage", "destroy"}},
		"panic in output": {output: func(*state, []graph.AgentMessage) error {
			panic("oops")
		}, want: `node "a" panicked: oops`, calls: []string{"create", "send", "usage", "destroy"}},
		"panic in stream": {
			agent: &graphtest.Agent{Answer: func(context.Context, int, string) ([]graph.AgentMessage, error) {
				panic("oops")
			}},
			want: `sub-step "message" panicked: oops`, calls: []string{"create", "send", "destroy"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := tc.agent
			if agent == nil {
				agent = &graphtest.Agent{}
			}
			services := agent.Runtime("x")
			if tc.runtime != nil {
				services = *tc.runtime
			}
			node := graph.AgentConfig[state]{ID: "a", AgentType: "x", Output: tc.output,
				Options: graph.NodeOptions{Retry: once()}}
			offering(t, services, graph.New[state]("g").Start(node), state{}).want("a", tc.want)
			if d := cmp.Diff(agent.Calls(), tc.calls); d != "" {
				t.Errorf("calls: got - want +\n%s", d)
			}
		})
	}
}

// TestAgentNodeFeedback checks that a retried prompt says what failed, be it the agent or the
// processing of its answer, that each attempt has its own session key, and that an agent that
// handles a failure is told about it as well (S2-58).
func TestAgentNodeFeedback(t *testing.T) {
	t.Parallel()
	agent := &graphtest.Agent{Answer: func(_ context.Context, n int, _ string) ([]graph.AgentMessage, error) {
		if n == 1 {
			return nil, errAgent
		}
		return graphtest.Hello(), nil
	}}
	var outputs atomic.Int32
	node := graph.AgentConfig[state]{ID: "a", AgentType: "x", MessageFunc: func(graph.View[state]) string {
		return "Write."
	}, Output: func(*state, []graph.AgentMessage) error {
		if outputs.Add(1) == 1 {
			return errors.New("no title")
		}
		return nil
	}}
	offering(t, agent.Runtime("x"), graph.New[state]("g").Start(node), state{}).want("a", "completed")
	want := []string{"Write.", "Write.\n\nThe previous attempt failed: the agent broke",
		"Write.\n\nThe previous attempt failed: no title"}
	if d := cmp.Diff(agent.Messages(), want); d != "" {
		t.Errorf("sent: got - want +\n%s", d)
	}
	var keys []string
	for _, c := range agent.Configs() {
		keys = append(keys, c.Key)
	}
	if d := cmp.Diff(keys, []string{"a", "a-2", "a-3"}); d != "" {
		t.Errorf("keys: got - want +\n%s", d)
	}

	helper := &graphtest.Agent{}
	b := graph.New[state]("g").Start(failingNode("bad", -1, graph.NodeOptions{Retry: once()})).Catch(
		graph.AgentConfig[state]{ID: "help", AgentType: "x"})
	offering(t, helper.Runtime("x"), b, state{}).want("bad, help", "it is broken")
	if d := cmp.Diff(helper.Messages(), []string{`Node "bad" failed: it is broken`}); d != "" {
		t.Errorf("sent to the handler: got - want +\n%s", d)
	}
}

var errAgent = errors.New("the agent broke")

// full returns the usage of a window of 1,000 tokens.
func full(percent int) *graph.SessionUsage {
	return &graph.SessionUsage{InputTokens: 10 * percent, MaxTokens: 1000}
}

func windowOf(percent int) graph.ContextWindowUsage {
	return graph.ContextWindowUsage{InputTokens: 10 * percent, MaxTokens: 1000, UsagePercentage: float64(percent)}
}
