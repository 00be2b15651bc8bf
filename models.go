package hocket

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/program"
	"github.com/hocket-run/hocket/internal/tool"
)

// Model answers model calls: it is a provider written in Go. Implementations must be safe for
// concurrent use.
//
// Call returns the whole reply. It must return soon after ctx is done. It may report partial output
// through [ModelRequest].Say. If the error is a *[ModelError], its kind is used; any other error is
// treated as a failure that is not worth retrying.
type Model interface {
	Call(ctx context.Context, r ModelRequest) (ModelReply, error)
}

// ModelFunc adapts a function to a Model.
type ModelFunc func(ctx context.Context, r ModelRequest) (ModelReply, error)

// Call implements Model.
func (f ModelFunc) Call(ctx context.Context, r ModelRequest) (ModelReply, error) { return f(ctx, r) }

// WithModel adds a provider implemented by the program: a reference `name/model` is sent to m. It
// takes precedence over a provider with that name that Hocket or a document defines. [Open] returns
// an error if the name is empty, contains a slash or a blank, or is taken.
func WithModel(name string, m Model) Option {
	return option(func(s *settings) {
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
	})
}

// ModelRequest is one model call. Its contents must not be changed.
type ModelRequest struct {
	// Model is the part of the reference after the provider's name.
	Model  string
	System string
	// Messages is the conversation, oldest message first; the last message has the role user or
	// tool.
	Messages []Message
	Tools    []ToolDef
	// Schema requests a JSON reply that conforms to this schema; nil means free text.
	Schema json.RawMessage
	// Temperature and MaxTokens are nil if the agent leaves them to the model.
	Temperature *float64
	MaxTokens   *int64
	// Agent and Node identify the caller.
	Agent, Node string
	// Key is equal for all attempts of this call, also after a crash.
	Key string
	// Say passes a piece of the reply to watchers while it is generated. It is never nil; it must
	// be called by one goroutine at a time, and not after Call has returned.
	Say func(text string)
}

// Message is one entry of a conversation.
type Message struct {
	// Role is "system", "user", "assistant" or "tool".
	Role string
	Text string
	// ToolCalls are the tool calls that an assistant message requests.
	ToolCalls []ToolUse
	// ToolCallID is the call that a message of the role tool answers, and ToolName its tool;
	// IsError marks the report of a failure.
	ToolCallID, ToolName string
	IsError              bool
}

// ToolUse is a model's request to call a tool. Arguments is a JSON object; ID is unique in the
// conversation.
type ToolUse struct {
	ID, Name  string
	Arguments json.RawMessage
}

// ToolDef is the definition of a tool for a model; Parameters is a JSON Schema of type object.
type ToolDef struct {
	Name, Description string
	Parameters        json.RawMessage
}

// ModelReply is a reply: text, tool calls or both.
type ModelReply struct {
	Text      string
	ToolCalls []ToolUse
	// Usage is nil if it is not known.
	Usage *TokenUsage
	// Truncated is set if a limit cut the reply off.
	Truncated bool
}

// TokenUsage counts the tokens of a call.
type TokenUsage struct{ InputTokens, OutputTokens int64 }

// ModelError is a model call that failed.
type ModelError struct {
	// Kind is a stable word: rate_limit, timeout, overloaded, auth, quota_exceeded,
	// invalid_request, context_length_exceeded, content_filter, network or server. It determines
	// whether a retry may help; empty means server.
	Kind    string
	Message string
	// RetryAfter is how long the server asks to wait; 0 means that it does not say.
	RetryAfter time.Duration
}

func (e *ModelError) Error() string { return e.Message }

// modelClient adapts a Model to model.Client.
type modelClient struct{ m Model }

// Call implements model.Client.
func (c modelClient) Call(ctx context.Context, req model.Request, onDelta func(model.Delta)) (model.Reply, error) {
	r := ModelRequest{
		Model: req.Model, System: req.System, Temperature: req.Params.Temperature, MaxTokens: req.Params.MaxTokens,
		Agent: req.Agent, Node: req.Node,
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
			Role: string(m.Role), Text: m.Text.String(), ToolCalls: toolUses(m.ToolCalls), ToolCallID: m.ToolCallID,
			ToolName: m.ToolName, IsError: m.IsError,
		})
	}
	for _, t := range req.Tools {
		r.Tools = append(r.Tools, ToolDef(t))
	}
	out, err := c.m.Call(ctx, r)
	if err != nil {
		return model.Reply{}, modelError(err)
	}
	reply := model.Reply{Message: chat.Message{Role: chat.RoleAssistant, Text: chat.NewText(out.Text)},
		StopReason: model.StopEnd}
	for _, u := range out.ToolCalls {
		reply.Message.ToolCalls = append(reply.Message.ToolCalls,
			chat.ToolCall{ID: u.ID, Name: u.Name, Arguments: u.Arguments})
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

// modelError converts an error into the form in which it is journaled.
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

// ToolOptions specifies how calls of a tool are handled. The zero value is for tools that change
// something.
type ToolOptions struct {
	// Idempotent declares that a call may be repeated with the same [ToolCallInfo].Key: the tool
	// only reads, or deduplicates by key. A call whose outcome is unknown, because the process died
	// during it, is then repeated.
	Idempotent bool
	// ReadOnly declares that calls change nothing, so that neighbouring ones of a reply are made
	// concurrently; calls of other tools are made one after another ([Agent].ToolCalls).
	ReadOnly bool
	// Unknown determines what happens to such a call of a tool that is not idempotent; empty means
	// [AskPerson].
	Unknown UnknownOutcome
	// Timeout limits one call; 0 means 5 minutes.
	Timeout time.Duration
}

// UnknownOutcome determines what happens to a tool call whose outcome is unknown.
type UnknownOutcome string

const (
	// AskPerson lets a person decide: the run waits.
	AskPerson UnknownOutcome = "ask"
	// SkipCall continues without a result.
	SkipCall UnknownOutcome = "skip"
	// FailStep fails the step.
	FailStep UnknownOutcome = "fail"
)

// ToolCallInfo identifies the caller of a tool.
type ToolCallInfo struct {
	// Run and Node are the run and node that make the call; Agent is the ID of the agent, and empty
	// if a node calls the tool itself.
	Run, Node, Agent string
	// Key is equal for every repetition of this call, also after a crash, and different for every
	// other call.
	Key string
}

type toolCallKey struct{}

// ToolCall returns information about the current tool call, and false outside of one.
func ToolCall(ctx context.Context) (ToolCallInfo, bool) {
	info, ok := ctx.Value(toolCallKey{}).(ToolCallInfo)
	return info, ok
}

// goTool is a tool implemented by a Go function.
type goTool struct {
	def     chat.ToolDef
	options ToolOptions
	engine  *Engine // the engine that owns the tool
	call    func(ctx context.Context, args json.RawMessage) (json.RawMessage, error)
}

var _ tool.Tool = (*goTool)(nil)

// toolName matches the tool names that providers accept.
var toolName = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// WithTool adds a tool for agents that is implemented by a Go function. description tells a model
// when to call it. At most one ToolOptions may be passed.
//
// In is a struct: its JSON Schema describes the arguments to a model, with fields by their JSON
// names, required unless they have omitempty or omitzero, and described by their tag `jsonschema`.
// Arguments that do not match are reported to the model, and fn is not called. The return value of
// fn is the result, encoded as JSON, except that a string is passed as it is; its error is reported
// to the model as a failure reported by the tool. fn must return soon after ctx is done; a panic in
// it fails the call. It may be called from several goroutines concurrently.
//
// An agent of a document may use the tool if its list of tools names it; tool nodes and custom tool
// nodes of graphs call it by name. [Open] returns an error if the name does not consist of 1 to 64
// letters, digits, `_` and `-`, if the name is taken, or if a type has no schema.
func WithTool[In, Out any](name, description string, fn func(ctx context.Context, in In) (Out, error),
	options ...ToolOptions) Option {
	t := goTool{def: chat.ToolDef{Name: name, Description: description}}
	var tooMany error
	t.options, tooMany = atMostOne(options, "ToolOptions")
	t.call = func(ctx context.Context, args json.RawMessage) (json.RawMessage, error) {
		var in In
		if len(args) > 0 {
			if err := json.Unmarshal(args, &in); err != nil {
				return nil, fmt.Errorf("read arguments: %w", err)
			}
		}
		out, err := fn(ctx, in)
		if err != nil {
			return nil, err
		}
		return json.Marshal(out)
	}
	return option(func(s *settings) {
		t := t // the option may be passed to several engines
		schema, err := jsonschema.For[In](nil)
		if err == nil {
			err = tooMany
		}
		if err == nil && schema.Type != "object" {
			err = errors.New("its arguments are not a struct")
		}
		if err == nil {
			t.def.Parameters, err = json.Marshal(schema)
		}
		switch taken := slices.ContainsFunc(s.tools, func(o goTool) bool { return o.def.Name == name }); {
		case err != nil:
			s.problemf("tool %q: %w", name, err)
		case !toolName.MatchString(name):
			s.problemf("tool %q: a name must have 1 to 64 letters, digits, _ or -", name)
		case fn == nil:
			s.problemf("tool %q has no function", name)
		case taken:
			s.problemf("two tools have the name %q", name)
		case t.options.Unknown != "" && !tool.Policy(t.options.Unknown).Valid():
			s.problemf("tool %q: unknown policy %q", name, t.options.Unknown)
		case t.options.Timeout < 0:
			s.problemf("tool %q has a negative timeout", name)
		default:
			s.tools = append(s.tools, t)
		}
	})
}

// Def implements tool.Tool.
func (t *goTool) Def() chat.ToolDef { return t.def }

// Policy implements tool.Tool.
func (t *goTool) Policy() tool.Policy {
	if t.options.Idempotent {
		return tool.PolicyRetry
	}
	return cmp.Or(tool.Policy(t.options.Unknown), tool.PolicyAsk)
}

// Concurrent implements tool.Concurrent.
func (t *goTool) Concurrent() bool { return t.options.ReadOnly }

// toolCaller is the Caller for the function of a tool, which has no sub-steps of its own.
type toolCaller struct {
	by     driver.Caller
	key    string
	engine *Engine
}

var _ program.Caller = toolCaller{}

// Notes implements program.Caller.
func (toolCaller) Notes() program.Notes { return nil }

// Host implements program.Caller.
func (c toolCaller) Host() any { return c.by }

// Work implements program.Caller.
func (c toolCaller) Work() program.Work {
	w := program.Work{Key: c.key, Attempt: 1}
	if info := c.by.Info(); info != nil && c.engine != nil {
		w.Services = &program.Services{Runtime: c.engine.runtime(*info)}
	}
	return w
}

// Call implements tool.Tool.
func (t *goTool) Call(ctx context.Context, c tool.Call) (tool.Result, error) {
	if by, ok := c.Caller.(driver.Caller); ok {
		ctx = program.WithCaller(ctx, toolCaller{by, c.Key, t.engine})
	}
	raw, err := t.invoke(ctx, c.Arguments, ToolCallInfo{Run: c.Run, Node: c.Node, Agent: c.Agent, Key: c.Key})
	switch {
	case err != nil && ctx.Err() != nil:
		return tool.Result{}, err
	case err != nil:
		return tool.Result{Text: err.Error(), IsError: true}, nil //nolint:nilerr // it is reported to the model
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return tool.Result{Text: text}, nil
	}
	return tool.Result{Text: string(raw), Structured: raw}, nil
}

func (t *goTool) invoke(ctx context.Context, args json.RawMessage, info ToolCallInfo) (json.RawMessage, error) {
	if t.options.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, t.options.Timeout,
			&graph.TimeoutError{Tool: t.def.Name, After: t.options.Timeout})
		defer cancel()
	}
	raw, err := t.call(context.WithValue(ctx, toolCallKey{}, info), args)
	if err != nil && ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	return raw, err
}

// toolRegistry provides the tools to custom tool nodes.
type toolRegistry map[string]*goTool

var _ graph.ToolRegistry = toolRegistry(nil)

// Get implements graph.ToolRegistry.
func (r toolRegistry) Get(name string) (graph.ToolHandler, bool) {
	t, ok := r[name]
	if !ok {
		return nil, false
	}
	return func(ctx context.Context, args json.RawMessage, c graph.ToolContext) (json.RawMessage, error) {
		return t.invoke(ctx, args, ToolCallInfo{Run: c.ExecutionID, Node: c.NodeID, Key: c.MessageID})
	}, true
}

// Names implements graph.ToolRegistry.
func (r toolRegistry) Names() []string { return slices.Sorted(maps.Keys(r)) }
