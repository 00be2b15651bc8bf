package graph

import (
	"context"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/program"
)

// Runtime is what nodes need of the program that runs the graph (S2-71). Package hocket fills what is nil; a node that needs what is still nil
// fails with an error that names it.
type Runtime struct {
	// ClientProvider gives the client for a type of coding agent, or nil where it knows none. Safe for concurrent use.
	ClientProvider func(agentType string) Client
	// Subagents runs the agents of subagent nodes.
	Subagents SubagentBridge
	// Registry knows the agents that subagent nodes may name.
	Registry SubagentRegistry
	// Tools are those that custom tool nodes may call.
	Tools ToolRegistry
	// WorkflowResolver finds the graphs that subgraph nodes name. It is asked when a graph is linked ([Compiled.Link]), not while it runs; package hocket
	// asks for the graphs registered with it where this is nil or finds none.
	WorkflowResolver func(name string) (Subgraph, bool)
}

// runtimeFor fills what is nil of a graph's runtime from what the running side offers; s may be nil.
func runtimeFor(s *program.Services, r Runtime) Runtime {
	var from Runtime
	if s != nil {
		from, _ = s.Runtime.(Runtime)
	}
	if r.ClientProvider == nil {
		r.ClientProvider = from.ClientProvider
	}
	if r.Subagents == nil {
		r.Subagents = from.Subagents
	}
	if r.Registry == nil {
		r.Registry = from.Registry
	}
	if r.Tools == nil {
		r.Tools = from.Tools
	}
	if r.WorkflowResolver == nil {
		r.WorkflowResolver = from.WorkflowResolver
	}
	return r
}

// ModelInherit stands for no model of one's own, as "" does.
const ModelInherit = "inherit"

// firstModel gives the first that is a model (S2-79).
func firstModel(models ...string) string {
	for _, m := range models {
		if m != "" && m != ModelInherit {
			return m
		}
	}
	return ""
}

// SubagentBridge runs agents. Implementations are safe for concurrent use.
type SubagentBridge interface {
	// Spawn runs one agent to its end. An agent that failed is a result without Success; an error says that it could not be run. Called again with the
	// same Key, as after a crash, it goes on with what it began instead of beginning anew.
	Spawn(ctx context.Context, o SpawnOptions) (SubagentResult, error)
	// SpawnParallel runs agents together and gives their results in order when all have settled: a failed one does not stop the others (S2-79).
	SpawnParallel(ctx context.Context, o []SpawnOptions) ([]SubagentResult, error)
}

// SpawnOptions say what an agent is to do.
type SpawnOptions struct {
	// AgentID is derived: `<node>-<execution>`, or `<node>-<index>-<execution>` in parallel; attempts after the first have `-<attempt>` behind it.
	AgentID string
	// Key tells this piece of work from all others, equal when it is asked for again after a crash. An AgentID is not enough: a node that runs twice, as
	// in a loop, gives both the same.
	Key string
	// AgentName is the agent's in the registry.
	AgentName    string
	Task         string
	SystemPrompt string // "" is the agent's own
	Model        string // "" is the agent's own
	// Tools are those that the agent may use, instead of its own; nil: its own.
	Tools []string
}

// SubagentResult is what an agent gave.
type SubagentResult struct {
	AgentID string `json:"agentId"`
	Success bool   `json:"success"`
	Output  string `json:"output"`
	// Error is why it failed, "" with Success.
	Error string `json:"error,omitempty"`
	// ToolUses counts its tool calls.
	ToolUses int `json:"toolUses"`
	// DurationMS is how long it ran.
	DurationMS int64 `json:"durationMs"`
}

// SubagentRegistry knows agents by name. Implementations are safe for concurrent use.
type SubagentRegistry interface {
	Get(name string) (SubagentInfo, bool)
	// All gives all agents, in a stable order.
	All() []SubagentInfo
}

// SubagentInfo tells of an agent.
type SubagentInfo struct{ Name, Description string }

// ToolRegistry knows tools by name. Implementations are safe for concurrent use.
type ToolRegistry interface {
	Get(name string) (ToolHandler, bool)
	// Names gives the names of all tools, sorted.
	Names() []string
}

// ToolHandler is one call of a registered tool: arguments in, result out, both JSON.
type ToolHandler func(ctx context.Context, args json.RawMessage, c ToolContext) (json.RawMessage, error)

// ToolContext tells a registered tool who calls it (S2-67).
type ToolContext struct {
	// SessionID is the execution id, MessageID names the call and is equal for all its attempts, Agent is "workflow".
	SessionID, MessageID, Agent string
	// Directory is the working folder of the process.
	Directory           string
	NodeID, ExecutionID string
	// State is a copy of the run's state.
	State json.RawMessage
}
