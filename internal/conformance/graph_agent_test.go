package conformance_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/graphtest"
)

// plays runs a graph with one agent node.
func (a *coder) plays(t *testing.T, c graph.AgentConfig[sheet], cfg graph.Config) *played {
	t.Helper()
	c.ID, c.AgentType = "a", "claude"
	cfg.Runtime = a.runtime()
	return play(t, newGraph().Start(c), sheet{Text: "it"}, cfg)
}

// monitors runs a context monitor of a session with the coder.
func (a *coder) monitors(t *testing.T, c graph.ContextMonitorConfig[sheet]) *played {
	t.Helper()
	c.ID, c.Session = "m", func(graph.View[sheet]) graph.Session { return a.Session() }
	return play(t, newGraph().Start(c), sheet{})
}

var graphAgent = []rule{
	{name: "S2-67 registered tools: texts and types of errors", test: func(t *testing.T) {
		gives := func(raw string, err error) graph.ToolHandler {
			return func(context.Context, json.RawMessage, graph.ToolContext) (json.RawMessage, error) {
				return json.RawMessage(raw), err
			}
		}
		type tool = graph.CustomToolConfig[sheet, map[string]any, string]
		for _, c := range []struct {
			tools toolbox
			node  tool
			want  string
			as    string
		}{
			{toolbox{"b": gives("", nil), "a": gives("", nil)}, tool{},
				`Custom tool "x" not found in registry. Available tools: a, b`, ""},
			{toolbox{"x": gives("", nil)}, tool{Args: map[string]any{"q": "w"},
				InputSchema: graph.SchemaJSON(`{"properties":{"q":{"type":"number"}}}`)},
				`Tool "x" input validation failed: q: must be a number, not a string`, "schema"},
			{toolbox{"x": gives("", errBroken)}, tool{}, `Custom tool "x" failed: it is broken`, "node"},
			{toolbox{"x": func(ctx context.Context, _ json.RawMessage, _ graph.ToolContext) (json.RawMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}, tool{Timeout: 30 * time.Millisecond}, `Tool "x" timed out after 30ms`, ""},
		} {
			c.node.ID, c.node.ToolName, c.node.Options = "t", "x", single()
			p := play(t, newGraph().Start(c.node), sheet{}, graph.Config{Runtime: graph.Runtime{Tools: c.tools}})
			p.went("tool", "t", c.want)
			_, schema := errors.AsType[*graph.SchemaValidationError](p.failureOf())
			same(t, "is a SchemaValidationError", schema, c.as == "schema")
			failed, node := errors.AsType[*graph.NodeExecutionError](p.failureOf())
			same(t, "is a NodeExecutionError", node, c.as == "node")
			if node {
				same(t, "its node", failed.NodeID, "t")
			}
		}
	}},
	{name: "S2-67 registered tools: what they are given", test: func(t *testing.T) {
		var seen graph.ToolContext
		var args string
		tools := toolbox{
			"x": func(_ context.Context, raw json.RawMessage, c graph.ToolContext) (json.RawMessage, error) {
				seen, args = c, string(raw)
				return json.RawMessage(`"found"`), nil
			}}
		dir, err := os.Getwd()
		same(t, "error", err, nil)
		node := graph.CustomToolConfig[sheet, map[string]string, string]{ID: "t", ToolName: "x",
			ArgsFunc: func(v graph.View[sheet]) map[string]string { return map[string]string{"q": v.State.Text} }}
		p := play(t, newGraph().Start(node), sheet{Text: "tides"}, graph.Config{Runtime: graph.Runtime{Tools: tools}})
		same(t, "output", p.output("t"), `"found"`)
		same(t, "arguments", args, `{"q":"tides"}`)
		same(t, "there is a message id", seen.MessageID != "", true)
		same(t, "context", seen, graph.ToolContext{
			SessionID: "r", MessageID: seen.MessageID, Agent: "workflow", Directory: dir, NodeID: "t", ExecutionID: "r",
			State: json.RawMessage(`{"n":0,"text":"tides"}`),
		})
	}},
	{name: "S2-68 agent nodes: messages, session, destruction", test: func(t *testing.T) {
		agent := &coder{}
		p := agent.plays(t, graph.AgentConfig[sheet]{}, graph.Config{})
		same(t, "messages are the output", p.output("a"), `[{"type":"text","role":"assistant","content":"hello"}]`)
		same(t, "empty message", agent.Messages(), []string{""})
		same(t, "calls", agent.noted(), []string{"create", "send", "destroy"})
		n, _ := compat.Node(p.g, "a")
		same(t, "name", n.Name, "claude agent")
		agent = &coder{}
		agent.plays(t, graph.AgentConfig[sheet]{
			MessageFunc: func(v graph.View[sheet]) string { return "Do " + v.State.Text }, Tools: []string{"mine"},
			SystemPrompt: "mine", Options: gOptions{Model: "p/mine"},
			Session: graph.SessionConfig{Model: "p/session", SystemPrompt: "session", Tools: []string{"session"}},
		}, graph.Config{})
		same(t, "message", agent.Messages(), []string{"Do it"})
		got := agent.Configs()[0]
		same(t, "the node wins", []any{got.Tools, got.SystemPrompt, got.Model},
			[]any{[]string{"mine"}, "mine", "p/mine"})
		agent = &coder{}
		agent.plays(t, graph.AgentConfig[sheet]{Session: graph.SessionConfig{Model: "p/session",
			SystemPrompt: "session", Tools: []string{"session"}}}, graph.Config{})
		got = agent.Configs()[0]
		same(t, "else the session's", []any{got.Tools, got.SystemPrompt, got.Model},
			[]any{[]string{"session"}, "session", "p/session"})
		agent = &coder{graphtest.Agent{Answer: func(context.Context, int, string) ([]graph.AgentMessage, error) {
			return nil, errBroken
		}}}
		same(t, "failure", agent.plays(t, graph.AgentConfig[sheet]{Options: single()}, graph.Config{}).end(),
			"it is broken")
		same(t, "destroyed after a failure", agent.noted(), []string{"create", "send", "destroy"})
		agent = &coder{
			graphtest.Agent{Answer: func(ctx context.Context, _ int, _ string) ([]graph.AgentMessage, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			}}}
		agent.plays(t, graph.AgentConfig[sheet]{}, graph.Config{Timeout: time.Second})
		synctest.Wait()
		same(t, "destroyed when cancelled", agent.noted(), []string{"create", "send", "destroy"})
		play(t, newGraph().Start(graph.AgentConfig[sheet]{ID: "a", AgentType: "x", Options: single()}), sheet{},
			graph.Config{Runtime: agent.runtime()}).
			went("no client", "a", `No client provider set for agent type "x"`)
	}},
	{name: "S2-68 agent nodes: a full context window raises a signal", test: func(t *testing.T) {
		for percent, want := range map[int]int{44: 0, 45: 1} {
			p := (&coder{graphtest.Agent{Usage: filled(percent)}}).plays(t, graph.AgentConfig[sheet]{}, graph.Config{})
			same(t, "signals by default", len(p.Signals), want)
		}
		p := (&coder{graphtest.Agent{Usage: filled(70)}}).plays(t, graph.AgentConfig[sheet]{},
			graph.Config{ContextWindowThreshold: 70})
		same(t, "type", p.Signals[0].Type, graph.SignalContextWindowWarning)
		same(t, "data", p.Signals[0].Data, map[string]any{
			"usagePercent": 70.0, "contextUsage": map[string]any{"inputTokens": 70.0, "outputTokens": 0.0,
				"maxTokens": 100.0, "usagePercentage": 70.0},
		})
	}},
	{name: "S2-69 context monitor: sources, threshold, actions", test: func(t *testing.T) {
		type monitor = graph.ContextMonitorConfig[sheet]
		at := func(n int) graph.ContextWindowUsage { return compat.ToContextWindowUsage(*filled(n)) }
		usage := func(u *graph.ContextWindowUsage) func(context.Context, graph.View[sheet]) (
			*graph.ContextWindowUsage, error) {
			return func(context.Context, graph.View[sheet]) (*graph.ContextWindowUsage, error) { return u, nil }
		}
		for _, c := range []struct {
			node   monitor
			agent  *coder
			noted  []string
			signal map[string]any // nil means none
		}{
			{monitor{AgentType: "opencode"}, &coder{graphtest.Agent{Usage: filled(44)}}, nil, nil},
			{monitor{AgentType: "opencode"}, &coder{graphtest.Agent{Usage: filled(45), Summarized: filled(5)}},
				[]string{"summarize", "heard summarize 45"}, nil},
			{monitor{AgentType: "claude"}, &coder{graphtest.Agent{Usage: filled(45)}}, []string{"heard recreate 45"},
				map[string]any{"action": "recreate", "shouldRecreateSession": true}},
			{monitor{AgentType: "copilot"}, &coder{graphtest.Agent{Usage: filled(45)}}, nil,
				map[string]any{"action": "warn"}},
			{monitor{AgentType: "unknown"}, &coder{graphtest.Agent{Usage: filled(45)}}, nil,
				map[string]any{"action": "warn"}},
			{monitor{AgentType: "opencode", Action: graph.CompactNone}, &coder{graphtest.Agent{Usage: filled(99)}}, nil,
				nil},
			{monitor{AgentType: "opencode"}, &coder{graphtest.Agent{Usage: filled(45), SummarizeErr: errBroken}},
				[]string{"summarize"}, map[string]any{"action": "summarize", "error": "it is broken"}},
			{monitor{AgentType: "copilot", Usage: usage(new(at(45)))}, &coder{graphtest.Agent{Usage: filled(10)}}, nil,
				map[string]any{"action": "warn"}},
			{monitor{AgentType: "copilot", Usage: usage(nil), Threshold: 46},
				&coder{graphtest.Agent{Usage: filled(45)}}, nil, nil},
		} {
			c.node.OnCompaction = func(before graph.ContextWindowUsage, a graph.CompactionAction) {
				c.agent.Note("heard " + string(a) + " " + asJSON(before.UsagePercentage))
			}
			p := c.agent.monitors(t, c.node)
			same(t, "end", p.end(), "completed")
			same(t, "calls", c.agent.noted(), c.noted)
			if c.signal == nil {
				same(t, "signals", len(p.Signals), 0)
				continue
			}
			data := p.Signals[0].Data
			same(t, "type", p.Signals[0].Type, graph.SignalContextWindowWarning)
			for k, v := range c.signal {
				same(t, k, data[k], v)
			}
		}
		var seen gContext
		p := play(t, newGraph().Start(graph.AgentConfig[sheet]{ID: "a", AgentType: "claude"}).Then(
			monitor{ID: "m", AgentType: "copilot", Threshold: 30}).Then(capturesContext("n", &seen)),
			sheet{}, graph.Config{Runtime: (&coder{graphtest.Agent{Usage: filled(30)}}).runtime()})
		same(t, "usage of the context", p.signal, []string{"context_window_warning Context usage at 30.0%"})
		same(t, "told on", seen.ContextWindowUsage.UsagePercentage, 30)
	}},
	{name: "S2-69 clear-context, and the five helpers", test: func(t *testing.T) {
		for _, c := range []struct {
			cfg       graph.Config
			node      graph.ClearContextConfig[sheet]
			message   string
			threshold float64
		}{
			{graph.Config{}, graph.ClearContextConfig[sheet]{}, "Clearing context window", 60},
			{graph.Config{ContextWindowThreshold: 70}, graph.ClearContextConfig[sheet]{Message: "Enough."}, "Enough.",
				70},
			{graph.Config{}, graph.ClearContextConfig[sheet]{MessageFunc: func(v graph.View[sheet]) string {
				return v.State.Text
			}}, "it", 60},
		} {
			c.node.ID = "c"
			p := play(t, newGraph().Start(c.node), sheet{Text: "it"}, c.cfg)
			same(t, "signal", p.signal, []string{"context_window_warning " + c.message})
			same(t, "data", p.Signals[0].Data, map[string]any{"usage": 100.0, "threshold": c.threshold, "nodeId": "c",
				"action": "summarize"})
		}
		var actions []graph.CompactionAction
		for _, agentType := range []string{"opencode", "claude", "copilot", "other"} {
			actions = append(actions, graph.DefaultCompactionAction(agentType))
		}
		same(t, "actions", actions, []graph.CompactionAction{"summarize", "recreate", "warn", "warn"})
		u := compat.ToContextWindowUsage(graph.SessionUsage{InputTokens: 30, OutputTokens: 15, MaxTokens: 100})
		same(t, "usage", u, graph.ContextWindowUsage{InputTokens: 30, OutputTokens: 15, MaxTokens: 100,
			UsagePercentage: 45})
		same(t, "exceeded is at least", []bool{compat.ContextThresholdExceeded(u, 45),
			compat.ContextThresholdExceeded(u, 45.1)}, []bool{true, false})
		_, exceeded, err := compat.CheckContextUsage(t.Context(),
			(&coder{graphtest.Agent{Usage: filled(45)}}).Session(), 0)
		same(t, "checked", []any{exceeded, err}, []any{true, nil})
		for agentType, want := range map[string]bool{"opencode": true, "claude": false} {
			did, err := compat.CompactContext(t.Context(), (&coder{}).Session(), agentType)
			same(t, "compacted "+agentType, []any{did, err}, []any{want, nil})
		}
	}},
	{name: "S2-79 parallel sub-agents work at once", test: func(t *testing.T) {
		var asked atomic.Int32
		hold := make(chan struct{})
		e := opened(t, hocket.Config{}, hocket.WithAgent(hocket.Agent{Name: "x", Model: "own/m"}),
			hocket.WithModel("own", hocket.ModelFunc(func(context.Context, hocket.ModelRequest) (hocket.ModelReply,
				error) {
				asked.Add(1)
				<-hold
				return hocket.ModelReply{Text: "done"}, nil
			})))
		agents := []graph.ParallelAgent[sheet]{{Agent: "x", Task: "1"}, {Agent: "x", Task: "2"}, {Agent: "x",
			Task: "3"}}
		g := compiled(t, newGraph().Start(graph.ParallelSubagentConfig[sheet]{ID: "p", Agents: agents,
			Output: func(s *sheet, list []graph.AgentResult) error {
				s.N = len(list)
				return nil
			}}))
		ended := make(chan *played, 1)
		go func() { ended <- playOn(t, e, g, sheet{}, gRun{}) }()
		synctest.Wait()
		same(t, "asked before any is done", asked.Load(), 3)
		close(hold)
		same(t, "results", (<-ended).State.N, 3)
	}},
	{name: "S2-79 models fall through, and agents have ids of node and execution", test: func(t *testing.T) {
		e := opened(t, hocket.Config{})
		for i, c := range []struct{ node, run, graph, want string }{
			{"p/node", "p/run", "p/graph", "p/node"}, {"inherit", "p/run", "p/graph", "p/run"},
			{"", "inherit", "p/graph", "p/graph"}, {"", "", "inherit", ""},
		} {
			var seen gContext
			g := compiled(t, newGraph().Start(capturesContext("n", &seen, gOptions{Model: c.node})),
				graph.Config{DefaultModel: c.graph, Version: asJSON(i)})
			playOn(t, e, g, sheet{}, gRun{ID: "m" + asJSON(i), Model: c.run})
			same(t, "model", seen.Model, c.want)
		}
		var inside gContext
		inner := compiled(t, graph.New[sheet]("inner").Start(capturesContext("i", &inside)),
			graph.Config{DefaultModel: "p/inner"})
		play(t, newGraph().Start(graph.SubgraphConfig[sheet, sheet]{ID: "sub", Graph: inner}), sheet{},
			graph.Config{DefaultModel: "p/outer"})
		same(t, "model inside", inside.Model, "p/outer")
		team := &crew{Names: []string{"x"}, Result: func(n int, o graph.SpawnOptions) (graph.SubagentResult, error) {
			return graph.SubagentResult{AgentID: o.AgentID, Success: n != 4, Error: "red"}, nil
		}}
		var settled []bool
		b := newGraph().Subagent(graph.SubagentConfig[sheet]{ID: "s", Agent: "x", Task: "t", Model: "p/own"}).Subagent(
			graph.SubagentConfig[sheet]{ID: "s2", Agent: "x", Task: "t"}).
			Then(graph.ParallelSubagentConfig[sheet]{
				ID: "p", Agents: []graph.ParallelAgent[sheet]{{Agent: "x", Task: "t"},
					{Agent: "x", Task: "t", Model: "p/own"}}, Output: func(_ *sheet, list []graph.AgentResult) error {
					for _, r := range list {
						settled = append(settled, r.Success)
					}
					return nil
				}})
		play(t, b, sheet{}, graph.Config{DefaultModel: "p/graph", Runtime: team.Runtime()}).went("sub-agents",
			"s, s2, p", "completed")
		same(t, "all settle", settled, []bool{true, false})
		var got [][2]string
		for _, o := range team.Spawned() {
			got = append(got, [2]string{o.AgentID, o.Model})
		}
		same(t, "asked", got, [][2]string{{"s-r", "p/own"}, {"s2-r", "p/graph"}, {"p-0-r", "p/graph"},
			{"p-1-r", "p/own"}})
	}},
}

func TestGraphAgent(t *testing.T) { check(t, graphAgent) }

func TestGraphAgentCovered(t *testing.T) {
	covered(t, graphAgent, "S2-67", "S2-68", "S2-69", "S2-79")
}
