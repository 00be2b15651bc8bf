// Package chat defines the vocabulary of conversations: messages, tool calls, tool definitions,
// usage and its cost.
//
// The engine, models, tools and the journal share it, so it imports nothing of Hocket. It does not
// depend on any provider. Its only logic is finding the JSON in a reply ([JSONIn]): conditions,
// structured output and routing all read replies by that rule.
package chat

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/text"
)

// NewText is text.Of: it returns the text of a message that consists of one string.
func NewText(s string) text.Text { return text.Of(s) }

// Role identifies the speaker of a message.
type Role string

// The roles of messages.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of a conversation. The meaning of the fields depends on Role: an assistant
// message has Text, ToolCalls or both; a tool message answers the call ToolCallID of the nearest
// assistant message before it.
//
// A Message is a value: it must not be modified after it has been passed on.
type Message struct {
	Role Role `json:"role"`
	// Text may be a rope that shares its parts with other messages: to pass it on, write it instead
	// of converting it to a string.
	Text text.Text `json:"text,omitzero"`
	// Name is the agent that spoke, if several agents share one conversation.
	Name       string     `json:"name,omitempty"`
	ToolCalls  []ToolCall `json:"toolCalls,omitempty"`
	ToolCallID string     `json:"toolCallId,omitempty"`
	ToolName   string     `json:"toolName,omitempty"`
	// IsError marks a tool message whose text reports a failure.
	IsError bool `json:"isError,omitempty"`
	// Extra is opaque data that the provider wants to receive again with this message, such as
	// signatures of its reasoning. It is sent back only to the provider whose adapter recognizes
	// it, and is null for all others.
	Extra json.RawMessage `json:"extra,omitempty"`
}

// Asked returns the tool call with the given id that the message requests, or nil if there is none.
func (m *Message) Asked(id string) *ToolCall {
	for i := range m.ToolCalls {
		if m.ToolCalls[i].ID == id {
			return &m.ToolCalls[i]
		}
	}
	return nil
}

// ToolCall is a model's request to call a tool. Arguments is a JSON object as the model wrote it;
// if an adapter receives text that is not JSON, it passes it on as a JSON string, so that the
// engine can tell the model.
type ToolCall struct {
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments,omitempty"`
	Extra     json.RawMessage `json:"extra,omitempty"`
}

// ToolDef is the definition of a tool that a model sees. Parameters is a JSON Schema of type
// object; null means no arguments.
type ToolDef struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	Parameters  json.RawMessage `json:"parameters,omitempty"`
}

// Usage is the token count of one model call. InputTokens includes CachedTokens, read from the
// provider's cache, and CacheWriteTokens, written to it; OutputTokens includes ReasoningTokens.
type Usage struct {
	InputTokens     int64 `json:"inputTokens"`
	OutputTokens    int64 `json:"outputTokens"`
	CachedTokens    int64 `json:"cachedTokens,omitempty"`
	ReasoningTokens int64 `json:"reasoningTokens,omitempty"`

	CacheWriteTokens int64 `json:"cacheWriteTokens,omitempty"`
}

// Add returns the sum of u and v, with the limits of AddTokens.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		InputTokens:     AddTokens(u.InputTokens, v.InputTokens),
		OutputTokens:    AddTokens(u.OutputTokens, v.OutputTokens),
		CachedTokens:    AddTokens(u.CachedTokens, v.CachedTokens),
		ReasoningTokens: AddTokens(u.ReasoningTokens, v.ReasoningTokens),

		CacheWriteTokens: AddTokens(u.CacheWriteTokens, v.CacheWriteTokens),
	}
}

// CallDetails is what is known about a model call apart from its reply, for telemetry. A zero or
// nil field is unknown, or was left to the provider.
type CallDetails struct {
	// ID is the provider's id of the reply, and Model the provider's name of the model that
	// produced it.
	ID    string `json:"id,omitempty"`
	Model string `json:"model,omitempty"`
	// Server and Port are the destination of the request.
	Server string `json:"server,omitempty"`
	Port   int    `json:"port,omitempty"`
	// FirstChunk is the time from the request to the first chunk of a streamed reply, in seconds.
	FirstChunk float64 `json:"firstChunkSeconds,omitempty"`
	// Stream is set if the reply was requested as a stream, JSON if it had to match a schema.
	Stream bool `json:"stream,omitempty"`
	JSON   bool `json:"json,omitempty"`
	// The remaining fields are parameters of the request.
	Temperature      *float64 `json:"temperature,omitempty"`
	TopP             *float64 `json:"topP,omitempty"`
	FrequencyPenalty *float64 `json:"frequencyPenalty,omitempty"`
	PresencePenalty  *float64 `json:"presencePenalty,omitempty"`
	MaxTokens        *int64   `json:"maxTokens,omitempty"`
	Reasoning        string   `json:"reasoning,omitempty"`
	Stop             []string `json:"stop,omitempty"`
}
