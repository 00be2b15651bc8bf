package config

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/tool"
)

// Config is what the operator says. The zero Config says nothing.
type Config struct {
	// Path is the file that was read; "" where there is none.
	Path string `json:"-"`
	// DefaultModel is for agents without a model of their own, after HOCKET_MODEL (D26).
	DefaultModel string `json:"defaultModel"`
	// Providers and Models are by the name under which references mean them. They win over those of documents and over built-in ones.
	Providers map[string]Provider `json:"providers"`
	Models    map[string]Model    `json:"models"`
	// MCPs are servers that toolsets of documents name by `ref`; Toolsets are offered to agents that list them or their tools by name. All are
	// trusted.
	MCPs     map[string]tool.Spec `json:"-"`
	Toolsets []tool.Spec          `json:"-"`

	// Permissions are for every tool call of every run: no document loosens them (SEC12).
	Permissions permit.Rules `json:"permissions"`
	Budgets     Budgets      `json:"budgets"`
	// Prices is a file of prices of models; "": there is none.
	Prices    string    `json:"prices"`
	Telemetry Telemetry `json:"telemetry"`

	Search Search `json:"search"`

	Limits   Limits   `json:"limits"`
	Outbound Outbound `json:"outbound"`
	Store    Store    `json:"store"`
	Temporal Temporal `json:"temporal"`
	Server   Server   `json:"server"`
	// Retention is that of processes that stay.
	Retention Retention `json:"retention"`
}

// Provider is a model provider. What is zero is as for the known provider of the same name, else as for a server that speaks the protocol.
type Provider struct {
	// Protocol is one of model.Protocol; "": that of the known provider, else openai.
	Protocol string `json:"protocol"`
	BaseURL  string `json:"base_url"`
	// Key is a reference as package secret reads it.
	Key string `json:"key"`
	// What the provider takes of one key, over all runs of all processes on the store (P14); 0: no such bound.
	RequestsPerMinute int   `json:"requests_per_minute"`
	TokensPerMinute   int64 `json:"tokens_per_minute"`
	Concurrency       int   `json:"concurrency"`
}

// Model is a model under a name of its own.
type Model struct {
	Provider string      `json:"provider"`
	Model    string      `json:"model"`
	Params   ModelParams `json:"params"`
}

// ModelParams are for calls of agents that say nothing else.
type ModelParams struct {
	Temperature     *float64                   `json:"temperature"`
	TopP            *float64                   `json:"top_p"`
	MaxTokens       *int64                     `json:"max_tokens"`
	ReasoningEffort string                     `json:"reasoning_effort"`
	ThinkingBudget  *int64                     `json:"thinking_budget"`
	ProviderOptions map[string]json.RawMessage `json:"provider_options"`
}

// Limits bound calls of all runs of a process. Zero values are Hocket's own defaults.
type Limits struct {
	// MaxCalls bounds the calls in flight.
	MaxCalls int `json:"maxCalls"`
	// ModelTimeout and ModelIdleTimeout bound a model call whose node says nothing: in total, and without a sign of life (P11).
	ModelTimeout     Duration `json:"modelTimeout"`
	ModelIdleTimeout Duration `json:"modelIdleTimeout"`
	// ToolTimeout bounds a tool call whose toolset says nothing.
	ToolTimeout Duration `json:"toolTimeout"`
	// ReplyBytes and ReplyCalls bound one reply of a model: its size, and the tool calls in it. ResultBytes bounds one result of a tool (SEC17).
	ReplyBytes  int64 `json:"replyBytes"`
	ReplyCalls  int   `json:"replyCalls"`
	ResultBytes int64 `json:"resultBytes"`
}

// Budgets are the most that documents and flags may ask for (P20).
type Budgets struct {
	Run Budget `json:"run"`
	// Workflow bounds all runs of one workflow together.
	Workflow WorkflowBudget `json:"workflow"`
	// Uncounted is workflow.UncountedRefuse ("" too) or UncountedAllow.
	Uncounted string `json:"uncounted"`
}

// Spans over which a WorkflowBudget counts, in UTC.
const (
	PerDay   = "day"
	PerMonth = "month"
	PerTotal = "total"
)

// WorkflowBudget bounds what all runs of one workflow use together in a span of time. Zero values bound nothing.
type WorkflowBudget struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"costUSD"`
	// Calls counts model calls and tool calls, by attempt.
	Calls int64 `json:"calls"`
	// Per is PerDay, PerMonth or PerTotal ("" too).
	Per string `json:"per"`
}

// Budget bounds a run. Zero values bound nothing.
type Budget struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"costUSD"`
	// Calls counts model calls and tool calls, by attempt.
	Calls int64 `json:"calls"`
	// OnReached is workflow.OnBudgetFail ("" too) or OnBudgetPause, for runs whose document does not say it.
	OnReached string `json:"onReached"`
}

// Search says how agents search the web that list web_search without a provider of searches.
type Search struct {
	// Native lets models search by their provider's own means, where they can.
	Native bool `json:"native"`
}

// Telemetry is where traces and metrics go. The standard variables OTEL_… win over it.
type Telemetry struct {
	// Endpoint is the base address of a collector that speaks OTLP over HTTP; "": nothing is sent.
	Endpoint string `json:"endpoint"`
	// Content sends prompts and answers too.
	Content bool `json:"content"`
}

// Outbound is where requests may go beside the public internet.
type Outbound struct {
	// Allow holds hosts, host:port or URLs (SEC8).
	Allow []string `json:"allow"`
}

// Store is where runs are kept.
type Store struct {
	// Path comes after --db and HOCKET_DB; relative to the folder of the file. "" says nothing.
	Path string `json:"path"`
}

// Duration is a time.Duration that JSON and YAML write as text: 90s, 1h30m, 30d.
type Duration time.Duration

// UnmarshalJSON reads the text form.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	v, err := parseDuration(text)
	*d = Duration(v)
	return err
}
