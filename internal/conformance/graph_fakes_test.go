package conformance_test

import (
	"context"
	"iter"
	"slices"
	"sync"

	"github.com/hocket-run/hocket/graph"
)

// coder is a coding agent: a client whose sessions note what they are asked.
type coder struct {
	// answer gives the messages of the n-th turn; nil: "hello".
	answer                  func(ctx context.Context, n int, message string) ([]graph.AgentMessage, error)
	usage, summarized       *graph.SessionUsage
	createErr, summarizeErr error
	mu                      sync.Mutex
	configs                 []graph.SessionConfig
	sent, noted             []string
}

func (a *coder) note(call string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.noted = append(a.noted, call)
}

// runtime offers the agent as the type claude.
func (a *coder) runtime() graph.Runtime {
	return graph.Runtime{ClientProvider: func(agentType string) graph.Client {
		if agentType == "claude" {
			return a
		}
		return nil
	}}
}

func (a *coder) CreateSession(_ context.Context, c graph.SessionConfig) (graph.Session, error) {
	a.note("create")
	a.configs = append(a.configs, c)
	return coderSession{a}, a.createErr
}

type coderSession struct{ *coder }

func (coderSession) ID() string { return "s" }

func (s coderSession) Stream(ctx context.Context, message string) iter.Seq2[graph.AgentMessage, error] {
	return func(yield func(graph.AgentMessage, error) bool) {
		s.note("send")
		s.sent = append(s.sent, message)
		list, err := []graph.AgentMessage{{Type: graph.MessageText, Role: "assistant", Content: "hello"}}, error(nil)
		if s.answer != nil {
			list, err = s.answer(ctx, len(s.sent), message)
		}
		for _, m := range list {
			if !yield(m, nil) {
				return
			}
		}
		if err != nil {
			yield(graph.AgentMessage{}, err)
		}
	}
}

func (s coderSession) ContextUsage(context.Context) (graph.SessionUsage, error) {
	if s.usage == nil {
		return graph.SessionUsage{}, graph.ErrUnknownUsage
	}
	return *s.usage, nil
}

func (s coderSession) Summarize(context.Context) error {
	s.note("summarize")
	if s.summarizeErr == nil {
		s.usage = s.summarized
	}
	return s.summarizeErr
}

func (s coderSession) Destroy(context.Context) error {
	s.note("destroy")
	return nil
}

// filled is the usage of a window of 100 tokens.
func filled(percent int) *graph.SessionUsage {
	return &graph.SessionUsage{InputTokens: percent, MaxTokens: 100}
}

// crew runs sub-agents, notes what it is asked, and does what its function says; nil: each succeeds with its task.
type crew struct {
	names  []string
	result func(n int, o graph.SpawnOptions) (graph.SubagentResult, error)
	mu     sync.Mutex
	asked  []graph.SpawnOptions
}

func (c *crew) Get(name string) (graph.SubagentInfo, bool) {
	return graph.SubagentInfo{Name: name}, slices.Contains(c.names, name)
}

func (c *crew) All() []graph.SubagentInfo {
	var out []graph.SubagentInfo
	for _, n := range c.names {
		out = append(out, graph.SubagentInfo{Name: n})
	}
	return out
}

func (c *crew) Spawn(_ context.Context, o graph.SpawnOptions) (graph.SubagentResult, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.asked = append(c.asked, o)
	if c.result != nil {
		return c.result(len(c.asked), o)
	}
	return graph.SubagentResult{AgentID: o.AgentID, Success: true, Output: "did " + o.Task}, nil
}

func (c *crew) SpawnParallel(ctx context.Context, work []graph.SpawnOptions) ([]graph.SubagentResult, error) {
	var out []graph.SubagentResult
	for _, o := range work {
		r, err := c.Spawn(ctx, o)
		if err != nil {
			r = graph.SubagentResult{AgentID: o.AgentID, Error: err.Error()}
		}
		out = append(out, r)
	}
	return out, nil
}

func (c *crew) runtime() graph.Runtime { return graph.Runtime{Subagents: c, Registry: c} }

// toolbox holds tools by name.
type toolbox map[string]graph.ToolHandler

func (b toolbox) Get(name string) (graph.ToolHandler, bool) {
	h, ok := b[name]
	return h, ok
}

func (b toolbox) Names() []string {
	var out []string
	for name := range b {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}
