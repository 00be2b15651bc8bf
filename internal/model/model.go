package model

import (
	"context"
	"encoding/json"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/text"
)

// Client answers model calls. Implementations are safe for concurrent use.
//
// Call blocks until the answer is complete. onDelta, which may be nil, is called with what arrives on the way, in order, never by two
// goroutines at once and never after Call has returned; it must be quick. Deltas are for watching only: the Reply holds everything. A Delta
// without content says no more than that the provider is alive, and a failed call may have told deltas before.
//
// Errors: *Error for whatever the provider, the network or a time limit did; an error matching ctx.Err() when ctx was done first.
// Nothing is tried twice.
type Client interface {
	Call(ctx context.Context, req Request, onDelta func(Delta)) (Reply, error)
}

// Request is one model call. The caller owns it; a Client changes nothing in it and keeps nothing of it.
type Request struct {
	// Model is a reference (`provider/model`) for a Registry, and the model's own name for an adapter.
	Model string
	// System is the system prompt. Empty: none.
	System string
	// Messages is the conversation, oldest first. It ends with a user or tool message; a message of the role system in it is passed on in
	// its place where the provider can, else added to System.
	Messages []chat.Message
	// Tools are offered to the model, in this order. Empty: none.
	Tools []chat.ToolDef
	// Schema asks for an answer of this shape by the provider's own means. Nil: free text. What comes back is still text and
	// is checked by the caller.
	Schema *Schema
	// Search lets the model search the web by its provider's own means; false: it cannot. The pages that the answer cites are at the end of its text, under
	// "Sources:". No adapter ignores it: where [CanSearch] says no, the call fails with KindInvalidRequest and nothing is sent. Scripts answer as ever.
	Search bool
	Params Params
	// IdempotencyKey goes along as the header Idempotency-Key; empty: no header.
	IdempotencyKey string
	// Memo is that of the conversation which Messages are, for adapters; nil: there is none.
	Memo *Memo
	// Agent and Node say who asks: the agent's name and the node's id. Scripts and recordings choose by them; providers never see them.
	Agent, Node string
}

// LastText is the text of the last message, or "". It copies it: see Last.
func (r Request) LastText() string { return r.Last().String() }

// Last is the text of the last message, empty where there is none.
func (r Request) Last() text.Text {
	if len(r.Messages) == 0 {
		return text.Text{}
	}
	return r.Messages[len(r.Messages)-1].Text
}

// Schema is the shape of a structured answer.
type Schema struct {
	// Name is a short word for the provider; empty: "output".
	Name string
	// JSON is a JSON Schema of type object.
	JSON json.RawMessage
	// Strict asks the provider to enforce the schema, not merely to be guided by it, where it makes the difference.
	Strict bool
}

// Params are the knobs of a call. The zero value leaves everything to the provider; a pointer tells "not set" from zero (D28).
type Params struct {
	Temperature, TopP                 *float64
	FrequencyPenalty, PresencePenalty *float64
	// MaxTokens bounds the answer, reasoning included where the provider counts it.
	MaxTokens *int64
	// ReasoningEffort is the provider's own word (minimal, low, medium, high, …).
	ReasoningEffort string
	// ThinkingBudget is a number of tokens for providers that take one: 0 switches thinking off, -1 lets the model decide.
	ThinkingBudget *int64
	Stop           []string
	// ProviderOptions are set in the request's JSON as they are, by top-level name or dotted path, after everything else.
	ProviderOptions map[string]json.RawMessage
}

// Reply is a complete answer.
type Reply struct {
	// Message has the role assistant, with text, tool calls or both. A model may answer nothing at all.
	Message chat.Message
	// Reasoning is what the provider shows of the model's thinking. It is never sent back; what must be is in Message.Extra.
	Reasoning string
	// Usage is nil where the provider did not tell: unknown, not zero (D14).
	Usage *chat.Usage
	// UsageEstimated says why Usage is an estimate and not what the provider reported, which cannot be; "": it is that. WithUsage sets it.
	UsageEstimated string
	StopReason     StopReason
	// ID is the provider's name of the answer; "" where it gave none.
	ID string
	// Details are what a Registry knows of the call; nil where another client answers.
	Details *chat.CallDetails
	// Model is what answered: the reference that was asked where a Registry answers, what the provider named where an adapter does.
	Model string
	// Source is the entry of the reply script that answered, counted from 1; 0: no script. A driver records it with the reply, so that
	// resume can tell which entries are used (D19). Failures carry it too, see [SourceOf].
	Source int
}

// StopReason says why the model stopped. An answer that a filter stopped is no Reply but an [*Error] of [KindContentFilter] (P30).
type StopReason string

const (
	// StopEnd: the model was done, or met one of Params.Stop.
	StopEnd StopReason = "stop"
	// StopLength: Params.MaxTokens or the context window cut the answer.
	StopLength StopReason = "length"
	// StopToolCalls: the model waits for the results of Message.ToolCalls.
	StopToolCalls StopReason = "tool_calls"
	// StopRefusal: the model declined; Message.Text is its explanation.
	StopRefusal StopReason = "refusal"
)

// Delta is a piece of an answer while it is received.
type Delta struct {
	Text      string
	Reasoning string
	// ToolCall is set where a piece of a tool call arrived.
	ToolCall *ToolCallDelta
}

// IsEmpty tells whether d is a mere sign of life.
func (d Delta) IsEmpty() bool { return d == Delta{} }

// ToolCallDelta is a piece of the tool call number Index (from 0). ID and Name come with the first piece; Arguments is the next part of
// the JSON text.
type ToolCallDelta struct {
	Index     int
	ID, Name  string
	Arguments string
}
