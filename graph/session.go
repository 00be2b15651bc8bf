package graph

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
)

// Client makes sessions with one kind of coding agent: an LLM session kept by Hocket, or a program that speaks the Agent Client Protocol (S2-68).
// Clients are safe for concurrent use.
type Client interface {
	// CreateSession begins a session. The caller destroys it.
	CreateSession(ctx context.Context, c SessionConfig) (Session, error)
}

// Session is a conversation that a coding agent keeps. It is used by one goroutine at a time.
type Session interface {
	// ID names the session for its agent; it is not empty.
	ID() string
	// Stream sends a message and gives what the agent answers, in order. An error ends the sequence; leaving the loop stops the agent's turn.
	Stream(ctx context.Context, message string) iter.Seq2[AgentMessage, error]
	// ContextUsage tells how full the context window is. ErrUnknownUsage where the agent does not say.
	ContextUsage(ctx context.Context) (SessionUsage, error)
	// Summarize makes the agent replace its conversation by a summary that keeps the task. ErrNoSummarize where it cannot.
	Summarize(ctx context.Context) error
	// Destroy ends the session and what it started. Destroying twice is no error.
	Destroy(ctx context.Context) error
}

// What a session may not be able to do.
var (
	ErrUnknownUsage = errors.New("the agent does not tell how full its context window is")
	ErrNoSummarize  = errors.New("the agent cannot summarize its conversation")
)

// SessionConfig is what a session is made of. The zero value leaves everything to the client.
type SessionConfig struct {
	// Model is a reference such as openai/gpt-5-mini; "" is the client's default.
	Model        string
	SystemPrompt string
	// Tools are the names of those that the agent may use, and no others (SEC13); nil: none of Hocket's.
	Tools []string
	// Dir is the folder in which the agent works; "" is that of the process.
	Dir string
	// Options are the client's own.
	Options map[string]any
}

// Types of messages of an agent.
const (
	MessageText       = "text"
	MessageThinking   = "thinking"
	MessageToolUse    = "tool_use"
	MessageToolResult = "tool_result"
)

// AgentMessage is one message of an agent: pieces of a text that follow one another are one message each.
type AgentMessage struct {
	// Type is one of the four types of messages.
	Type string `json:"type"`
	// Role is "assistant", or "tool" for results.
	Role    string `json:"role"`
	Content string `json:"content"`
	// Tool and ToolCallID name the call of MessageToolUse and MessageToolResult, Arguments are those of the former.
	Tool       string          `json:"tool,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	// IsError marks the result of a call that failed.
	IsError bool `json:"isError,omitempty"`
}

// SessionUsage is how many tokens a session's context holds. MaxTokens is the size of the window, 0 where it is not known.
type SessionUsage struct {
	InputTokens  int `json:"inputTokens"`
	OutputTokens int `json:"outputTokens"`
	MaxTokens    int `json:"maxTokens"`
}

// ContextWindowUsage is how full a context window is. UsagePercentage is between 0 and 100.
type ContextWindowUsage struct {
	InputTokens     int     `json:"inputTokens"`
	OutputTokens    int     `json:"outputTokens"`
	MaxTokens       int     `json:"maxTokens"`
	UsagePercentage float64 `json:"usagePercentage"`
}
