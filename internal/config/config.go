package config

import (
	"encoding/json"
	"time"

	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/internal/tool"
)

// Config is the operator's configuration. The zero Config is an empty configuration.
type Config struct {
	// Path is the file that was read, or "" if there is none.
	Path string `json:"-"`
	// DefaultModel is the model of agents without their own model; HOCKET_MODEL takes precedence
	// (D26).
	DefaultModel string `json:"defaultModel"`
	// Providers and Models are keyed by the names that references use. They take precedence over
	// those of documents and over built-in ones.
	Providers map[string]Provider `json:"providers"`
	Models    map[string]Model    `json:"models"`
	// MCPs are servers that toolsets of documents refer to with `ref`; Toolsets are available to
	// agents that list them or their tools by name. All of them are trusted.
	MCPs     map[string]tool.Spec `json:"-"`
	Toolsets []tool.Spec          `json:"-"`

	// Permissions apply to every tool call of every run: no document can loosen them (SEC12).
	Permissions permit.Rules `json:"permissions"`
	Budgets     Budgets      `json:"budgets"`
	// Prices is a file with model prices; "" means that there is none.
	Prices    string    `json:"prices"`
	Telemetry Telemetry `json:"telemetry"`

	Search Search `json:"search"`

	Limits   Limits   `json:"limits"`
	Outbound Outbound `json:"outbound"`
	Store    Store    `json:"store"`
	Temporal Temporal `json:"temporal"`
	Server   Server   `json:"server"`
	// Retention applies to long-running processes.
	Retention Retention `json:"retention"`
}

// Provider is a model provider. Zero fields default to the values of the known provider with the
// same name, or else to those of a server that speaks the protocol.
type Provider struct {
	// Protocol is a model.Protocol; "" means that of the known provider, or else openai.
	Protocol string `json:"protocol"`
	BaseURL  string `json:"base_url"`
	// Key is a secret reference in the syntax of package secret.
	Key string `json:"key"`
	// RequestsPerMinute, TokensPerMinute and Concurrency are the limits of the provider for one API
	// key, over all runs of all processes on the store (P14); 0 means no limit.
	RequestsPerMinute int   `json:"requests_per_minute"`
	TokensPerMinute   int64 `json:"tokens_per_minute"`
	Concurrency       int   `json:"concurrency"`
	// Omit is as in workflow.Provider.
	Omit []string `json:"omit"`
}

// Model is a model to which the operator has given a name.
type Model struct {
	Provider string      `json:"provider"`
	Model    string      `json:"model"`
	Params   ModelParams `json:"params"`
}

// ModelParams are the default parameters of calls; agents can override them.
type ModelParams struct {
	Temperature     *float64                   `json:"temperature"`
	TopP            *float64                   `json:"top_p"`
	MaxTokens       *int64                     `json:"max_tokens"`
	ReasoningEffort string                     `json:"reasoning_effort"`
	ThinkingBudget  *int64                     `json:"thinking_budget"`
	ProviderOptions map[string]json.RawMessage `json:"provider_options"`
}

// Limits are limits on the calls of all runs of a process, and on documents. Zero values mean
// Hocket's defaults.
type Limits struct {
	// MaxCalls is the maximum number of calls in flight.
	MaxCalls int `json:"maxCalls"`
	// ModelTimeout and ModelIdleTimeout are the default timeouts of a model call: in total, and
	// without any output (P11). A node can override them.
	ModelTimeout     Duration `json:"modelTimeout"`
	ModelIdleTimeout Duration `json:"modelIdleTimeout"`
	// ToolTimeout is the default timeout of a tool call. A toolset can override it.
	ToolTimeout Duration `json:"toolTimeout"`
	// ReplyBytes and ReplyCalls are the maximum size of a model reply and the maximum number of
	// tool calls in it. ResultBytes is the maximum size of a tool result (SEC17).
	ReplyBytes  int64 `json:"replyBytes"`
	ReplyCalls  int   `json:"replyCalls"`
	ResultBytes int64 `json:"resultBytes"`
	// DocumentNodes is the maximum number of nodes of a document; 0 means
	// documents.DefaultMaxNodes.
	DocumentNodes int `json:"documentNodes"`
}

// Budgets are the maximum budgets that documents and flags may request (P20).
type Budgets struct {
	Run Budget `json:"run"`
	// Workflow is the budget of all runs of one workflow together.
	Workflow WorkflowBudget `json:"workflow"`
	// Uncounted is workflow.UncountedRefuse or UncountedAllow; "" means UncountedRefuse.
	Uncounted string `json:"uncounted"`
}

// Periods of a WorkflowBudget, in UTC.
const (
	PerDay   = "day"
	PerMonth = "month"
	PerTotal = "total"
)

// WorkflowBudget limits what all runs of one workflow use together in a period. Zero values mean no
// limit.
type WorkflowBudget struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"costUSD"`
	// Calls is the number of model calls and tool calls, counted by attempt.
	Calls int64 `json:"calls"`
	// Per is PerDay, PerMonth or PerTotal; "" means PerTotal.
	Per string `json:"per"`
}

// Budget limits a run. Zero values mean no limit.
type Budget struct {
	Tokens  int64   `json:"tokens"`
	CostUSD float64 `json:"costUSD"`
	// Calls is the number of model calls and tool calls, counted by attempt.
	Calls int64 `json:"calls"`
	// OnReached is workflow.OnBudgetFail or OnBudgetPause, for runs whose document does not specify
	// it; "" means OnBudgetFail.
	OnReached string `json:"onReached"`
}

// Search configures web search for agents that list web_search when no search provider is
// configured.
type Search struct {
	// Native lets models search with their provider's own search, if they support it.
	Native bool `json:"native"`
}

// Telemetry is the destination of traces and metrics. The standard variables OTEL_… take
// precedence.
type Telemetry struct {
	// Endpoint is the base URL of a collector that speaks OTLP over HTTP; "" means that nothing is
	// sent.
	Endpoint string `json:"endpoint"`
	// Content also sends prompts and replies.
	Content bool `json:"content"`
}

// Outbound lists permitted destinations of requests other than the public internet.
type Outbound struct {
	// Allow holds hosts, host:port or URLs (SEC8).
	Allow []string `json:"allow"`
}

// Store is the location of the runs.
type Store struct {
	// Path is the path of the store, relative to the directory of the file; --db and HOCKET_DB take
	// precedence. "" means that it is not set.
	Path string `json:"path"`
}

// Duration is a time.Duration that JSON and YAML represent as a string: 90s, 1h30m, 30d.
type Duration time.Duration

// UnmarshalJSON parses the string form.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var text string
	if err := json.Unmarshal(data, &text); err != nil {
		return err
	}
	v, err := parseDuration(text)
	*d = Duration(v)
	return err
}
