package graph

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
)

// Client creates sessions with one kind of coding agent: an LLM session kept by Hocket, or a
// program that speaks the Agent Client Protocol. Clients must be safe for concurrent use.
type Client interface {
	// CreateSession starts a session, or continues the session c.Load. The caller must destroy it.
	// ctx governs the session's life, not only this call: when it is done, everything that the
	// session started is stopped within 5 s.
	CreateSession(ctx context.Context, c SessionConfig) (Session, error)
}

// Session is a conversation with a coding agent. It is used by one goroutine at a time.
type Session interface {
	// ID identifies the session to its agent; it is not empty.
	ID() string
	// Stream sends a message and yields the agent's messages, in order. An error ends the sequence:
	// *StopError if the agent stopped before it was done, that of ctx when it is done. Without an
	// error the answer is complete. Breaking out of the loop stops the agent's turn. The session
	// remains usable afterwards, unless the error says otherwise.
	Stream(ctx context.Context, message string) iter.Seq2[AgentMessage, error]
	// ContextUsage returns the usage of the context window, or ErrUnknownUsage if the agent does
	// not report it.
	ContextUsage(ctx context.Context) (SessionUsage, error)
	// Summarize makes the agent replace its conversation with a summary that preserves the task. It
	// returns ErrNoSummarize if the agent cannot do that.
	Summarize(ctx context.Context) error
	// Destroy ends the session and what it started. Destroying a session twice is not an error.
	Destroy(ctx context.Context) error
}

// Errors for operations that a session may not support.
var (
	ErrUnknownUsage = errors.New("the agent does not report the usage of its context window")
	ErrNoSummarize  = errors.New("the agent cannot summarize its conversation")
	ErrNoLoad       = errors.New("the agent cannot continue an earlier session")
	// ErrUnknownOutcome is returned when a message was sent to the agent before a crash, and what
	// it did then is unknown. The message is not resent automatically.
	ErrUnknownOutcome = errors.New("the program stopped while the agent worked on this message; the outcome is unknown")
)

// Values of StopError.Reason.
const (
	StopRefusal    = "refusal"     // the model declined
	StopMaxTokens  = "max_tokens"  // a token limit truncated the answer
	StopMaxTurns   = "max_turns"   // the agent reached its limit on model calls
	StopNoProgress = "no_progress" // the agent repeated the same call
	StopCancelled  = "cancelled"   // the agent was stopped from outside
)

// StopError is returned when an agent ended its turn before it was done.
type StopError struct {
	// Reason is one of the five reasons.
	Reason string
	// Message has details; it may be empty.
	Message string
}

// Error returns the reason and the message.
func (e *StopError) Error() string {
	if e.Message == "" {
		return "the agent stopped: " + e.Reason
	}
	return "the agent stopped: " + e.Reason + ": " + e.Message
}

// SessionConfig is the configuration of a session. The zero value leaves everything to the client.
type SessionConfig struct {
	// Name is the name of the agent, which scripts and recordings of models use to choose replies.
	// Node is the id of the node that creates the session. Both may be "".
	Name, Node string
	// Key distinguishes the session from other sessions created by the same node function. It must
	// be the same when the function runs again after a crash, since the session is journaled under
	// it. "" means Name.
	Key string
	// Load is the id of a previous session to continue; the error is ErrNoLoad if the agent cannot
	// do that. "" starts a new session.
	Load string
	// Model is a reference such as openai/gpt-6.1-terra; "" means the client's default.
	Model        string
	SystemPrompt string
	// Tools lists exactly the tools that the agent may use; nil means none of Hocket's.
	Tools []string
	// Dir is the folder in which the agent works; "" means that of the process.
	Dir string
	// Options holds client-specific options.
	Options map[string]any
}

// Types of agent messages.
const (
	MessageText       = "text"
	MessageThinking   = "thinking"
	MessageToolUse    = "tool_use"
	MessageToolResult = "tool_result"
)

// AgentMessage is one message of an agent. Each chunk of a streamed text is a separate message.
type AgentMessage struct {
	// Type is one of the four message types.
	Type string `json:"type"`
	// Role is "assistant", or "tool" for results.
	Role    string `json:"role"`
	Content string `json:"content"`
	// Tool and ToolCallID identify the call of MessageToolUse and MessageToolResult; Arguments
	// holds the arguments of the former.
	Tool       string          `json:"tool,omitempty"`
	ToolCallID string          `json:"toolCallId,omitempty"`
	Arguments  json.RawMessage `json:"arguments,omitempty"`
	// IsError marks the result of a failed call.
	IsError bool `json:"isError,omitempty"`
}

// SessionUsage is the number of tokens in a session's context. MaxTokens is the size of the window,
// 0 if it is unknown.
type SessionUsage struct {
	InputTokens  int `json:"inputTokens"`
	OutputTokens int `json:"outputTokens"`
	MaxTokens    int `json:"maxTokens"`
}

// Window returns u with its percentage, or ErrUnknownUsage if the size of the window is unknown:
// the percentage is never guessed.
func (u SessionUsage) Window() (ContextWindowUsage, error) {
	w := ContextWindowUsage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, MaxTokens: u.MaxTokens}
	if u.MaxTokens <= 0 {
		return w, ErrUnknownUsage
	}
	w.UsagePercentage = min(100, 100*float64(u.InputTokens+u.OutputTokens)/float64(u.MaxTokens))
	return w, nil
}

// ContextWindowUsage is the usage of a context window. UsagePercentage is between 0 and 100.
type ContextWindowUsage struct {
	InputTokens     int     `json:"inputTokens"`
	OutputTokens    int     `json:"outputTokens"`
	MaxTokens       int     `json:"maxTokens"`
	UsagePercentage float64 `json:"usagePercentage"`
}
