package model

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/text"
)

// Client performs model calls. Implementations must be safe for concurrent use.
//
// Call blocks until the reply is complete. onDelta, which may be nil, is called with the chunks as
// they arrive, in order, never by two goroutines at once and never after Call has returned; it must
// return quickly. Deltas are for display only: the Reply holds everything. A Delta without content
// only shows that the provider is alive, and a failed call may have sent deltas before it failed.
//
// Call returns an *Error for any failure of the provider, the network or a time limit, and an error
// matching ctx.Err() if ctx was done first. Nothing is retried.
type Client interface {
	Call(ctx context.Context, req Request, onDelta func(Delta)) (Reply, error)
}

// Request is one model call. The caller owns it; a Client neither modifies nor retains it.
type Request struct {
	// Model is a reference (`provider/model`) for a Registry, and the model's own name for an
	// adapter.
	Model string
	// System is the system prompt. Empty means none.
	System string
	// Messages is the conversation, oldest first. It ends with a user or tool message; a message
	// with the role system in it is sent in its position if the provider supports that, otherwise
	// added to System.
	Messages []chat.Message
	// Tools are offered to the model, in this order. Empty means none.
	Tools []chat.ToolDef
	// Schema requests a reply of this shape through the provider's own feature. Nil requests plain
	// text. The reply is still a string and must be validated by the caller.
	Schema *Schema
	// Search lets the model search the web with its provider's own feature. The pages that the
	// reply cites are at the end of its text, under "Sources:". No adapter ignores it: if
	// [CanSearch] returns false, the call fails with KindInvalidRequest and nothing is sent.
	// Scripts reply as usual.
	Search bool
	Params Params
	// Omit lists parameters that must not be sent, by the names of workflow.OmitParameters. A
	// Registry takes them from the provider's definition.
	Omit []string
	// IdempotencyKey is sent in the header Idempotency-Key; if empty, the header is omitted.
	IdempotencyKey string
	// Memo is the Memo of the conversation in Messages, for adapters; nil means none.
	Memo *Memo
	// Agent and Node identify the caller: the agent's name and the node's id. Scripts and
	// recordings select replies by them; providers never see them.
	Agent, Node string
}

// LastText returns the text of the last message, or "". It copies the text: see Last.
func (r Request) LastText() string { return r.Last().String() }

// Last returns the text of the last message, empty if there is none.
func (r Request) Last() text.Text {
	if len(r.Messages) == 0 {
		return text.Text{}
	}
	return r.Messages[len(r.Messages)-1].Text
}

// Schema is the shape of a structured reply.
type Schema struct {
	// Name is a short name for the provider; empty means "output".
	Name string
	// JSON is a JSON Schema of type object.
	JSON json.RawMessage
	// Strict asks the provider to enforce the schema rather than treat it as guidance, if it makes
	// that distinction.
	Strict bool
}

// Params are the parameters of a call. The zero value leaves everything to the provider; a pointer
// distinguishes "not set" from zero (D28).
type Params struct {
	Temperature, TopP                 *float64
	FrequencyPenalty, PresencePenalty *float64
	// MaxTokens limits the reply, including reasoning if the provider counts it.
	MaxTokens *int64
	// ReasoningEffort is the provider's own term (minimal, low, medium, high, …).
	ReasoningEffort string
	// ThinkingBudget is a number of tokens for providers that support it: 0 disables thinking, -1
	// lets the model decide.
	ThinkingBudget *int64
	Stop           []string
	// ProviderOptions are set in the request's JSON verbatim, by top-level name or dotted path,
	// after everything else.
	ProviderOptions map[string]json.RawMessage
}

// Reply is a complete reply.
type Reply struct {
	// Message has the role assistant, with text, tool calls or both. A model may reply with
	// neither.
	Message chat.Message
	// Reasoning is the part of the model's thinking that the provider shows. It is never sent back;
	// what must be sent back is in Message.Extra.
	Reasoning string
	// Usage is nil if the provider did not report it: unknown, not zero (D14).
	Usage *chat.Usage
	// UsageEstimated is the reason why Usage is an estimate rather than the provider's implausible
	// report; "" means that Usage is as reported. WithUsage sets it.
	UsageEstimated string
	StopReason     StopReason
	// Warning is what people should know about the call, or "".
	Warning string
	// ID is the provider's id of the response, or "" if it sent none.
	ID string
	// Details are what a Registry knows about the call; nil for other clients.
	Details *chat.CallDetails
	// Model is the model that replied: the requested reference if a Registry made the call, the
	// name returned by the provider if an adapter did.
	Model string
	// Source is the entry of the reply script that was used, counting from 1; 0 means no script. A
	// driver records it with the reply, so that resume can tell which entries are used (D19).
	// Failures carry it too, see [SourceOf].
	Source int
}

// StopReason is why the model stopped. A response stopped by a filter is not a Reply but an
// [*Error] of [KindContentFilter] (P30).
type StopReason string

const (
	// StopEnd means the model was done, or reached one of Params.Stop.
	StopEnd StopReason = "stop"
	// StopLength means Params.MaxTokens or the context window truncated the reply.
	StopLength StopReason = "length"
	// StopToolCalls means the model waits for the results of Message.ToolCalls.
	StopToolCalls StopReason = "tool_calls"
	// StopRefusal means the model declined; Message.Text is its explanation.
	StopRefusal StopReason = "refusal"
)

// Delta is a chunk of a reply while it is being received.
type Delta struct {
	Text      string
	Reasoning string
	// ToolCall is set if a chunk of a tool call arrived.
	ToolCall *ToolCallDelta
}

// IsEmpty reports whether d has no content and only shows that the provider is alive.
func (d Delta) IsEmpty() bool { return d == Delta{} }

// ToolCallDelta is a chunk of the tool call number Index (from 0). ID and Name arrive with the
// first chunk; Arguments is the next part of the JSON.
type ToolCallDelta struct {
	Index     int
	ID, Name  string
	Arguments string
}

// Memo is where an adapter keeps what it derived from the messages of a conversation until the next
// call of that conversation. The zero Memo is empty, a nil Memo keeps nothing. It is safe for
// concurrent use.
//
// A Memo is a cache: its content may belong to another provider, to a longer conversation or to a
// changed one. The adapter compares it with the request.
type Memo struct {
	mu   sync.Mutex
	kept any
}

// Take returns and removes the value that was kept last, so that only one call continues from it;
// nil means there is none.
func (m *Memo) Take() any {
	if m == nil {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	v := m.kept
	m.kept = nil
	return v
}

// Keep stores v, replacing the previous value.
func (m *Memo) Keep(v any) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = v
}
