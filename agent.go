package hocket

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/documents"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Agent is an agent that documents may reference, and that subagent nodes of graphs and
// [SubagentAs] call. Its fields are the keys of agents in documents (docs/agents.md), with the same
// names and meanings; Name is their id. A number of 0 means the default; use [graph.Zero] for an
// actual zero.
type Agent struct {
	// Name is the agent's id: letters, digits, `_`, `-` and spaces. Title is the display name; ""
	// means Name.
	Name, Title string
	// Description tells models that choose among agents what the agent is for.
	Description  string
	SystemPrompt string
	// Model is a model reference such as openai/gpt-6.1-terra; "" means the model of the run, or
	// else HOCKET_MODEL.
	Model string
	// Params are sent to the provider with each call.
	Params ModelParams
	// Tools lists the names of the tools that the agent may use; nil means none.
	Tools []string
	// Toolsets are the agent's own toolsets: MCP servers, files, a shell and so on. A program that
	// declares them thereby allows what they start and reach, in runs that its graphs and functions
	// start; if a document names the agent, [StartOptions].Trust decides.
	Toolsets []Toolset
	// Permissions specifies which tool calls are made, which require a person's approval, and which
	// are never made.
	Permissions Permissions
	// SubAgents lists agents that this agent may call, each through a tool `transfer_task_NAME`;
	// Handoffs lists agents that it may hand the conversation over to. The names refer to agents of
	// the program, or else of the catalog.
	SubAgents, Handoffs []string
	// StructuredOutput requests a JSON value instead of text; nil means text. [SubagentAs] sets its
	// own.
	StructuredOutput *StructuredOutput
	// MaxIterations limits the model calls of one execution; 0 means 50. MaxConsecutiveToolCalls is
	// the number of identical consecutive tool calls that ends the execution as no_progress; 0
	// means 5. Tokens and money are limited by [graph.NodeOptions].Budget, [SubagentOptions].Limits
	// and the limits of runs.
	MaxIterations, MaxConsecutiveToolCalls int
	// ToolCalls is the order of the tool calls of one reply: "ordered" or "" makes a call that may
	// change something alone, in the order of the reply; "parallel" makes all of them concurrently.
	ToolCalls string
	// Fallback specifies what happens if the agent's model fails.
	Fallback Fallback
	// Compaction replaces the older part of a long conversation with a summary. If nil, the
	// conversation is kept whole. The zero Compaction uses all defaults.
	Compaction *Compaction
	// AddDate appends the date to the system prompt, AddEnvironmentInfo the working directory and
	// the operating system, and AddPromptFiles the contents of files, which are looked up in the
	// working directory and its parents. They are read once, when the run starts.
	AddDate, AddEnvironmentInfo bool
	AddPromptFiles              []string
	// Commands holds prompts by name: if a document starts with this agent, the input `/name
	// arguments` runs one.
	Commands map[string]AgentCommand
	// WelcomeMessage is printed on a terminal before a run of a document that starts with this
	// agent.
	WelcomeMessage string
}

// ModelParams are sent to the model's provider. A value of 0, "" or nil means the default; use
// graph.Zero for an actual 0.
type ModelParams struct {
	Temperature, TopP, FrequencyPenalty, PresencePenalty float64
	// MaxTokens limits the tokens of one reply.
	MaxTokens int64
	// ReasoningEffort is a provider-specific word such as low or high. ThinkingBudget is a number
	// of tokens; graph.Zero turns thinking off, -1 lets the model decide.
	ReasoningEffort string
	ThinkingBudget  int64
	Stop            []string
	// Provider holds provider-specific options under the provider's names; values must be
	// representable in JSON.
	Provider map[string]any
}

// Toolset is a set of tools in document form (docs/tools.md), including its type:
//
//	hocket.Toolset{"type": "mcp", "command": "weather-mcp", "args": []string{"--metric"}}
//	hocket.Toolset{"type": "mcp", "remote": map[string]any{"url": "https://example.com/mcp"}}
type Toolset map[string]any

// Permissions holds patterns of tool calls: `tool`, `toolset/*`, `tool:argument=glob`
// (docs/permissions.md). Deny takes precedence over Ask, and Ask over Allow.
type Permissions struct {
	Allow, Ask, Deny []string
	// Edit lists the calls whose arguments may be changed by the person who approves them
	// ([Answer.Arguments]).
	Edit []string
	// Default applies to calls that match no pattern: allow, ask or deny; "" means allow.
	Default string
}

// StructuredOutput requests a JSON value that conforms to a schema.
type StructuredOutput struct {
	Name, Description string
	// Schema is required; use graph.SchemaOf for a type, or graph.SchemaJSON.
	Schema *graph.Schema
	// Strict asks the provider to enforce the schema.
	Strict bool
	// Repairs is how often the model may be asked to repair a reply that does not conform; 0 means
	// 2.
	Repairs int
}

// Fallback specifies what happens if a model fails (docs/agents.md#fallbacks).
type Fallback struct {
	// Models are tried in order.
	Models []string
	// Retries is how often each model is retried; 0 means 2 if Models is set.
	Retries int
	// Cooldown is how long the agent keeps using a fallback model that answered; 0 means one
	// minute.
	Cooldown time.Duration
}

// Compaction specifies when a conversation is shortened (docs/agents.md#long-conversations).
type Compaction struct {
	// At is the threshold: a fraction of the model's context window, greater than 0 and at most 1,
	// or a number of tokens, at least 100; 0 means 0.8.
	At float64
	// Keep is how many of the most recent groups are kept; 0 means 6.
	Keep int
	// Pin lists tools whose calls and results are kept.
	Pin []string
	// Model writes the summary; "" means the model that the agent uses.
	Model string
}

// AgentCommand is a prompt that users invoke by name.
type AgentCommand struct{ Description, Instruction string }

// WithAgent adds an agent. Names must be unique. [Open] returns an error for an invalid value and
// for a toolset, pattern or schema that cannot be parsed. Agents that the agent references are
// looked up when it is called.
func WithAgent(a Agent) Option {
	return option(func(s *settings) {
		if a.Name == "" {
			s.problemf("an agent has no name")
			return
		}
		for i := range s.agents {
			if s.agents[i].ID == a.Name {
				s.problemf("two agents have the name %q", a.Name)
				return
			}
		}
		def, err := a.definition()
		if err != nil {
			s.problemf("agent %q: %w", a.Name, err)
			return
		}
		s.agents = append(s.agents, def)
	})
}

// lacking returns an error that names what the toolsets of the program's agents need and no option
// provides.
func (s *settings) lacking() error {
	for i := range s.agents {
		for _, raw := range s.agents[i].Toolsets {
			var set struct {
				Type string `json:"type"`
			}
			if json.Unmarshal(raw, &set) == nil && set.Type == tool.TypeMCP && s.Documents.MCP == nil {
				return fmt.Errorf("agent %q: %w", s.agents[i].ID, documents.ErrNoMCP)
			}
		}
	}
	return nil
}

// definition returns the agent as workflows represent it. The result shares nothing with a.
func (a *Agent) definition() (workflow.Agent, error) {
	d := workflow.Agent{
		ID: a.Name, Name: a.Name, Description: a.Description, Model: a.Model, System: a.SystemPrompt,
		Tools:     slices.Clone(a.Tools),
		Fallbacks: slices.Clone(a.Fallback.Models), FallbackRetries: a.Fallback.Retries,
		FallbackCooldown: workflow.Duration(a.Fallback.Cooldown),
		Handoffs:         slices.Clone(a.Handoffs), AddDate: a.AddDate, AddEnvironment: a.AddEnvironmentInfo,
		PromptFiles: slices.Clone(a.AddPromptFiles), Welcome: a.WelcomeMessage,
		MaxTurns: a.MaxIterations, NoProgress: a.MaxConsecutiveToolCalls, ToolCalls: a.ToolCalls,
	}
	if a.Title != "" {
		d.Name = a.Title
	}
	if d.FallbackRetries == graph.Zero {
		d.FallbackRetries = -1
	}
	for _, id := range a.SubAgents {
		d.Subagents = append(d.Subagents, workflow.Subagent{Agent: id})
		d.SubagentFailure = workflow.SubagentReports
	}
	if p := a.Permissions; len(p.Allow)+len(p.Ask)+len(p.Deny)+len(p.Edit) > 0 || p.Default != "" {
		d.Permissions = []workflow.Permissions{{Allow: slices.Clone(p.Allow), Ask: slices.Clone(p.Ask),
			Deny: slices.Clone(p.Deny), Edit: slices.Clone(p.Edit), Default: p.Default}}
	}
	for _, name := range slices.Sorted(maps.Keys(a.Commands)) {
		if d.Commands == nil {
			d.Commands = map[string]workflow.Command{}
		}
		d.Commands[name] = workflow.Command(a.Commands[name])
	}
	var err error
	if d.Params, err = a.Params.definition(); err != nil {
		return d, err
	}
	if d.Toolsets, err = toolsetsOf(a.Toolsets); err != nil {
		return d, err
	}
	if d.Output, err = a.StructuredOutput.definition(); err != nil {
		return d, err
	}
	if a.Fallback.Cooldown < 0 {
		return d, fmt.Errorf("Fallback.Cooldown is %s; it must not be negative", a.Fallback.Cooldown)
	}
	d.Compaction, err = a.Compaction.definition()
	return d, err
}

// numberSetting returns nil for 0, which means the default, a pointer to 0 for graph.Zero, and a
// pointer to n otherwise.
func numberSetting[T int | int64 | float64](n T) *T {
	switch n {
	case 0:
		return nil
	case graph.Zero:
		n = 0
	}
	return &n
}

func (p *ModelParams) definition() (workflow.ModelParams, error) {
	d := workflow.ModelParams{
		Temperature: numberSetting(p.Temperature), TopP: numberSetting(p.TopP),
		FrequencyPenalty: numberSetting(p.FrequencyPenalty),
		PresencePenalty:  numberSetting(p.PresencePenalty), MaxTokens: numberSetting(p.MaxTokens),
		ReasoningEffort: p.ReasoningEffort, ThinkingBudget: numberSetting(p.ThinkingBudget), Stop: slices.Clone(p.Stop),
	}
	for _, name := range slices.Sorted(maps.Keys(p.Provider)) {
		raw, err := json.Marshal(p.Provider[name])
		if err != nil {
			return d, fmt.Errorf("Params.Provider %q: %w", name, err)
		}
		if d.Provider == nil {
			d.Provider = map[string]json.RawMessage{}
		}
		d.Provider[name] = raw
	}
	return d, nil
}

func toolsetsOf(list []Toolset) ([]json.RawMessage, error) {
	var out []json.RawMessage
	for i, t := range list {
		raw, err := json.Marshal(t)
		if err != nil {
			return nil, fmt.Errorf("toolset %d: %w", i, err)
		}
		if name, ok := t["type"].(string); !ok || name == "" {
			return nil, fmt.Errorf(`toolset %d has no type; write hocket.Toolset{"type": "mcp", …}`, i)
		}
		out = append(out, raw)
	}
	return out, nil
}

func (o *StructuredOutput) definition() (*workflow.Output, error) {
	if o == nil {
		return nil, nil //nolint:nilnil // the agent answers in text
	}
	schema, err := schemaText(o.Schema)
	if err != nil {
		return nil, fmt.Errorf("StructuredOutput: %w", err)
	}
	if o.Description != "" {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(schema, &members); err == nil && members["description"] == nil {
			if members["description"], err = json.Marshal(o.Description); err != nil {
				return nil, fmt.Errorf("StructuredOutput: %w", err)
			}
			if schema, err = json.Marshal(members); err != nil {
				return nil, fmt.Errorf("StructuredOutput: %w", err)
			}
		}
	}
	return &workflow.Output{Name: o.Name, Schema: schema, Strict: o.Strict, Repairs: numberSetting(o.Repairs)}, nil
}

// schemaText returns a schema as JSON, or an error that says why it cannot be used.
func schemaText(s *graph.Schema) (json.RawMessage, error) {
	if s == nil {
		return nil, errors.New("it has no Schema; make it with graph.SchemaOf or graph.SchemaJSON")
	}
	text := s.String()
	if text == "" {
		return nil, s.Check("", nil)
	}
	return json.RawMessage(text), nil
}

func (c *Compaction) definition() (*workflow.Compaction, error) {
	if c == nil {
		return nil, nil //nolint:nilnil // conversations stay whole
	}
	d := &workflow.Compaction{Keep: c.Keep, Pin: slices.Clone(c.Pin), Model: c.Model}
	switch {
	case c.At >= 0 && c.At <= 1:
		d.At = c.At
	case c.At >= workflow.MinCompactTokens && c.At < 1<<53 && c.At == float64(int64(c.At)):
		d.Tokens = int64(c.At)
	default:
		return nil,
			fmt.Errorf("Compaction.At is %v; it must be a part of the context window, above 0 and at most 1, or a "+
				"number of tokens, %d or more", c.At, workflow.MinCompactTokens)
	}
	return d, nil
}
