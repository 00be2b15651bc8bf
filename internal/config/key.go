package config

import (
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/workflow"
)

// kind is the type of a key's value.
type kind int

const (
	section  kind = iota // a map with the keys below
	byName               // a map of sections by user-defined names
	text                 // any string
	word                 // one of values
	secretID             // a reference to a secret
	address              // an http or https address
	path                 // a path relative to the directory of the file
	count                // an integer of at least min
	number               // a number from min to max
	flag                 // true or false
	duration             // such as 90s
	texts                // a list of strings
	free                 // a map with any content
	toolset              // a list of toolsets, as in documents
	servers              // a map of MCP servers by name, as in documents
)

// key is one key of hocket.yaml. The reader, the JSON Schema and the reference are derived from the
// table of keys.
type key struct {
	name string
	kind kind
	// doc describes in one or two sentences what the key does and what applies without it.
	doc string
	// values are the allowed values of a word, or of each item of texts; nil means any text.
	values []string
	// min and max are the limits of counts and numbers; a max of 0 means no maximum. min also
	// applies to durations, in seconds.
	min, max float64
	// required means that the key must be present in each section that has it.
	required bool
	// keys are the keys of a section, or of the sections of a byName.
	keys []key
	// misspellings maps words that people might write instead of keys of this section to what they
	// should write.
	misspellings map[string]string
}

// nameForm is the pattern of names of providers and models: a reference is split at its first
// slash.
const nameForm = `^[A-Za-z0-9][A-Za-z0-9._-]*$`

// table returns all keys.
func table() key {
	return key{kind: section, doc: "The operator's configuration of Hocket.", keys: []key{
		{name: "defaultModel", kind: text, doc: "The model of agents that name none, as a reference provider/model " +
			"or a name under models. HOCKET_MODEL and --model take precedence."},
		{name: "providers", kind: byName,
			doc: "Model providers by name. An entry with the name of a known provider overrides the built-in " +
				"settings; an entry of the same name in a document is ignored.", keys: providerKeys(),
			misspellings: map[string]string{ //nolint:gosec // names of keys, no credentials
				"api_type":  "write protocol: openai, anthropic or google",
				"kind":      "write protocol: openai, anthropic or google",
				"token_key": "write key: ${env.NAME}", "api_key": "write key: ${env.NAME}", "baseURL": "write base_url",
				"baseUrl": "write base_url",
			}},
		{name: "models", kind: byName,
			doc: "Aliases of models, which documents and --model may use instead of provider/model.", keys: []key{
				{name: "provider", kind: text, required: true,
					doc: "The name of a provider: a key of providers, or a built-in provider."},
				{name: "model", kind: text, required: true, doc: "The provider's name for the model."},
				{name: "params", kind: section, doc: "Default parameters of calls, where the agent sets none.",
					keys: paramKeys()},
			}},
		{name: "mcps", kind: servers, doc: "MCP servers by name. Toolsets of documents use one with ref: NAME, " +
			"without --trust; they cannot change its command, its headers or its tools."},
		{name: "toolsets", kind: toolset, doc: "Toolsets in the form of documents, for agents that list a toolset or " +
			"one of its tools by name; the toolsets of --tools are added."},
		{name: "permissions", kind: section,
			doc: "Permissions of tool calls, in every run. Patterns are tool, tool:argument=glob and toolset/*; deny " +
				"takes precedence over ask, ask over allow. Documents cannot loosen them.", keys: []key{
				{name: "allow", kind: texts, doc: "Patterns of calls that are allowed."},
				{name: "ask", kind: texts, doc: "Patterns of calls that need approval by a person."},
				{name: "deny", kind: texts, doc: "Patterns of calls that are denied."},
				{name: "edit", kind: texts,
					doc: "Patterns of calls whose arguments a person who approves them may change."},
				{name: "default", kind: word, values: []string{"allow", "ask", "deny"},
					doc: "The decision for calls that no pattern matches. Default: allow."},
			}},
		{name: "budgets", kind: section, doc: "Upper limits of what runs may use; documents and flags may set lower " +
			"ones. A person may let a run that reached its budget continue with more.", keys: []key{
			{name: "run", kind: section, doc: "The budget of each run.", keys: []key{
				{name: "tokens", kind: count, min: 1, doc: "Tokens, in and out."},
				{name: "costUSD", kind: number, min: 0,
					doc: "Cost in US dollars; 0 means no limit. With a limit, every model of a run must have a price."},
				{name: "calls", kind: count, min: 1, doc: "Model calls and tool calls together; each attempt counts."},
				{name: "onReached", kind: word, values: []string{"fail", "pause"},
					doc: "Whether the run fails at the limit or pauses and asks a person, unless its document sets " +
						"it. Default: fail."},
			}},
			{name: "workflow", kind: section, doc: "The budget of all runs of one workflow together. A run that " +
				"reaches it fails with a limit error, and can be resumed when budget is available again.", keys: []key{
				{name: "tokens", kind: count, min: 1, doc: "Tokens, in and out."},
				{name: "costUSD", kind: number, min: 0,
					doc: "Cost in US dollars; 0 means no limit. With a limit, models without a price are not called."},
				{name: "calls", kind: count, min: 1,
					doc: "Model calls and tool calls together; each attempt counts. Only model calls are refused."},
				{name: "per", kind: word, values: []string{PerDay, PerMonth, PerTotal},
					doc: "The period of the budget, in UTC. Default: total."},
			}},
			{name: "uncounted", kind: word, values: []string{"refuse", "allow"},
				doc: "Whether coding agents that never report their usage (ACP) may run under a budget of tokens or " +
					"cost. Default: refuse."},
		}},
		{name: "prices", kind: path,
			doc: "A file of model prices, which override the built-in ones; --prices takes precedence."},
		{name: "telemetry", kind: section,
			doc: "Export of traces and metrics. The standard variables OTEL_… take precedence.", keys: []key{
				{name: "endpoint", kind: address,
					doc: "The base address of a collector that speaks OTLP over HTTP. Without it, nothing is " +
						"exported."},
				{name: "content", kind: flag,
					doc: "Whether prompts and answers are exported too. Without it, they are not."},
			}},
		{name: "search", kind: section, doc: "How agents that list the tool web_search search the web where no " +
			"search provider is configured.", keys: []key{
			{name: "native", kind: flag, doc: "Whether models use their provider's built-in web search, where they " +
				"have one; the provider bills searches in addition to tokens. Without it, they do not."},
		}},
		{name: "limits", kind: section, doc: "Limits of calls, over all runs of a process, and of " +
			"documents.", keys: []key{
			{name: "maxCalls", kind: count, min: 1, max: 100_000,
				doc: "The maximum number of concurrent calls. Default: 256."},
			{name: "modelTimeout", kind: duration,
				doc: "The timeout of a model call whose node sets none. Default: 10m."},
			{name: "modelIdleTimeout", kind: duration,
				doc: "The longest time without data from a model during a call. Default: 2m."},
			{name: "toolTimeout", kind: duration,
				doc: "The timeout of a tool call whose toolset sets none. Default: 5m."},
			{name: "replyBytes", kind: count, min: 1024, max: 64 << 20,
				doc: "The maximum size of a model's reply in bytes; a larger one fails the call with " +
					"max_reply_bytes. Default: 16777216."},
			{name: "replyCalls", kind: count, min: 1, max: 100_000,
				doc: "The maximum number of tool calls in a model's reply; more fail the call with max_reply_calls. " +
					"Default: 1000."},
			{name: "resultBytes", kind: count, min: 1024, max: 64 << 20,
				doc: "The maximum size of a tool's result in bytes; a larger one fails the call. Default: 4194304."},
			{name: "documentNodes", kind: count, min: 1, max: 100_000,
				doc: "The maximum number of nodes, steps and cases of a document; one with more is refused with " +
					"too-many-nodes. Default: 20000."},
		}},
		{name: "outbound", kind: section, doc: "Allowed destinations of requests.", keys: []key{
			{name: "allow", kind: texts, doc: "Hosts, host:port or addresses that may be private: requests to them " +
				"are not checked. Without it, documents can access public addresses only."},
		}},
		{name: "store", kind: section, doc: "The store of runs.", keys: []key{
			{name: "path", kind: path,
				doc: "The file of the store, or its `postgres://` URL. --db and HOCKET_DB take precedence."},
		}},
		{name: "temporal", kind: section, doc: "The Temporal server that carries runs, for hocket-temporal; see " +
			"docs/temporal.md.", keys: temporalKeys(), misspellings: map[string]string{
			"api_key": "write apiKey: ${env.NAME}", "host": "write address: HOST:PORT",
			"hostPort": "write address: HOST:PORT",
		}},
		{name: "retention", kind: section, doc: "How long runs are kept. `hocket serve` and `hocket scheduler` " +
			"delete older ones; `hocket runs prune` does so on demand. At most 3650d.", keys: []key{
			{name: "ended", kind: duration, doc: "How long a run is kept after its end. Default: 30d."},
			{name: "paused", kind: duration,
				doc: "How long a waiting run is kept after its last event. Default: forever."},
		}},
		{name: "server", kind: section, doc: "Settings of `hocket serve`; see docs/server.md.", keys: serverKeys()},
	}}
}

func providerKeys() []key {
	return []key{
		{name: "protocol", kind: word, values: []string{string(model.ProtocolOpenAI), string(model.ProtocolAnthropic),
			string(model.ProtocolGoogle)}, doc: "The protocol of the provider. Without it, that of the built-in " +
			"provider of this name, else openai."},
		{name: "base_url", kind: address, doc: "The base URL of the provider; a private address is allowed. Without " +
			"it, that of the built-in provider of this name, else of the protocol's own service."},
		{name: "key", kind: secretID, doc: "A reference to the key: ${env.NAME}, or file:PATH for a file that only " +
			"its owner can read. Without it, the usual variable of the built-in provider."},
		{name: "requests_per_minute", kind: count, min: 1,
			doc: "The maximum number of calls per minute, spaced evenly over all runs of all processes on the store. " +
				"Without it, only the provider's rate limit responses slow calls down."},
		{name: "tokens_per_minute", kind: count, min: 1,
			doc: "The maximum number of tokens per minute, input and output together."},
		{name: "concurrency", kind: count, min: 1, doc: "The maximum number of concurrent calls."},
		{name: "omit", kind: texts, values: workflow.OmitParameters(),
			doc: "Parameters that are never sent, by their names in Chat Completions; see docs/agents.md. Without " +
				"it, those that a server refuses are left out after its first refusal."},
	}
}

func paramKeys() []key {
	return []key{
		{name: "temperature", kind: number, min: 0, max: 2, doc: "The sampling temperature."},
		{name: "top_p", kind: number, min: 0, max: 1, doc: "The nucleus sampling threshold."},
		{name: "max_tokens", kind: count, min: 1, doc: "The maximum number of output tokens."},
		{name: "reasoning_effort", kind: text,
			doc: "The reasoning effort, in the provider's terms: minimal, low, medium, high."},
		{name: "thinking_budget", kind: count, min: -1,
			doc: "The maximum number of reasoning tokens; 0 disables reasoning, -1 leaves it to the model."},
		{name: "provider_options", kind: free, doc: "Fields to set in the request's JSON, unchanged."},
	}
}
