package graph_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/graph/compat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/graphtest"
)

// sessionOf returns a session of an agent.
func sessionOf(t *testing.T, a *graphtest.Agent) graph.Session {
	t.Helper()
	s, err := a.CreateSession(t.Context(), graph.SessionConfig{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestDefaultCompactionAction checks the action that suits an agent type; an unknown type warns
// (S2-69).
func TestDefaultCompactionAction(t *testing.T) {
	t.Parallel()
	for agentType, want := range map[string]graph.CompactionAction{
		"opencode": "summarize", "claude": "recreate", "copilot": "warn", "other": "warn", "": "warn",
	} {
		if got := graph.DefaultCompactionAction(agentType); got != want {
			t.Errorf("%s: got %s, want %s", agentType, got, want)
		}
	}
}

// TestContextHelpers checks that exceeded means >=, that percent = fraction × 100 (S2-60), and that
// unknown values stay 0 (S2-69).
func TestContextHelpers(t *testing.T) {
	t.Parallel()
	for percent, want := range map[float64]bool{44: true, 45: true, 45.1: false, 46: false} {
		if got := compat.ContextThresholdExceeded(windowOf(45), percent); got != want {
			t.Errorf("45 percent of %v: %t", percent, got)
		}
	}
	if d := cmp.Diff(compat.ToContextWindowUsage(graph.SessionUsage{InputTokens: 30, OutputTokens: 20, MaxTokens: 200}),
		graph.ContextWindowUsage{
			InputTokens: 30, OutputTokens: 20, MaxTokens: 200, UsagePercentage: 25,
		}); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
	if d := cmp.Diff(compat.ToContextWindowUsage(graph.SessionUsage{InputTokens: 30}),
		graph.ContextWindowUsage{InputTokens: 30}); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
}

// TestCheckContextUsage checks that CheckContextUsage asks the session, and that the default
// threshold is 45 (S2-69).
func TestCheckContextUsage(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		agent     *graphtest.Agent
		threshold float64
		want      graph.ContextWindowUsage
		exceeded  bool
		err       error
	}{
		"default, below": {&graphtest.Agent{Usage: full(44)}, 0, windowOf(44), false, nil},
		"default, at":    {&graphtest.Agent{Usage: full(45)}, 0, windowOf(45), true, nil},
		"own, below":     {&graphtest.Agent{Usage: full(69)}, 70, windowOf(69), false, nil},
		"own, at":        {&graphtest.Agent{Usage: full(70)}, 70, windowOf(70), true, nil},
		"not known":      {&graphtest.Agent{}, 1, graph.ContextWindowUsage{}, false, graph.ErrUnknownUsage},
		"broken":         {&graphtest.Agent{UsageErr: errAgent}, 1, graph.ContextWindowUsage{}, false, errAgent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, exceeded, err := compat.CheckContextUsage(t.Context(), sessionOf(t, tc.agent), tc.threshold)
			if d := cmp.Diff(got, tc.want); d != "" || exceeded != tc.exceeded || !errors.Is(err, tc.err) ||
				(err != nil) != (tc.err != nil) {
				t.Errorf("%t, %v, got - want +\n%s", exceeded, err, d)
			}
		})
	}
}

// TestCompactContext checks that CompactContext summarizes if that suits the agent (S2-69).
func TestCompactContext(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		agentType string
		err       error
		did       bool
		calls     []string
	}{
		"opencode": {"opencode", nil, true, []string{"create", "summarize"}},
		"claude":   {"claude", nil, false, []string{"create"}},
		"copilot":  {"copilot", nil, false, []string{"create"}},
		"cannot":   {"opencode", graph.ErrNoSummarize, false, []string{"create", "summarize"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := &graphtest.Agent{SummarizeErr: tc.err}
			did, err := compat.CompactContext(t.Context(), sessionOf(t, agent), tc.agentType)
			if did != tc.did || !errors.Is(err, tc.err) || cmp.Diff(agent.Calls(), tc.calls) != "" {
				t.Errorf("%t, %v after %q", did, err, agent.Calls())
			}
		})
	}
}

// TestContextMonitor checks what a context monitor does, depending on its action, its threshold and
// the available usage (S2-0, S2-69).
func TestContextMonitor(t *testing.T) {
	t.Parallel()
	warns := func(percent, threshold string, action, more string, data map[string]string) []event.SignalRaised {
		all := map[string]event.Value{
			"usagePercentage": event.Value(percent), "threshold": event.Value(threshold),
			"nodeId": event.Value(`"m"`), "action": event.Value(action),
		}
		for k, v := range data {
			all[k] = event.Value(v)
		}
		return []event.SignalRaised{{Signal: "context_window_warning", Message: "Context usage at " + percent + ".0%" +
			more, Data: all}}
	}
	// before the monitor runs
	filled := graph.ContextWindowUsage{InputTokens: 10, OutputTokens: 20, MaxTokens: 100, UsagePercentage: 60}
	type heard struct {
		Before graph.ContextWindowUsage
		Action graph.CompactionAction
	}
	for name, tc := range map[string]struct {
		agentType string
		threshold float64
		action    graph.CompactionAction
		agent     *graphtest.Agent // nil means no session
		signals   []event.SignalRaised
		heard     []heard
		after     *graph.ContextWindowUsage
	}{
		"opencode": {
			agentType: "opencode", agent: &graphtest.Agent{Usage: full(45), Summarized: full(5)},
			heard: []heard{{windowOf(45), "summarize"}}, after: new(windowOf(5)),
		},
		"claude": {
			agentType: "claude", agent: &graphtest.Agent{Usage: full(45)}, heard: []heard{{windowOf(45), "recreate"}},
			after: new(windowOf(45)),
			signals: warns("45", "45", `"recreate"`, "; a new session is needed",
				map[string]string{"shouldRecreateSession": "true"}),
		},
		"copilot": {agentType: "copilot", agent: &graphtest.Agent{Usage: full(45)}, after: new(windowOf(45)),
			signals: warns("45", "45", `"warn"`, "", nil)},
		"unknown": {agentType: "other", agent: &graphtest.Agent{Usage: full(45)}, after: new(windowOf(45)),
			signals: warns("45", "45", `"warn"`, "", nil)},
		"none": {agentType: "opencode", action: "none", agent: &graphtest.Agent{Usage: full(99)},
			after: new(windowOf(99))},
		"action wins": {agentType: "opencode", action: "warn", agent: &graphtest.Agent{Usage: full(50)},
			after: new(windowOf(50)), signals: warns("50", "45", `"warn"`, "", nil)},
		"below": {agentType: "opencode", agent: &graphtest.Agent{Usage: full(44)}, after: new(windowOf(44))},
		"own threshold": {agentType: "other", threshold: 80, agent: &graphtest.Agent{Usage: full(79)},
			after: new(windowOf(79))},
		"at own": {
			agentType: "other", threshold: 80, agent: &graphtest.Agent{Usage: full(80)}, after: new(windowOf(80)),
			signals: warns("80", "80", `"warn"`, "", nil),
		},
		"summary failed": {
			agentType: "opencode", agent: &graphtest.Agent{Usage: full(50), SummarizeErr: errAgent},
			after: new(windowOf(50)),
			signals: warns("50", "45", `"summarize"`, "; it was not summarized: the agent broke",
				map[string]string{"error": `"the agent broke"`}),
		},
		"cannot summarize": {
			agentType: "opencode", agent: &graphtest.Agent{Usage: full(50), SummarizeErr: graph.ErrNoSummarize},
			after: new(windowOf(50)),
			signals: warns("50", "45", `"summarize"`,
				"; it was not summarized: the agent cannot summarize its conversation",
				map[string]string{"error": `"the agent cannot summarize its conversation"`}),
		},
		"no session to summarize": {
			agentType: "opencode", after: &filled,
			signals: warns("60", "45", `"summarize"`, "; it was not summarized: there is no session",
				map[string]string{"error": `"there is no session"`}),
		},
		"not known after the summary": {
			agentType: "opencode", agent: &graphtest.Agent{Usage: full(50)},
			heard: []heard{{windowOf(50), "summarize"}}, after: &filled,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []heard
			var after graph.Context[state]
			node := graph.ContextMonitorConfig[state]{
				ID: "m", AgentType: tc.agentType, Threshold: tc.threshold, Action: tc.action,
				OnCompaction: func(u graph.ContextWindowUsage, a graph.CompactionAction) {
					got = append(got, heard{u, a})
				},
			}
			if tc.agent != nil {
				session := sessionOf(t, tc.agent)
				node.Session = func(graph.View[state]) graph.Session { return session }
			}
			w := run(t, graph.New[state]("g").Start(fills("f", 60)).Then(node).Then(capturesContext("after", &after)),
				state{})
			w.want("f, m, after", "completed")
			if d := cmp.Diff(w.signals(), tc.signals); d != "" {
				t.Errorf("signals: got - want +\n%s", d)
			}
			if d := cmp.Diff(got, tc.heard); d != "" {
				t.Errorf("OnCompaction: got - want +\n%s", d)
			}
			if d := cmp.Diff(after.ContextWindowUsage, tc.after); d != "" {
				t.Errorf("usage: got - want +\n%s", d)
			}
		})
	}
	n, _ := compat.Node(compiled(t, graph.New[state]("g").Start(graph.ContextMonitorConfig[state]{ID: "m"})), "m")
	if n.Name != "context-monitor" || n.Type != graph.TypeTool {
		t.Errorf("node %+v", n)
	}
	n, _ = compat.Node(
		compiled(t, graph.New[state]("g").Start(graph.ContextMonitorConfig[state]{ID: "m",
			Options: graph.NodeOptions{Name: "N", Description: "D"}})), "m")
	if n.Name != "N" || n.Description != "D" {
		t.Errorf("node %+v", n)
	}
}

// TestContextMonitorOrder checks that a summary precedes OnCompaction, and that later nodes see the
// usage after it (S2-69).
func TestContextMonitorOrder(t *testing.T) {
	t.Parallel()
	agent := &graphtest.Agent{Usage: full(50), Summarized: full(5)}
	session := sessionOf(t, agent)
	run(t, graph.New[state]("g").Start(graph.ContextMonitorConfig[state]{
		ID: "m", AgentType: "opencode", Session: func(graph.View[state]) graph.Session { return session },
		OnCompaction: func(graph.ContextWindowUsage, graph.CompactionAction) { agent.Note("heard") },
	}), state{}).want("m", "completed")
	if d := cmp.Diff(agent.Calls(), []string{"create", "usage", "summarize", "heard", "usage"}); d != "" {
		t.Errorf("got - want +\n%s", d)
	}
}

// TestContextMonitorSources checks the order of sources: Usage, the session, the context; the first
// that knows the usage counts. Errors of the first two fail the node (S2-69).
func TestContextMonitorSources(t *testing.T) {
	t.Parallel()
	of := func(u *graph.ContextWindowUsage, err error) func(context.Context, graph.View[state]) (
		*graph.ContextWindowUsage, error) {
		return func(context.Context, graph.View[state]) (*graph.ContextWindowUsage, error) { return u, err }
	}
	for name, tc := range map[string]struct {
		usage   func(context.Context, graph.View[state]) (*graph.ContextWindowUsage, error)
		agent   *graphtest.Agent
		context bool
		percent float64 // in the signal; 0 means none
		end     string
	}{
		"all":                   {of(new(windowOf(51)), nil), &graphtest.Agent{Usage: full(52)}, true, 51, "completed"},
		"Usage does not know":   {of(nil, nil), &graphtest.Agent{Usage: full(52)}, true, 52, "completed"},
		"no Usage":              {nil, &graphtest.Agent{Usage: full(52)}, true, 52, "completed"},
		"session does not know": {nil, &graphtest.Agent{}, true, 60, "completed"},
		"only the context":      {nil, nil, true, 60, "completed"},
		"missing":               {of(nil, nil), &graphtest.Agent{}, false, 0, "completed"},
		"nothing":               {nil, nil, false, 0, "completed"},
		"Usage breaks":          {of(nil, errBroken), &graphtest.Agent{Usage: full(52)}, true, 0, "it is broken"},
		"session breaks":        {nil, &graphtest.Agent{UsageErr: errAgent}, true, 0, "the agent broke"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := graph.ContextMonitorConfig[state]{ID: "m", Usage: tc.usage,
				Options: graph.NodeOptions{Retry: once()}}
			if tc.agent != nil {
				session := sessionOf(t, tc.agent)
				node.Session = func(graph.View[state]) graph.Session { return session }
			} else {
				node.Session = func(graph.View[state]) graph.Session { return nil }
			}
			b, visited := graph.New[state]("g"), "m"
			if tc.context {
				b, visited = b.Start(fills("f", 60)), "f, m"
			}
			w := run(t, b.Then(node), state{})
			w.want(visited, tc.end)
			var percent float64
			for _, s := range w.signals() {
				if err := json.Unmarshal(s.Data["usagePercentage"], &percent); err != nil {
					t.Fatal(err)
				}
			}
			if percent != tc.percent {
				t.Errorf("got %v, want %v", percent, tc.percent)
			}
		})
	}
}
