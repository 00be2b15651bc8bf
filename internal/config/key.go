package config

import "github.com/hocket-run/hocket/internal/model"

// kind is what a key's value is.
type kind int

const (
	section  kind = iota // a map of the keys below
	named                // a map of sections by names that people choose
	text                 // any text
	word                 // one of values
	secretID             // a reference to a secret
	address              // an http or https address
	path                 // a path, relative to the folder of the file
	count                // a whole number from min
	number               // a number from min to max
	flag                 // true or false
	duration             // such as 90s
	texts                // a list of texts
	free                 // a map of anything
	toolset              // a list of toolsets, as in documents
	servers              // a map of MCP servers by name, as in documents
)

// key is one key of hocket.yaml. Reader, JSON Schema and reference are made of the table of them.
type key struct {
	name string
	kind kind
	// doc says in one or two sentences what the key does and what holds without it.
	doc string
	// values are those of a word.
	values []string
	// min and max bound counts and numbers; a max of 0 is none. min bounds durations too, in seconds.
	min, max float64
	// required keys must be there in each section that has them.
	required bool
	// keys are those of a section and of the sections of a named.
	keys []key
	// not holds words that people might write instead of keys of this section, with what to write.
	not map[string]string
}

// nameForm is the form of names of providers and models: a reference splits at its first slash.
const nameForm = `^[A-Za-z0-9][A-Za-z0-9._-]*$`

// table gives all keys.
func table() key {
	return key{kind: section, doc: "The operator's configuration of Hocket.", keys: []key{
		{name: "defaultModel", kind: text, doc: "The model of agents that name none, as a reference provider/model or a name under models. HOCKET_MODEL and --model come first."},
		{name: "providers", kind: named, doc: "Model providers by name. One of the name of a known provider replaces what Hocket knows of it; one that a document defines under the same name is not used.", keys: providerKeys(), not: map[string]string{ //nolint:gosec // names of keys, no credentials
			"api_type": "write protocol: openai, anthropic or google", "kind": "write protocol: openai, anthropic or google",
			"token_key": "write key: ${env.NAME}", "api_key": "write key: ${env.NAME}", "baseURL": "write base_url", "baseUrl": "write base_url",
		}},
		{name: "models", kind: named, doc: "Models under names of their own, which documents and --model may use instead of provider/model.", keys: []key{
			{name: "provider", kind: text, required: true, doc: "The name of a provider: one under providers, or one that Hocket knows."},
			{name: "model", kind: text, required: true, doc: "The name that the provider gives the model."},
			{name: "params", kind: section, doc: "Parameters of calls whose agent does not set them.", keys: paramKeys()},
		}},
		{name: "mcps", kind: servers, doc: "MCP servers by name. Toolsets of documents use one with ref: NAME, without --trust; they cannot change what it starts, sends and offers."},
		{name: "toolsets", kind: toolset, doc: "Toolsets in the form of documents, for agents that list a toolset or a tool of it by name; those of --tools come beside them."},
		{name: "permissions", kind: section, doc: "What tool calls may do, in every run. Patterns are tool, tool:argument=glob and toolset/*; deny wins over ask, ask over allow. No document loosens them.", keys: []key{
			{name: "allow", kind: texts, doc: "Patterns of calls that are made."},
			{name: "ask", kind: texts, doc: "Patterns of calls that a person has to approve first."},
			{name: "deny", kind: texts, doc: "Patterns of calls that are refused."},
			{name: "default", kind: word, values: []string{"allow", "ask", "deny"}, doc: "What holds for calls that no pattern names. Without it, allow."},
		}},
		{name: "budgets", kind: section, doc: "The most that runs may use; documents and flags may ask for less. A person may let a run that met its budget go on with more.", keys: []key{
			{name: "run", kind: section, doc: "The budget of each run.", keys: []key{
				{name: "tokens", kind: count, min: 1, doc: "Tokens, in and out."},
				{name: "costUSD", kind: number, min: 0, doc: "Money in US dollars; 0 bounds nothing. Every model of a run must then have a price."},
				{name: "calls", kind: count, min: 1, doc: "Model calls and tool calls together, by attempt."},
				{name: "onReached", kind: word, values: []string{"fail", "pause"}, doc: "Whether the run ends by the limit or asks a person, where its document does not say. Without it, fail."},
			}},
			{name: "workflow", kind: section, doc: "The budget of all runs of one workflow together. A run that meets it ends by a limit, and can be resumed when there is room again.", keys: []key{
				{name: "tokens", kind: count, min: 1, doc: "Tokens, in and out."},
				{name: "costUSD", kind: number, min: 0, doc: "Money in US dollars; 0 bounds nothing. A model without price is then not called."},
				{name: "calls", kind: count, min: 1, doc: "Model calls and tool calls together, by attempt; only model calls are withheld."},
				{name: "per", kind: word, values: []string{PerDay, PerMonth, PerTotal}, doc: "Over what is counted, by UTC. Without it, total."},
			}},
			{name: "uncounted", kind: word, values: []string{"refuse", "allow"}, doc: "Whether coding agents whose use is never reported (ACP) may work under a budget of tokens or money. Without it, refuse."},
		}},
		{name: "prices", kind: path, doc: "A file of prices of models, before those that Hocket knows; --prices comes before it."},
		{name: "telemetry", kind: section, doc: "Where traces and metrics go. The standard variables OTEL_… come first.", keys: []key{
			{name: "endpoint", kind: address, doc: "The base address of a collector that speaks OTLP over HTTP. Without it, nobody is told."},
			{name: "content", kind: flag, doc: "Whether prompts and answers are sent too. Without it, they are not."},
		}},
		{name: "search", kind: section, doc: "How agents that list the tool web_search search the web where no provider of searches is configured.", keys: []key{
			{name: "native", kind: flag, doc: "Whether models search by their provider's own means, where they are known to have them; the provider bills searches beside tokens. Without it, they do not."},
		}},
		{name: "limits", kind: section, doc: "Bounds of calls, over all runs of a process.", keys: []key{
			{name: "maxCalls", kind: count, min: 1, max: 100_000, doc: "The most calls in flight at once. Without it, 256."},
			{name: "modelTimeout", kind: duration, doc: "The most time for one model call whose node names none. Without it, 10m."},
			{name: "modelIdleTimeout", kind: duration, doc: "The most time in which a model call gives no sign of life. Without it, 2m."},
			{name: "toolTimeout", kind: duration, doc: "The most time for one tool call whose toolset names none. Without it, 5m."},
			{name: "replyBytes", kind: count, min: 1024, max: 64 << 20, doc: "The most bytes of one reply of a model; a larger one is a failed call, max_reply_bytes. Without it, 16777216."},
			{name: "replyCalls", kind: count, min: 1, max: 100_000, doc: "The most tool calls in one reply of a model; a reply with more is a failed call, max_reply_calls. Without it, 1000."},
			{name: "resultBytes", kind: count, min: 1024, max: 64 << 20, doc: "The most bytes of one result of a tool; a larger one is a failed call. Without it, 4194304."},
		}},
		{name: "outbound", kind: section, doc: "Where requests may go.", keys: []key{
			{name: "allow", kind: texts, doc: "Hosts, host:port or addresses that may be private: requests to them are not checked. Without it, documents reach public addresses only."},
		}},
		{name: "store", kind: section, doc: "Where runs are kept.", keys: []key{
			{name: "path", kind: path, doc: "The file of the store. --db and HOCKET_DB come first."},
		}},
		{name: "retention", kind: section, doc: "How long runs are kept by processes that stay, as `hocket serve` and `hocket scheduler` do; `hocket runs prune` deletes by hand. At most 3650d.", keys: []key{
			{name: "ended", kind: duration, doc: "How long a run is kept after its end. Without it, 30d."},
			{name: "paused", kind: duration, doc: "How long a run that waits is kept after its last event. Without it, for ever."},
		}},
		{name: "server", kind: section, doc: "How `hocket serve` serves; docs/server.md tells more.", keys: serverKeys()},
	}}
}

func providerKeys() []key {
	return []key{
		{name: "protocol", kind: word, values: []string{string(model.ProtocolOpenAI), string(model.ProtocolAnthropic), string(model.ProtocolGoogle)}, doc: "How the provider is spoken to. Without it, as the known provider of this name is, else openai."},
		{name: "base_url", kind: address, doc: "Where the provider is; it may be a private address. Without it, where the known provider of this name is, else the protocol's own service."},
		{name: "key", kind: secretID, doc: "A reference to the key: ${env.NAME}, or file:PATH for a file that only its owner can read. Without it, the known provider's usual variable."},
		{name: "requests_per_minute", kind: count, min: 1, doc: "The most calls a minute, spaced evenly over all runs of a process. Without it, only the provider's own answers pace them."},
		{name: "tokens_per_minute", kind: count, min: 1, doc: "The most tokens a minute, input and output together."},
		{name: "concurrency", kind: count, min: 1, doc: "The most calls in flight at once."},
	}
}

func paramKeys() []key {
	return []key{
		{name: "temperature", kind: number, min: 0, max: 2, doc: "How freely the model chooses words."},
		{name: "top_p", kind: number, min: 0, max: 1, doc: "Which share of the likeliest words it chooses from."},
		{name: "max_tokens", kind: count, min: 1, doc: "The most tokens of an answer."},
		{name: "reasoning_effort", kind: text, doc: "The provider's own word for how long to think: minimal, low, medium, high."},
		{name: "thinking_budget", kind: count, min: -1, doc: "The most tokens of thought; 0 switches it off, -1 leaves it to the model."},
		{name: "provider_options", kind: free, doc: "Members of the request's JSON, set as they are."},
	}
}
