// Package chat is the vocabulary of conversations: messages, tool calls, tool definitions, usage and what it costs.
//
// Engine, models, tools and journal share it, so it imports nothing of Hocket. It refuses to know any provider. All that it does is find the JSON in a
// reply ([JSONIn]): conditions, structured output and routing read replies by that one rule.
package chat

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/text"
)

// NewText is text.Of: the text of a message that is one string.
func NewText(s string) text.Text { return text.Of(s) }

// Role says who speaks in a message.
type Role string

const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation. The meaning of the fields depends on Role:
// an assistant message has Text, ToolCalls or both; a tool message answers the call ToolCallID of the nearest assistant message before it.
//
// A Message is a value: it is not changed after it was handed over.
type Message struct {
	Role Role `json:"role"`
	// Text may be a rope that shares its parts with other messages: who passes it on writes it, and does not make a string of it.
	Text text.Text `json:"text,omitzero"`
	// Name is the agent that spoke, where several share one conversation.
	Name       string     `json:"name,omitempty"`
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	ToolName   string     `json:"toolName,omitempty"`
	// IsError marks a tool message whose text tells a failure.
	IsError bool `json:"isError,omitempty"`
	// Extra is what the provider wants to see again with this message (signatures of its reasoning, say): opaque, sent back only to the
	// provider that its own adapter recognises in it. Null for all others.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Asked gives the tool call of that id for which the message asks; nil: there is none.
func (m *Message) Asked(id string) *ToolCall {
	for i := range m.ToolCalls {
		if m.ToolCalls[i].ID == id {
			return &m.ToolCalls[i]
		}
	}
	return nil
}

// ToolCall is a model's wish to call a tool. Arguments is a JSON object as the model wrote it; an adapter that receives text which is no
// JSON hands it on as a JSON string, so that the engine can tell the model.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Extra     json.RawMessage `json:"extra,omitempty"`
}

// ToolDef is a tool as a model sees it. Parameters is a JSON Schema of type object; null means no arguments.
type ToolDef struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Usage counts tokens of one model call. InputTokens includes CachedTokens, read from the provider's cache, and CacheWriteTokens, written to it;
// OutputTokens includes ReasoningTokens.
type Usage struct {
	InputTokens     int64 `json:"inputTokens"`
	OutputTokens    int64 `json:"outputTokens"`
	CachedTokens    int64 `json:"cachedTokens,omitempty"`
	ReasoningTokens int64 `json:"reasoningTokens,omitempty"`

	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
}

// Add gives the sum of u and v, bounded as AddTokens says.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:     AddTokens(u.InputTokens, v.InputTokens),
		OutputTokens:    AddTokens(u.OutputTokens, v.OutputTokens),
		CachedTokens:    AddTokens(u.CachedTokens, v.CachedTokens),
		ReasoningTokens: AddTokens(u.ReasoningTokens, v.ReasoningTokens),

		CacheWriteTokens: AddTokens(u.CacheWriteTokens, v.CacheWriteTokens),
	}
}

// CallDetails is what is known of a model call beside its answer, for telemetry. What is zero or nil is not known, or was left to the provider.
type CallDetails struct {
	// ID is the provider's name of the answer, Model its name of the model that gave it.
	ID    string `json:"id,omitempty"`
	Model string `json:"model,omitempty"`
	// Server and Port are where the request went.
	Server string `json:"server,omitempty"`
	Port   int    `json:"port,omitempty"`
	// FirstChunk is the time from the request to the first piece of a streamed answer, in seconds.
	FirstChunk float64 `json:"firstChunkSeconds,omitempty"`
	// Stream: the answer was asked for in pieces. JSON: it was to be of a schema.
	Stream bool `json:"stream,omitempty"`
	JSON   bool `json:"json,omitempty"`
	// The others are parameters of the request.
	Temperature      *float64 `json:"temperature,omitempty"`
	TopP             *float64 `json:"topP,omitempty"`
	FrequencyPenalty *float64 `json:"frequencyPenalty,omitempty"`
	PresencePenalty  *float64 `json:"presencePenalty,omitempty"`
	MaxTokens        *int64   `json:"maxTokens,omitempty"`
	Reasoning        string   `json:"reasoning,omitempty"`
	Stop             []string `json:"stop,omitempty"`
}
