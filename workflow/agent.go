package workflow

import (
	"encoding/json"
	"time"
)

// Agent is the configuration of a model's role: instruction, model, tools, limits.
type Agent struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Model is a reference `provider/model` or a bare name; empty means the run's default.
	Model string `json:"model,omitempty"`
	// Fallbacks are tried in order if the preceding model fails in a way in which another model may
	// not.
	Fallbacks []string `json:"fallbacks,omitempty"`
	// FallbackRetries is how often each model is called again, after a delay, if the same call may
	// well succeed; see [Agent.ModelRetries].
	FallbackRetries int `json:"fallbackRetries,omitempty"`
	// FallbackCooldown is how long the agent stays with a fallback that replied; 0 means
	// DefaultCooldown.
	FallbackCooldown Duration `json:"fallbackCooldown,omitempty"`
	// Compaction shortens conversations that become long; nil means that they are never shortened.
	Compaction *Compaction `json:"compaction,omitempty"`
	// System is the system prompt. If Template is set, each `{{ $steps… }}` in it is replaced;
	// otherwise it is sent as written.
	System   string `json:"system,omitempty"`
	Template bool   `json:"template,omitempty"`
	// Tokens replaces the tokens of [PromptTemplate] in System as well. For a sub-agent the input
	// is what it is called with.
	Tokens bool        `json:"tokens,omitempty"`
	Params ModelParams `json:"params,omitzero"`
	// Tools are names of tools that the agent may use in addition to its toolsets; `*` means every
	// tool of the operator's tools file.
	Tools []string `json:"tools,omitempty"`
	// Toolsets are specifications in the form used in steps documents; the tool registry parses
	// them, the engine does not.
	Toolsets []json.RawMessage `json:"toolsets,omitempty"`
	// Permissions specify which calls of granted tools are made immediately, which need a person's
	// approval, and which are never made; if empty, all calls are made. All of them apply, in
	// addition to the operator's; the strictest takes precedence.
	Permissions []Permissions `json:"permissions,omitempty"`
	// Subagents are agents offered as tools.
	Subagents []Subagent `json:"subagents,omitempty"`
	// SubagentFailure determines the effect of a failed sub-agent: SubagentFails (the default)
	// fails this agent; SubagentReports returns the error to the model as the tool's result.
	SubagentFailure string `json:"subagentFailure,omitempty"`
	// Handoffs are IDs of agents to which this one may hand over the conversation, with a tool
	// named [HandoffTool]. The agent that takes over continues in the same step with its own
	// instruction, model, tools, output and limits; the conversation so far is kept.
	Handoffs []string `json:"handoffs,omitempty"`
	// AddDate, AddEnvironment and PromptFiles append facts about the environment to the system
	// prompt: the day on which the run began, where it runs, and the contents of files next to the
	// document. They are captured once, when the run begins, and stored with it, so that every call
	// of the run gets the same.
	AddDate        bool     `json:"addDate,omitempty"`
	AddEnvironment bool     `json:"addEnvironment,omitempty"`
	PromptFiles    []string `json:"promptFiles,omitempty"`
	// Commands holds prompts by name. If the agent is the first one in a run, an input `/name
	// arguments` is replaced by the prompt with that name.
	Commands map[string]Command `json:"commands,omitempty"`
	// Welcome is shown to a person at a terminal before a run. It is not sent to any model.
	Welcome string `json:"welcome,omitempty"`
	// Output requests a JSON value instead of text; nil means text.
	Output *Output `json:"output,omitempty"`
	// MaxTurns is the maximum number of model calls in one execution; 0 means DefaultMaxTurns.
	MaxTurns int `json:"maxTurns,omitempty"`
	// NoProgress ends the step after that many identical consecutive tool calls, or after that many
	// rounds of the same two or three calls with the same results; 0 means DefaultNoProgress.
	NoProgress int `json:"noProgress,omitempty"`
	// ToolCalls determines in which order the tool calls of one reply take effect:
	// ToolCallsOrdered (the default) or ToolCallsParallel.
	ToolCalls string `json:"toolCalls,omitempty"`
	// Trim strips white space around the reply's text; EmptyText replaces an empty reply.
	Trim      bool   `json:"trim,omitempty"`
	EmptyText string `json:"emptyText,omitempty"`
}

// Compaction specifies when a summary replaces part of a conversation, and what is kept. The first
// message, which is the task, the newest user message and calls without results are always kept. In
// the zero Compaction each field has its default.
type Compaction struct {
	// At is the fraction of the model's context window at which the conversation is shortened,
	// above 0 and at most 1; 0 means DefaultCompactAt, unless Tokens is set. If the size of the
	// window is unknown, the conversation is shortened only after an error from the provider.
	At float64 `json:"at,omitempty"`
	// Tokens is the number of tokens at which the conversation is shortened, and takes precedence
	// over At; 0 means that At applies.
	Tokens int64 `json:"tokens,omitempty"`
	// Keep is how many of the last groups are kept, where a group is a user message or a reply with
	// its results; 0 means DefaultCompactKeep.
	Keep int `json:"keep,omitempty"`
	// Pin lists tools whose calls and results are kept.
	Pin []string `json:"pin,omitempty"`
	// Model is the model that writes the summary; empty means the model that the agent calls.
	Model string `json:"model,omitempty"`
}

// Threshold returns the number of tokens at which a conversation is shortened, or 0 if it is
// unknown. window is the size of the model's context window, or 0 if that is unknown.
func (c *Compaction) Threshold(window int64) int64 {
	if c.Tokens > 0 {
		return c.Tokens
	}
	at := c.At
	if at == 0 {
		at = DefaultCompactAt
	}
	return int64(at * float64(window))
}

// Groups returns Keep or its default.
func (c *Compaction) Groups() int {
	if c.Keep == 0 {
		return DefaultCompactKeep
	}
	return c.Keep
}

// Models returns the models that may be called for the agent: its own, fallbacks, and the model
// that writes summaries.
func (a *Agent) Models() []string {
	out := append([]string{a.Model}, a.Fallbacks...)
	if a.Compaction != nil && a.Compaction.Model != "" {
		out = append(out, a.Compaction.Model)
	}
	return out
}

// Permissions are patterns of tool calls, in the form of docker-agent: `tool`, `toolset/*`,
// `tool:argument=glob`. Deny takes precedence over ask, and ask over allow. Package permit defines
// their exact meaning; the engine does not interpret them.
type Permissions struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// Edit lists the calls whose arguments a person may change when asked about them.
	Edit []string `json:"edit,omitempty"`
	// Default applies to calls that no pattern matches: allow, ask or deny; empty means allow.
	Default string `json:"default,omitempty"`
}

// The values of Agent.SubagentFailure.
const (
	SubagentFails   = "fail"
	SubagentReports = "report"
)

// The values of Agent.ToolCalls.
const (
	// ToolCallsOrdered makes a call that may change something alone, after the calls before it in
	// the reply have ended and before those behind it begin. Neighbouring calls that only read, and
	// those of sub-agents and workflows, are made concurrently.
	ToolCallsOrdered = "ordered"
	// ToolCallsParallel makes all calls of a reply concurrently.
	ToolCallsParallel = "parallel"
)

// HandoffTool is the name of the tool with which an agent hands over; its input is {"agent": id}.
const HandoffTool = "handoff"

// Command is a prompt that people invoke by its name. Validate rejects the zero Command, which has
// no content.
type Command struct {
	Description string `json:"description,omitempty"`
	// Instruction becomes the input of the run. `${args}` and `$ARGUMENTS` in it are replaced by
	// what follows the name, `$1` to `$9` by its words.
	Instruction string `json:"instruction"`
}

// Title returns Name, or ID if there is no name.
func (a *Agent) Title() string {
	if a.Name != "" {
		return a.Name
	}
	return a.ID
}

// ModelRetries returns how often the agent itself retries each of its models: FallbackRetries or,
// if that is 0, DefaultModelRetries with fallbacks and 0 without. A negative FallbackRetries means
// 0.
func (a *Agent) ModelRetries() int {
	switch {
	case a.FallbackRetries != 0:
		return max(0, a.FallbackRetries)
	case len(a.Fallbacks) > 0:
		return DefaultModelRetries
	}
	return 0
}

// Cooldown returns FallbackCooldown or its default.
func (a *Agent) Cooldown() time.Duration {
	if a.FallbackCooldown <= 0 {
		return DefaultCooldown
	}
	return time.Duration(a.FallbackCooldown)
}

// Turns returns MaxTurns or its default.
func (a *Agent) Turns() int {
	if a.MaxTurns <= 0 {
		return DefaultMaxTurns
	}
	return a.MaxTurns
}

// Repeats returns NoProgress or its default.
func (a *Agent) Repeats() int {
	if a.NoProgress <= 0 {
		return DefaultNoProgress
	}
	return a.NoProgress
}

// TransferTool is docker-agent's name of the tool that passes a task to a sub-agent, with the input
// {"agent": string, "task": string, "expected_output": string}. Agents with sub-agents have it in
// addition to the tools of these; it is offered to those whose system prompt names it.
const TransferTool = "transfer_task"

// Delegates returns the names of the tools with which the agent passes work to other agents: those
// of its sub-agents, [TransferTool] if it has any, and [HandoffTool] if it hands over.
func (a *Agent) Delegates() []string {
	var names []string
	for _, s := range a.Subagents {
		names = append(names, s.Tool)
	}
	if len(names) > 0 {
		names = append(names, TransferTool)
	}
	if len(a.Handoffs) > 0 {
		names = append(names, HandoffTool)
	}
	return names
}

// Subagent is an agent offered as a tool with the input {"input": string}.
type Subagent struct {
	Agent       string `json:"agent"`
	Tool        string `json:"tool"`
	Description string `json:"description,omitempty"`
}

// Output is a structured reply.
type Output struct {
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema"`
	Strict bool            `json:"strict,omitempty"`
	// Repairs is how often the model is asked to correct a reply that does not match the schema;
	// nil means DefaultRepairs.
	Repairs *int `json:"repairs,omitempty"`
}

// RepairLimit returns Repairs or its default.
func (o *Output) RepairLimit() int {
	if o.Repairs == nil {
		return DefaultRepairs
	}
	return *o.Repairs
}

// IsZero reports whether no parameter is set.
func (p ModelParams) IsZero() bool {
	return p.Temperature == nil && p.TopP == nil && p.FrequencyPenalty == nil && p.PresencePenalty == nil &&
		p.MaxTokens == nil &&
		p.ReasoningEffort == "" && p.ThinkingBudget == nil && len(p.Stop) == 0 && len(p.Provider) == 0
}

// ModelParams are passed to the provider unchanged; nil and "" mean the provider's default.
type ModelParams struct {
	Temperature      *float64 `json:"temperature,omitempty"`
	TopP             *float64 `json:"topP,omitempty"`
	FrequencyPenalty *float64 `json:"frequencyPenalty,omitempty"`
	PresencePenalty  *float64 `json:"presencePenalty,omitempty"`
	MaxTokens        *int64   `json:"maxTokens,omitempty"`
	ReasoningEffort  string   `json:"reasoningEffort,omitempty"`
	// ThinkingBudget is a number of tokens; 0 disables thinking, -1 lets the model decide.
	ThinkingBudget *int64                     `json:"thinkingBudget,omitempty"`
	Stop           []string                   `json:"stop,omitempty"`
	Provider       map[string]json.RawMessage `json:"provider,omitempty"`
}
