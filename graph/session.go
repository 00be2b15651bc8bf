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
	// CreateSession begins a session, or goes on with that of c.Load. The caller destroys it. ctx bounds the session's life, not this call alone: when it
	// is done, what the session started is gone within 5 s (P11).
	CreateSession(ctx context.Context, c SessionConfig) (Session, error)
}

// Session is a conversation that a coding agent keeps. It is used by one goroutine at a time.
type Session interface {
	// ID names the session for its agent; it is not empty.
	ID() string
	// Stream sends a message and gives what the agent answers, in order. An error ends the sequence, *StopError where the agent stopped before it was done,
	// that of ctx when it is done; without one the answer is whole. Leaving the loop stops the agent's turn. Afterwards the session can
	// be used on, unless the error says otherwise.
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
	ErrUnknownUsage = errors.New("the agent does not report the usage of its context window")
	ErrNoSummarize  = errors.New("the agent cannot summarize its conversation")
	ErrNoLoad       = errors.New("the agent cannot continue an earlier session")
	// ErrUnknownOutcome: a message was sent to the agent before a crash, and what it did then is not known. It is not sent again by itself (D23).
	ErrUnknownOutcome = errors.New("the program stopped while the agent worked on this message; the outcome is unknown")
)

// Reasons of a StopError.
const (
	StopRefusal    = "refusal"     // the model declined
	StopMaxTokens  = "max_tokens"  // a bound of tokens cut the answer
	StopMaxTurns   = "max_turns"   // the agent made as many model calls as it may
	StopNoProgress = "no_progress" // the agent made the same call again and again (P27)
	StopCancelled  = "cancelled"   // the agent was stopped from outside
)

// StopError says that an agent ended its turn before it was done.
type StopError struct {
	// Reason is one of the five.
	Reason string
	// Message says more; it may be empty.
	Message string
}

// Error gives reason and message.
func (e *StopError) Error() string {
	if e.Message == "" {
		return "the agent stopped: " + e.Reason
	}
	return "the agent stopped: " + e.Reason + ": " + e.Message
}

// SessionConfig is what a session is made of. The zero value leaves everything to the client.
type SessionConfig struct {
	// Name is the agent's: scripts and recordings of models answer by it. Node is the id of the node that makes the session. Both may be "".
	Name, Node string
	// Key tells the session from others that the same node function makes; it has to be the same when the function runs again after a crash, since what
	// the session does is journaled under it. "" is Name.
	Key string
	// Load is the id of a former session that is to go on; ErrNoLoad where the agent cannot. "" begins a new one.
	Load string
	// Model is a reference such as openai/gpt-6.1-terra; "" is the client's default.
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

// Window gives u with its percentage. ErrUnknownUsage where the size of the window is not known: no percentage is made up.
func (u SessionUsage) Window() (ContextWindowUsage, error) {
	w := ContextWindowUsage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, MaxTokens: u.MaxTokens}
	if u.MaxTokens <= 0 {
		return w, ErrUnknownUsage
	}
	w.UsagePercentage = min(100, 100*float64(u.InputTokens+u.OutputTokens)/float64(u.MaxTokens))
	return w, nil
}

// ContextWindowUsage is how full a context window is. UsagePercentage is between 0 and 100.
type ContextWindowUsage struct {
	InputTokens     int     `json:"inputTokens"`
	OutputTokens    int     `json:"outputTokens"`
	MaxTokens       int     `json:"maxTokens"`
	UsagePercentage float64 `json:"usagePercentage"`
}
