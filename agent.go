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

// Agent is an agent that documents may name, and that subagent nodes of graphs and [SubagentAs] ask. Its fields are the keys of agents in documents (docs/agents.md), with the
// same names and meanings; Name is their id. A number that is 0 means the default, [graph.Zero] none at all.
type Agent struct {
	// Name is its id: letters, digits, `_`, `-` and spaces. Title is what people see; "" is Name.
	Name, Title string
	// Description says what the agent is for, to models that choose among agents.
	Description  string
	SystemPrompt string
	// Model is a reference such as openai/gpt-6.1-terra; "" is that of the run, else HOCKET_MODEL.
	Model string
	// Params go to the provider with each call.
	Params ModelParams
	// Tools are the names of the tools that it may use; nil: none (SEC13).
	Tools []string
	// Toolsets belong to the agent: servers of MCP, files, a shell and so on. The program that names them allows what they start and reach, in runs that its graphs and functions start;
	// where a document names the agent, [StartOptions].Trust does (SEC5).
	Toolsets []Toolset
	// Permissions say which calls of its tools are made, which a person is asked about, and which are never made.
	Permissions Permissions
	// SubAgents are agents that it may ask, each by a tool `transfer_task_NAME`; Handoffs are those that it may hand the conversation over to. Both are names of agents of
	// the program, else of the catalog.
	SubAgents, Handoffs []string
	// StructuredOutput asks for a JSON value in place of text; nil: text. [SubagentAs] asks for its own.
	StructuredOutput *StructuredOutput
	// MaxIterations bounds model calls of one execution; 0: 50. MaxConsecutiveToolCalls is how many identical calls one after another end it as no_progress; 0: 5. Tokens and money are
	// bounded by [graph.NodeOptions].Budget, [SubagentOptions].Limits and the limits of runs.
	MaxIterations, MaxConsecutiveToolCalls int
	// Fallback says what follows where its model fails.
	Fallback Fallback
	// Compaction puts a summary into the place of the older part of a long conversation; nil: it stays whole. The zero Compaction has all defaults.
	Compaction *Compaction
	// AddDate puts the day behind the system prompt, AddEnvironmentInfo the working directory and the system, AddPromptFiles the texts of files, looked up in the working directory and in the
	// folders above it. They are taken once, when the run begins.
	AddDate, AddEnvironmentInfo bool
	AddPromptFiles              []string
	// Commands are prompts by name: where a document begins with the agent, the input `/name arguments` runs one.
	Commands map[string]AgentCommand
	// WelcomeMessage is shown on a terminal before a run of a document that begins with the agent.
	WelcomeMessage string
}

// ModelParams go to a model's provider. What is 0, "" or nil leaves its default; graph.Zero is a 0.
type ModelParams struct {
	Temperature, TopP, FrequencyPenalty, PresencePenalty float64
	// MaxTokens bounds the tokens of one answer.
	MaxTokens int64
	// ReasoningEffort is a word of the provider, such as low or high. ThinkingBudget is a number of tokens; graph.Zero switches thinking off, -1 lets the model decide.
	ReasoningEffort string
	ThinkingBudget  int64
	Stop            []string
	// Provider are options as the provider names them; values are what JSON can hold.
	Provider map[string]any
}

// Toolset is a set of tools in the form of documents (docs/tools.md), with its type:
//
//	hocket.Toolset{"type": "mcp", "command": "weather-mcp", "args": []string{"--metric"}}
//	hocket.Toolset{"type": "mcp", "remote": map[string]any{"url": "https://example.com/mcp"}}
type Toolset map[string]any

// Permissions are patterns of tool calls: `tool`, `toolset/*`, `tool:argument=glob` (docs/permissions.md). Deny wins over Ask, Ask over Allow.
type Permissions struct {
	Allow, Ask, Deny []string
	// Edit names the calls whose arguments a person who is asked about them may change ([Answer.Arguments]).
	Edit []string
	// Default is for calls that nothing names: allow, ask or deny; "": allow.
	Default string
}

// StructuredOutput asks for a JSON value of a schema.
type StructuredOutput struct {
	Name, Description string
	// Schema is required: graph.SchemaOf of a type, or graph.SchemaJSON.
	Schema *graph.Schema
	// Strict asks the provider to hold to the schema.
	Strict bool
	// Repairs bounds how often the model is asked to mend a reply that does not fit; 0: 2.
	Repairs int
}

// Fallback says what follows where a model fails (docs/agents.md#fallbacks).
type Fallback struct {
	// Models are tried in order.
	Models []string
	// Retries is how often each model is asked again; 0: 2 where there are Models.
	Retries int
	// Cooldown is how long the agent stays with a model that answered in place of its own; 0: a minute.
	Cooldown time.Duration
}

// Compaction says when a conversation is shortened (docs/agents.md#long-conversations).
type Compaction struct {
	// At is from when on: a part of the model's context window, above 0 and at most 1, or a number of tokens, 100 or more; 0: 0.8.
	At float64
	// Keep is how many of the last groups stay; 0: 6.
	Keep int
	// Pin are tools whose calls and results stay.
	Pin []string
	// Model writes the summary; "": the one that the agent asks.
	Model string
}

// AgentCommand is a prompt that people call by its name.
type AgentCommand struct{ Description, Instruction string }

// WithAgent adds an agent. Names must be unique. Errors, of [Open]: a value that cannot be, a toolset, a pattern or a schema that cannot be read. Agents that it names are looked up when it is asked.
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

// lacking tells what the toolsets of the program's agents need and no option gave.
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

// definition is the agent as workflows have it. It shares nothing with a.
func (a *Agent) definition() (workflow.Agent, error) {
	d := workflow.Agent{
		ID: a.Name, Name: a.Name, Description: a.Description, Model: a.Model, System: a.SystemPrompt, Tools: slices.Clone(a.Tools),
		Fallbacks: slices.Clone(a.Fallback.Models), FallbackRetries: a.Fallback.Retries, FallbackCooldown: workflow.Duration(a.Fallback.Cooldown),
		Handoffs: slices.Clone(a.Handoffs), AddDate: a.AddDate, AddEnvironment: a.AddEnvironmentInfo, PromptFiles: slices.Clone(a.AddPromptFiles), Welcome: a.WelcomeMessage,
		MaxTurns: a.MaxIterations, NoProgress: a.MaxConsecutiveToolCalls,
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
		d.Permissions = []workflow.Permissions{{Allow: slices.Clone(p.Allow), Ask: slices.Clone(p.Ask), Deny: slices.Clone(p.Deny), Edit: slices.Clone(p.Edit), Default: p.Default}}
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

// said gives what a number says: nil where it is 0, the default, and 0 for graph.Zero.
func said[T int | int64 | float64](n T) *T {
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
		Temperature: said(p.Temperature), TopP: said(p.TopP), FrequencyPenalty: said(p.FrequencyPenalty), PresencePenalty: said(p.PresencePenalty), MaxTokens: said(p.MaxTokens),
		ReasoningEffort: p.ReasoningEffort, ThinkingBudget: said(p.ThinkingBudget), Stop: slices.Clone(p.Stop),
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
	return &workflow.Output{Name: o.Name, Schema: schema, Strict: o.Strict, Repairs: said(o.Repairs)}, nil
}

// schemaText gives a schema as JSON. The error says why there is none.
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
		return nil, fmt.Errorf("Compaction.At is %v; it must be a part of the context window, above 0 and at most 1, or a number of tokens, %d or more", c.At, workflow.MinCompactTokens)
	}
	return d, nil
}
