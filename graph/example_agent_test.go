package graph_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"strings"

	"github.com/hocket-run/hocket/graph"
)

// scribe is a coding agent that answers in capitals. Each message fills a fifth of its context
// window.
type scribe struct{ used int }

func (s *scribe) CreateSession(context.Context, graph.SessionConfig) (graph.Session, error) {
	return s, nil
}

func (s *scribe) ID() string { return "scribe" }

func (s *scribe) Stream(_ context.Context, message string) iter.Seq2[graph.AgentMessage, error] {
	return func(yield func(graph.AgentMessage, error) bool) {
		s.used += 20
		yield(graph.AgentMessage{Type: graph.MessageText, Role: "assistant", Content: strings.ToUpper(message)}, nil)
	}
}

func (s *scribe) ContextUsage(context.Context) (graph.SessionUsage, error) {
	return graph.SessionUsage{InputTokens: s.used, MaxTokens: 100}, nil
}

func (s *scribe) Summarize(context.Context) error {
	s.used = 10
	return nil
}

func (s *scribe) Destroy(context.Context) error { return nil }

// An agent receives a message derived from the state, and its answer is written back to the state.
// The program provides the client.
func ExampleAgentConfig() {
	g, err := graph.New[Article]("write").
		Start(graph.AgentConfig[Article]{
			ID: "writer", AgentType: "scribe", SystemPrompt: "You write articles.",
			MessageFunc: func(v graph.View[Article]) string { return "Write about " + v.State.Topic },
			Output: func(a *Article, messages []graph.AgentMessage) error {
				a.Text = messages[len(messages)-1].Content
				return nil
			},
		}).
		Compile(graph.Config{Runtime: graph.Runtime{ClientProvider: func(agentType string) graph.Client {
			if agentType != "scribe" {
				return nil
			}
			return &scribe{}
		}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := play(g, Article{Topic: "canons"})
	fmt.Println(a.Text, err)
	// Output: WRITE ABOUT CANONS <nil>
}

// A session that the program keeps across several nodes is summarized when its context window is at
// least 45 % full.
func ExampleContextMonitorConfig() {
	session := &scribe{}
	g, err := graph.New[Article]("talk").
		Loop(graph.LoopConfig[Article]{Until: func(v graph.View[Article]) bool { return v.State.Rounds == 5 }},
			graph.Do("ask", func(ctx context.Context, a *Article) error {
				a.Rounds++
				for m, err := range session.Stream(ctx, a.Topic) {
					if err != nil {
						return err
					}
					a.Notes = append(a.Notes, m.Content)
				}
				return nil
			}),
			graph.ContextMonitorConfig[Article]{
				ID: "watch", AgentType: "opencode", Session: func(graph.View[Article]) graph.Session { return session },
				OnCompaction: func(before graph.ContextWindowUsage, action graph.CompactionAction) {
					fmt.Printf("%s at %.0f %%\n", action, before.UsagePercentage)
				},
			}).
		Compile()
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := play(g, Article{Topic: "canons"})
	fmt.Println(len(a.Notes), session.used, err)
	// Output:
	// summarize at 60 %
	// summarize at 50 %
	// 5 10 <nil>
}

// team runs agents that are functions.
type team map[string]func(task string) (string, error)

func (t team) Get(name string) (graph.SubagentInfo, bool) {
	_, ok := t[name]
	return graph.SubagentInfo{Name: name}, ok
}

func (t team) All() []graph.SubagentInfo {
	return []graph.SubagentInfo{{Name: "critic", Description: "finds faults"},
		{Name: "planner", Description: "makes outlines"}}
}

func (t team) Spawn(_ context.Context, o graph.SpawnOptions) (graph.SubagentResult, error) {
	out, err := t[o.AgentName](o.Task)
	r := graph.SubagentResult{AgentID: o.AgentID, Success: err == nil, Output: out}
	if err != nil {
		r.Error = err.Error()
	}
	return r, nil
}

func (t team) SpawnParallel(ctx context.Context, work []graph.SpawnOptions) ([]graph.SubagentResult, error) {
	out := make([]graph.SubagentResult, len(work))
	for i, o := range work {
		out[i], _ = t.Spawn(ctx, o)
	}
	return out, nil
}

// One sub-agent writes an outline, then two review it concurrently. One of these fails, and Output
// decides what that means.
func ExampleBuilder_Subagent() {
	agents := team{
		"planner": func(task string) (string, error) { return "outline of " + task, nil },
		"critic": func(task string) (string, error) {
			if strings.Contains(task, "facts") {
				return "", fmt.Errorf("no library here")
			}
			return "fine", nil
		},
	}
	g, err := graph.New[Article]("team").
		Subagent(graph.SubagentConfig[Article]{
			ID: "plan", Agent: "planner", TaskFunc: func(v graph.View[Article]) string { return v.State.Topic },
			Output: func(a *Article, r graph.SubagentResult) error {
				a.Text = r.Output
				return nil
			},
		}).
		Then(graph.ParallelSubagentConfig[Article]{
			ID: "review",
			Agents: []graph.ParallelAgent[Article]{{Agent: "critic", Task: "Check the style."},
				{Agent: "critic", Task: "Check the facts."}},
			Output: func(a *Article, results []graph.AgentResult) error {
				for _, r := range results {
					a.Notes = append(a.Notes, fmt.Sprintf("%s: %s%s", r.Key, r.Output, r.Error))
				}
				return nil
			},
		}).
		Compile(graph.Config{Runtime: graph.Runtime{Subagents: agents, Registry: agents}})
	if err != nil {
		fmt.Println(err)
		return
	}
	a, err := play(g, Article{Topic: "canons"})
	fmt.Printf("%s\n%q %v\n", a.Text, a.Notes, err)
	// Output:
	// outline of canons
	// ["critic-0: fine" "critic-1: no library here"] <nil>
}

// toolRegistry provides one registered tool.
type toolRegistry struct{}

func (toolRegistry) Names() []string { return []string{"count"} }

func (toolRegistry) Get(name string) (graph.ToolHandler, bool) {
	return func(_ context.Context, args json.RawMessage, _ graph.ToolContext) (json.RawMessage, error) {
		var text string
		if err := json.Unmarshal(args, &text); err != nil {
			return nil, err
		}
		return json.Marshal(len(strings.Fields(text)))
	}, name == "count"
}

// A tool is looked up by name when the node runs.
func ExampleCustomToolConfig() {
	build := func(tool string) (*graph.Compiled[Article], error) {
		return graph.New[Article]("count").
			Start(graph.CustomToolConfig[Article, string, int]{
				ID: "words", ToolName: tool, ArgsFunc: func(v graph.View[Article]) string { return v.State.Topic },
				Output: func(a *Article, n int) error {
					a.Words = n
					return nil
				},
			}).
			Compile(graph.Config{Runtime: graph.Runtime{Tools: toolRegistry{}}})
	}
	for _, tool := range []string{"count", "measure"} {
		g, err := build(tool)
		if err != nil {
			fmt.Println(err)
			return
		}
		a, err := play(g, Article{Topic: "the art of the hocket"})
		fmt.Println(a.Words, err)
	}
	// Output:
	// 5 <nil>
	// 0 Custom tool "measure" not found in registry. Available tools: count
}
