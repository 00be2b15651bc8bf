package graphtest

import (
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/hocket-run/hocket/graph"
)

// Team is a bridge and a registry of sub-agents that record the requests they receive.
type Team struct {
	// Names are the names of the sub-agents in the registry.
	Names []string
	// Result returns the result of the n-th call, counting from 1. If nil, every call succeeds with
	// the output "did " followed by its task.
	Result func(n int, o graph.SpawnOptions) (graph.SubagentResult, error)
	// Together answers SpawnParallel. If nil, SpawnParallel returns the results of successive calls
	// to Spawn.
	Together func(ctx context.Context, o []graph.SpawnOptions) ([]graph.SubagentResult, error)

	mu      sync.Mutex
	spawned []graph.SpawnOptions
}

// Spawned returns the calls so far.
func (m *Team) Spawned() []graph.SpawnOptions {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.spawned)
}

// Runtime returns a runtime that offers the sub-agents.
func (m *Team) Runtime() graph.Runtime { return graph.Runtime{Subagents: m, Registry: m} }

// Get implements [graph.SubagentRegistry].
func (m *Team) Get(name string) (graph.SubagentInfo, bool) {
	if !slices.Contains(m.Names, name) {
		return graph.SubagentInfo{}, false
	}
	return graph.SubagentInfo{Name: name}, true
}

// All implements [graph.SubagentRegistry].
func (m *Team) All() []graph.SubagentInfo {
	var out []graph.SubagentInfo
	for _, n := range m.Names {
		out = append(out, graph.SubagentInfo{Name: n})
	}
	return out
}

// Spawn implements [graph.SubagentBridge].
func (m *Team) Spawn(_ context.Context, o graph.SpawnOptions) (graph.SubagentResult, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.spawned = append(m.spawned, o)
	if m.Result != nil {
		return m.Result(len(m.spawned), o)
	}
	return graph.SubagentResult{AgentID: o.AgentID, Success: true, Output: "did " + o.Task}, nil
}

// SpawnParallel implements [graph.SubagentBridge].
func (m *Team) SpawnParallel(ctx context.Context, work []graph.SpawnOptions) ([]graph.SubagentResult, error) {
	if m.Together != nil {
		return m.Together(ctx, work)
	}
	var out []graph.SubagentResult
	for _, o := range work {
		r, err := m.Spawn(ctx, o)
		if err != nil {
			r = graph.SubagentResult{AgentID: o.AgentID, Error: err.Error()}
		}
		out = append(out, r)
	}
	return out, nil
}

// Tools is a registry of tools by name.
type Tools map[string]graph.ToolHandler

// Get implements [graph.ToolRegistry].
func (r Tools) Get(name string) (graph.ToolHandler, bool) {
	h, ok := r[name]
	return h, ok
}

// Names implements [graph.ToolRegistry]. It returns the sorted names of the non-nil tools.
func (r Tools) Names() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(r)), func(name string) bool { return r[name] == nil })
}
