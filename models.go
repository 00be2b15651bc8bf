package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/model"
)

// Model answers model calls: a provider written in Go. Implementations are safe for concurrent use.
//
// Call returns the whole answer, and soon after ctx is done. What it got already may be told by [ModelRequest].Say. An error that is a *[ModelError] tells
// its kind; any other is a failure that is not worth another try.
type Model interface {
	Call(ctx context.Context, r ModelRequest) (ModelReply, error)
}

// ModelFunc is a Model that is a function.
type ModelFunc func(ctx context.Context, r ModelRequest) (ModelReply, error)

// Call implements Model.
func (f ModelFunc) Call(ctx context.Context, r ModelRequest) (ModelReply, error) { return f(ctx, r) }

// WithModel gives agents a provider of the program's own: a reference `name/model` goes to m. It wins over a provider that Hocket or a document knows by
// that name. Errors, of [Open]: a name that is empty, holds a slash or a blank, or is taken.
func WithModel(name string, m Model) Option {
	return func(s *settings) {
		ref, err := model.ParseRef(name + "/m")
		switch {
		case err != nil || ref.Provider != name:
			s.problemf("model provider %q: the name must not contain a slash or a space", name)
		case m == nil:
			s.problemf("model provider %q has no model", name)
		case s.models[name] != nil:
			s.problemf("two model providers have the name %q", name)
		default:
			s.models[name] = modelClient{m}
		}
	}
}

// ModelRequest is one model call. What it holds must not be changed.
type ModelRequest struct {
	// Model is what stands behind the provider's name in the reference.
	Model  string
	System string
	// Messages is the conversation, oldest first; it ends with a message of the role user or tool.
	Messages []Message
	Tools    []ToolDef
	// Schema asks for an answer that is JSON of this shape; nil: free text.
	Schema json.RawMessage
	// Temperature and MaxTokens are nil where the agent leaves them to the model.
	Temperature *float64
	MaxTokens   *int64
	// Agent and Node say who asks.
	Agent, Node string
	// Key is equal for all attempts of this call, also after a crash (D6).
	Key string
	// Say tells whoever watches a piece of the answer on its way. It is never nil; one goroutine calls it at a time, and none after Call has returned.
	Say func(text string)
}

// Message is one entry of a conversation.
type Message struct {
	// Role is "system", "user", "assistant" or "tool".
	Role string
	Text string
	// ToolCalls are those that a message of the assistant asks for.
	ToolCalls []ToolUse
	// ToolCallID is the call that a message of the role tool answers, ToolName its tool; IsError marks the report of a failure.
	ToolCallID, ToolName string
	IsError              bool
}

// ToolUse is a model's wish to call a tool. Arguments is a JSON object; ID is unique in the conversation.
type ToolUse struct {
	ID, Name  string
	Arguments json.RawMessage
}

// ToolDef is a tool as a model sees it; Parameters is a JSON Schema of type object.
type ToolDef struct {
	Name, Description string
	Parameters        json.RawMessage
}

// ModelReply is an answer: text, tool calls or both.
type ModelReply struct {
	Text      string
	ToolCalls []ToolUse
	// Usage is nil where it is not known (D14).
	Usage *TokenUsage
	// Truncated says that a limit cut the answer.
	Truncated bool
}

// TokenUsage counts tokens of a call.
type TokenUsage struct{ InputTokens, OutputTokens int64 }

// ModelError is a model call that failed.
type ModelError struct {
	// Kind is a stable word: rate_limit, timeout, overloaded, auth, quota_exceeded, invalid_request, context_length_exceeded, content_filter, network or server. It says whether another try may
	// help; "" is server.
	Kind    string
	Message string
	// RetryAfter is how long the other side asks to wait; 0: it does not say.
	RetryAfter time.Duration
}

func (e *ModelError) Error() string { return e.Message }

// modelClient is a Model as runs use it.
type modelClient struct{ m Model }

// Call implements model.Client.
func (c modelClient) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	r := ModelRequest{
		Model: req.Model, System: req.System, Temperature: req.Params.Temperature, MaxTokens: req.Params.MaxTokens, Agent: req.Agent, Node: req.Node,
		Key: req.IdempotencyKey, Say: func(string) {},
	}
	if onDelta != nil {
		r.Say = func(text string) { onDelta(model.Delta{Text: text}) }
	}
	if req.Schema != nil {
		r.Schema = req.Schema.JSON
	}
	for _, m := range req.Messages {
		r.Messages = append(r.Messages, Message{
			Role: string(m.Role), Text: m.Text.String(), ToolCalls: toolUses(m.ToolCalls), ToolCallID: m.ToolCallID, ToolName: m.ToolName, IsError: m.IsError,
		})
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, ToolDef(t))
	}
	out, err := c.m.Call(ctx, r)
	if err != nil {
		return model.Reply{}, modelError(err)
	}
	reply := model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(out.Text)}, StopReason: model.StopEnd}
	for _, u := range out.ToolCalls {
		reply.Message.ToolCalls = append(reply.Message.ToolCalls, chat.ToolCall{ID: u.ID, Name: u.Name, Arguments: u.Arguments})
	}
	switch {
	case len(out.ToolCalls) > 0:
		reply.StopReason = model.StopToolCalls
	case out.Truncated:
		reply.StopReason = model.StopLength
	}
	if out.Usage != nil {
		reply.Usage = &chat.Usage{InputTokens: out.Usage.InputTokens, OutputTokens: out.Usage.OutputTokens}
	}
	return reply, nil
}

func toolUses(calls []chat.ToolCall) []ToolUse {
	var out []ToolUse
	for _, c := range calls {
		out = append(out, ToolUse{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
	}
	return out
}

// modelError is an error as the journal has it.
func modelError(err error) error {
	var m *ModelError
	if !errors.As(err, &m) {
		return err
	}
	kind := model.ErrorKind(m.Kind)
	if kind == "" {
		kind = model.KindServer
	}
	return &model.Error{Kind: kind, Message: m.Message, RetryAfter: m.RetryAfter, Err: err}
}
