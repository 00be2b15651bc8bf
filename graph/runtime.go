package graph

import (
	"context"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/program"
)

// Runtime holds what nodes need from the program that runs the graph. Package hocket fills in nil
// fields; a node that needs a field that is still nil fails with an error that names it.
type Runtime struct {
	// ClientProvider returns the client for a type of coding agent, or nil if it knows none. It
	// must be safe for concurrent use.
	ClientProvider func(agentType string) Client
	// Subagents runs the agents of subagent nodes.
	Subagents SubagentBridge
	// Registry holds the agents that subagent nodes may name.
	Registry SubagentRegistry
	// Tools holds the tools that custom tool nodes may call.
	Tools ToolRegistry
	// WorkflowResolver resolves the names of graphs in subgraph nodes. It is called when a graph is
	// linked ([Compiled.Link]), not while it runs; if it is nil or does not find a graph, package
	// hocket uses the graphs registered with it.
	WorkflowResolver func(name string) (Subgraph, bool)
}

// runtimeFor fills the nil fields of a graph's runtime from the services of the engine or program
// that runs it; s may be nil.
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

// ModelInherit means that no model is set, like "".
const ModelInherit = "inherit"

// firstModel returns the first argument that is a model.
func firstModel(models ...string) string {
	for _, m := range models {
		if m != "" && m != ModelInherit {
			return m
		}
	}
	return ""
}

// SubagentBridge runs agents. Implementations must be safe for concurrent use.
type SubagentBridge interface {
	// Spawn runs one agent to its end. A failed agent is a result without Success; an error means
	// that the agent could not be run. If called again with the same Key, for example after a
	// crash, it continues what it started instead of starting again.
	Spawn(ctx context.Context, o SpawnOptions) (SubagentResult, error)
	// SpawnParallel runs agents concurrently and returns their results in order once all have
	// settled: a failed agent does not stop the others.
	SpawnParallel(ctx context.Context, o []SpawnOptions) ([]SubagentResult, error)
}

// SpawnOptions specifies what an agent should do.
type SpawnOptions struct {
	// AgentID is derived: `<node>-<execution>`, or `<node>-<index>-<execution>` in parallel;
	// attempts after the first have the suffix `-<attempt>`.
	AgentID string
	// Key identifies this piece of work; it is the same when the work is requested again after a
	// crash. An AgentID is not sufficient: a node that runs twice, for example in a loop, uses the
	// same AgentID both times.
	Key string
	// AgentName is the agent's name in the registry.
	AgentName    string
	Task         string
	SystemPrompt string // "" means the agent's own
	Model        string // "" means the agent's own
	// Tools lists the tools that the agent may use instead of its own; nil means its own.
	Tools []string
}

// SubagentResult is the result of an agent.
type SubagentResult struct {
	AgentID string `json:"agentId"`
	Success bool   `json:"success"`
	Output  string `json:"output"`
	// Error says why the agent failed; "" with Success.
	Error string `json:"error,omitempty"`
	// ToolUses is the number of the agent's tool calls.
	ToolUses int `json:"toolUses"`
	// DurationMS is how long the agent ran, in milliseconds.
	DurationMS int64 `json:"durationMs"`
}

// SubagentRegistry looks up agents by name. Implementations must be safe for concurrent use.
type SubagentRegistry interface {
	Get(name string) (SubagentInfo, bool)
	// All returns all agents, in a stable order.
	All() []SubagentInfo
}

// SubagentInfo describes an agent.
type SubagentInfo struct{ Name, Description string }

// ToolRegistry looks up tools by name. Implementations must be safe for concurrent use.
type ToolRegistry interface {
	Get(name string) (ToolHandler, bool)
	// Names returns the names of all tools, sorted.
	Names() []string
}

// ToolHandler executes one call of a registered tool; arguments and result are JSON.
type ToolHandler func(ctx context.Context, args json.RawMessage, c ToolContext) (json.RawMessage, error)

// ToolContext tells a registered tool who calls it.
type ToolContext struct {
	// SessionID is the execution id, MessageID identifies the call and is the same for all its
	// attempts, Agent is "workflow".
	SessionID, MessageID, Agent string
	// Directory is the working directory of the process.
	Directory           string
	NodeID, ExecutionID string
	// State is a copy of the run's state.
	State json.RawMessage
}
