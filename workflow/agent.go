package workflow

import (
	"encoding/json"
	"time"
)

// Agent is who a model is asked to be: instruction, model, tools, limits.
type Agent struct {
	ID          string `json:"id"`
	Name        string `json:"name,omitempty"`
	Description string `json:"description,omitempty"`
	// Model is a reference `provider/model` or a bare name; "" leaves it to the run's default (D26).
	Model string `json:"model,omitempty"`
	// Fallbacks are tried in order where the model before them fails in a way that another one may not.
	Fallbacks []string `json:"fallbacks,omitempty"`
	// FallbackRetries is how often each model is asked again, after a delay, where the same call may well succeed: see [Agent.ModelRetries].
	FallbackRetries int `json:"fallbackRetries,omitempty"`
	// FallbackCooldown is how long the agent stays with a fallback that answered; 0: DefaultCooldown.
	FallbackCooldown Duration `json:"fallbackCooldown,omitempty"`
	// Compaction shortens conversations that become long; nil: they stay whole.
	Compaction *Compaction `json:"compaction,omitempty"`
	// System is the system prompt. Where Template is set, `{{ $steps… }}` in it are replaced (S4-15); else it is sent as written (S0-11).
	System   string      `json:"system,omitempty"`
	Template bool        `json:"template,omitempty"`
	Params   ModelParams `json:"params,omitzero"`
	// Tools are names of tools that the agent may use beside its toolsets; `*` stands for every tool of the operator's tools file.
	Tools []string `json:"tools,omitempty"`
	// Toolsets are specifications in the form of steps documents; the tool registry reads them, the engine does not.
	Toolsets []json.RawMessage `json:"toolsets,omitempty"`
	// Permissions say which calls of granted tools are made at once, which a person is asked about, and which are never made; none: all are made. They hold
	// all together, and what the operator says besides: the strictest wins.
	Permissions []Permissions `json:"permissions,omitempty"`
	// Subagents are agents offered as tools.
	Subagents []Subagent `json:"subagents,omitempty"`
	// SubagentFailure says what a failed sub-agent does: SubagentFails (default) fails this agent (S0-56), SubagentReports gives the error to
	// the model as the tool's result.
	SubagentFailure string `json:"subagentFailure,omitempty"`
	// Handoffs are ids of agents that this one may hand the conversation over to, by one tool with the name [HandoffTool]. The agent that takes
	// over goes on in the same step with its own instruction, model, tools, output and limits; what was said stays.
	Handoffs []string `json:"handoffs,omitempty"`
	// AddDate, AddEnvironment and PromptFiles put facts of the world behind the system prompt: the day on which the run began, where it runs, and the
	// texts of files beside the document. They are taken once, when the run begins, and kept with it: every call of it is sent the same.
	AddDate        bool     `json:"addDate,omitempty"`
	AddEnvironment bool     `json:"addEnvironment,omitempty"`
	PromptFiles    []string `json:"promptFiles,omitempty"`
	// Commands are prompts by name. Where the agent is the first that a run asks, an input `/name arguments` stands for the prompt of that name.
	Commands map[string]Command `json:"commands,omitempty"`
	// Welcome is shown to a person at a terminal before a run. No model is sent it.
	Welcome string `json:"welcome,omitempty"`
	// Output asks for a JSON value instead of text; nil: text.
	Output *Output `json:"output,omitempty"`
	// MaxTurns bounds model calls of one execution; 0: DefaultMaxTurns.
	MaxTurns int `json:"maxTurns,omitempty"`
	// NoProgress ends the step after that many identical tool calls one after another, or after that many rounds of the same two or three calls
	// with the same results (P27); 0: DefaultNoProgress.
	NoProgress int `json:"noProgress,omitempty"`
	// Trim strips blanks around the reply's text; EmptyText stands for an empty one (S0-16).
	Trim      bool   `json:"trim,omitempty"`
	EmptyText string `json:"emptyText,omitempty"`
}

// Compaction says when a summary takes the place of a part of a conversation, and what stays. The first message, which is the task, the newest one of the user and calls without results
// always stay. The zero Compaction has the default of each field.
type Compaction struct {
	// At is the part of the model's context window from which the conversation is shortened, above 0 and at most 1; 0: DefaultCompactAt, unless Tokens is set. Where the size of the window is not known
	// only an error of the provider shortens it.
	At float64 `json:"at,omitempty"`
	// Tokens is the number of tokens from which it is, in the place of At; 0: At counts.
	Tokens int64 `json:"tokens,omitempty"`
	// Keep is how many of the last groups stay, a message of the user or a reply with its results each; 0: DefaultCompactKeep.
	Keep int `json:"keep,omitempty"`
	// Pin are tools whose calls and results stay.
	Pin []string `json:"pin,omitempty"`
	// Model writes the summary; "": the model that the agent asks.
	Model string `json:"model,omitempty"`
}

// Threshold gives the tokens from which a conversation is shortened; 0: it is not known. window is the size of the model's context window, 0 where that is not.
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

// Groups gives Keep or its default.
func (c *Compaction) Groups() int {
	if c.Keep == 0 {
		return DefaultCompactKeep
	}
	return c.Keep
}

// Models gives the models that calls for the agent may ask: its own, fallbacks, and the one that writes summaries.
func (a *Agent) Models() []string {
	out := append([]string{a.Model}, a.Fallbacks...)
	if a.Compaction != nil && a.Compaction.Model != "" {
		out = append(out, a.Compaction.Model)
	}
	return out
}

// Permissions are patterns of tool calls, in the form of docker-agent's: `tool`, `toolset/*`, `tool:argument=glob`. Deny wins over ask, ask over allow.
// Package permit says what exactly they mean; the engine does not read them.
type Permissions struct {
	Allow []string `json:"allow,omitempty"`
	Ask   []string `json:"ask,omitempty"`
	Deny  []string `json:"deny,omitempty"`
	// Edit names the calls whose arguments a person who is asked about them may change.
	Edit []string `json:"edit,omitempty"`
	// Default is for calls that nothing names: allow, ask or deny; "": allow.
	Default string `json:"default,omitempty"`
}

const (
	SubagentFails   = "fail"
	SubagentReports = "report"
)

// HandoffTool is the tool by which an agent hands over; it takes {"agent": id}.
const HandoffTool = "handoff"

// Command is a prompt that people call by its name. The zero Command says nothing, which Validate refuses.
type Command struct {
	Description string `json:"description,omitempty"`
	// Instruction becomes the input of the run. `${args}` and `$ARGUMENTS` in it stand for what follows the name, `$1` to `$9` for its words.
	Instruction string `json:"instruction"`
}

// Title gives Name, or ID where there is no name.
func (a *Agent) Title() string {
	if a.Name != "" {
		return a.Name
	}
	return a.ID
}

// ModelRetries is how often each model of the agent is asked again by the agent itself: FallbackRetries, or where that is 0 DefaultModelRetries with fallbacks and none without.
// A negative FallbackRetries is none.
func (a *Agent) ModelRetries() int {
	switch {
	case a.FallbackRetries != 0:
		return max(0, a.FallbackRetries)
	case len(a.Fallbacks) > 0:
		return DefaultModelRetries
	}
	return 0
}

// Cooldown gives FallbackCooldown or its default.
func (a *Agent) Cooldown() time.Duration {
	if a.FallbackCooldown <= 0 {
		return DefaultCooldown
	}
	return time.Duration(a.FallbackCooldown)
}

// Turns gives MaxTurns or its default.
func (a *Agent) Turns() int {
	if a.MaxTurns <= 0 {
		return DefaultMaxTurns
	}
	return a.MaxTurns
}

// Repeats gives NoProgress or its default.
func (a *Agent) Repeats() int {
	if a.NoProgress <= 0 {
		return DefaultNoProgress
	}
	return a.NoProgress
}

// Subagent is an agent offered as a tool that takes {"input": string} (S0-55).
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
	// Repairs bounds how often the model is asked to mend a reply that does not fit; nil: DefaultRepairs.
	Repairs *int `json:"repairs,omitempty"`
}

// RepairLimit gives Repairs or its default.
func (o *Output) RepairLimit() int {
	if o.Repairs == nil {
		return DefaultRepairs
	}
	return *o.Repairs
}

// IsZero tells whether p says nothing.
func (p ModelParams) IsZero() bool {
	return p.Temperature == nil && p.TopP == nil && p.FrequencyPenalty == nil && p.PresencePenalty == nil && p.MaxTokens == nil &&
		p.ReasoningEffort == "" && p.ThinkingBudget == nil && len(p.Stop) == 0 && len(p.Provider) == 0
}

// ModelParams are handed to the provider as they are; nil and "" leave its default.
type ModelParams struct {
	Temperature      *float64 `json:"temperature,omitempty"`
	TopP             *float64 `json:"topP,omitempty"`
	FrequencyPenalty *float64 `json:"frequencyPenalty,omitempty"`
	PresencePenalty  *float64 `json:"presencePenalty,omitempty"`
	MaxTokens        *int64   `json:"maxTokens,omitempty"`
	ReasoningEffort  string   `json:"reasoningEffort,omitempty"`
	// ThinkingBudget is a number of tokens; 0 switches thinking off, -1 lets the model decide.
	ThinkingBudget *int64                     `json:"thinkingBudget,omitempty"`
	Stop           []string                   `json:"stop,omitempty"`
	Provider       map[string]json.RawMessage `json:"provider,omitempty"`
}
