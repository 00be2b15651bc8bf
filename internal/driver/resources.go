package driver

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// Info is what is known about a run before any of its calls.
type Info struct {
	Run      string
	Workflow *workflow.Workflow
	// Model overrides the model of every agent unless it is "".
	Model string
	// Meta is Spec.Meta.
	Meta map[string]string
	// Program has the functions of a Go graph; it is nil for documents, and if the functions are
	// not available here.
	Program Program
	// File returns one of Spec.Files, which is read on demand. It returns journal.ErrNotFound if
	// the run has no such file.
	File func(ctx context.Context, name string) ([]byte, error)
	// History returns the calls made so far according to the journal; it is empty for a new run.
	History func(ctx context.Context) (*History, error)
}

// OpenFunc opens the resources that the calls of one run need. It is called each time a run is
// loaded into memory, before its first call, and should not connect to anything. An error prevents
// a new run from starting.
type OpenFunc func(ctx context.Context, info Info) (*RunResources, error)

// Tools are the tools of one run; *tool.Set implements it. Agents are identified by their id, tool
// nodes by "".
type Tools interface {
	Defs(ctx context.Context, agent string) ([]chat.ToolDef, error)
	Instructions(ctx context.Context, agent string) (string, error)
	Policy(ctx context.Context, c tool.Call) (tool.Policy, error)
	// Order is documented at [tool.Set.Order].
	Order(ctx context.Context, c tool.Call) (concurrent, asks bool)
	Call(ctx context.Context, c tool.Call) (tool.Result, error)
	Restore(ctx context.Context, calls []tool.Finished) error
	Close() error
}

// Pinner is implemented by Tools that pin the definitions that they listed, such as *tool.Set.
type Pinner interface {
	// NewPins returns what was pinned since the last call, or nil for nothing.
	NewPins() tool.Pins
}

// RunResources holds what the calls of one run need. The zero RunResources fails every call. It is
// safe for concurrent use.
type RunResources struct {
	// Models makes model calls; requests name models by reference.
	Models model.Client
	// DefaultModel is the model of agents that have none of their own (D26).
	DefaultModel string
	// Price returns the cost of a call, or nil if it is unknown (D14). If Price is nil, no prices
	// are known.
	Price func(ref string, u chat.Usage) *float64
	// Admit returns the queue position of a model call, in which the call waits before it takes one
	// of the driver's slots (P14). If Admit is nil or returns nil, calls do not wait.
	Admit func(info *Info, c *engine.CallModel) Admission
	// Tools may be nil, which means that there are no tools.
	Tools Tools
	// Stateless means that no tool of the run is a tool.Restorer, which saves reading the journal
	// for them.
	Stateless bool
	// Waits means that tool calls of the run only wait for other runs: they take none of the slots
	// that those runs need (Config.MaxCalls).
	Waits bool
	// Program executes CallFunc; it is nil for documents.
	Program Program
	// Trace returns the context under which a call is made, with the call's span if telemetry is
	// enabled. If Trace is nil, the context is unchanged.
	Trace func(ctx context.Context, c Traced) context.Context
	// MaxReplyBytes is the maximum size of a model reply, and MaxReplyCalls the maximum number of
	// tool calls in it: a larger reply is a failure that names the limit, with the cost of the call
	// (SEC17). 0 means DefaultMaxReplyBytes and DefaultMaxReplyCalls.
	MaxReplyBytes, MaxReplyCalls int
	// ModelTimeout and ModelIdle are the timeouts of model calls whose node sets none; 0 means the
	// defaults of package model (P11).
	ModelTimeout, ModelIdle time.Duration

	memos memos

	mu sync.Mutex
	// absent are the toolsets that did not start, for the warning of the next reply.
	absent []string
}

// Traced identifies a call by the same step and call key as the run's events.
type Traced struct {
	Step int
	// Call is the key of the call; Model is the model reference of a model call, which may be "".
	Call, Model string
	Kind        CallKind
}

// CallKind is the kind of a call.
type CallKind int

// The kinds of calls.
const (
	CallOfModel CallKind = iota
	CallOfTool
	CallOfFunc
)

// traced returns the context of a call; key is its idempotency key.
func (k *RunResources) traced(ctx context.Context, info *Info, key string, c Traced) context.Context {
	if k.Trace == nil {
		return ctx
	}
	c.Call = strings.TrimPrefix(key, info.Run+"/")
	return k.Trace(ctx, c)
}

// Admission is the position of a call in a queue. It must be used by a single goroutine, except for
// Done.
type Admission interface {
	// Ready waits until the call may start. If ctx is done first, it returns ctx's error.
	Ready(ctx context.Context) error
	// Start takes the turn. It returns false if the call can no longer start although Ready has
	// returned; Ready must then be called again.
	Start() bool
	// Leave abandons a turn that was not taken.
	Leave()
	// Done ends a turn that was taken, with the result of the call. It may be called from any
	// goroutine and more than once: the first call counts.
	Done(res engine.ModelResult)
}

// Close closes the resources. It does nothing if k is nil.
func (k *RunResources) Close() error {
	if !k.Opened() {
		return nil
	}
	return k.Tools.Close()
}

// Opened reports whether there is anything to close.
func (k *RunResources) Opened() bool { return k != nil && k.Tools != nil }

// CallModel makes one model call and always returns a result for c.ID. onDelta may be nil; it is
// called as documented in model.Client.
func (k *RunResources) CallModel(ctx context.Context, info *Info, c *engine.CallModel, onDelta func(Delta)) (
	res engine.ModelResult) {
	defer func() {
		if v := recover(); v != nil {
			res = engine.ModelResult{ID: c.ID, Failure: panicked("model client", v)}
		}
		res.Pins = k.newPins()
		if res.Failure == nil && !c.Compaction {
			res.Warning = strings.Join(k.warnings(res.Warning), "; ")
		}
	}()
	if k.Models == nil {
		return engine.ModelResult{ID: c.ID, Failure: &event.Failure{Code: string(model.KindInvalidRequest),
			Message: "no models are configured"}}
	}
	ctx = k.traced(ctx, info, c.Key, Traced{Kind: CallOfModel, Step: c.Step, Model: c.Model})
	req, err := k.Request(ctx, info, c)
	if err != nil {
		return engine.ModelResult{ID: c.ID, Failure: FailureOf(ctx, err)}
	}
	key := memoKey(c)
	if c.Compaction {
		onDelta = nil // its output is for the agent, not for watchers
	} else {
		req.Memo = k.memos.take(key)
	}
	total := k.ModelTimeout
	if c.Timeout > 0 {
		total = c.Timeout
	}
	reply, err := model.WithTimeouts(k.Models, total, k.ModelIdle).Call(ctx, req, deltas(info, c, onDelta))
	if err != nil {
		used := model.UsageOf(err)
		return engine.ModelResult{ID: c.ID, Model: req.Model, Usage: used, CostUSD: k.cost(req.Model, used),
			UsageEstimated: model.EstimatedOf(err), Source: source(model.SourceOf(err)), Details: model.DetailsOf(err),
			Failure: FailureOf(ctx, err)}
	}
	if len(reply.Message.ToolCalls) > 0 && !c.Compaction {
		k.memos.keep(key, req.Memo)
	}
	if f := cmp.Or(k.tooLarge(reply.Message), badMessage(reply.Message)); f != nil {
		return engine.ModelResult{ID: c.ID, Model: req.Model, Usage: reply.Usage,
			CostUSD: k.cost(cmp.Or(reply.Model, req.Model), reply.Usage), UsageEstimated: reply.UsageEstimated,
			Source: source(reply.Source), Details: reply.Details, Failure: f}
	}
	res = engine.ModelResult{
		ID:      c.ID,
		Message: reply.Message,
		Usage:   reply.Usage,
		Model:   reply.Model,
		Stop:    string(reply.StopReason),
		Warning: reply.Warning,
		Source:  source(reply.Source),

		UsageEstimated: reply.UsageEstimated,
		Details:        reply.Details,
		Guarded:        k.guarded(ctx, info, c, reply.Message),
	}
	if res.Model == "" {
		res.Model = req.Model
	}
	res.CostUSD = k.cost(res.Model, reply.Usage)
	k.order(ctx, info, c, &res)
	return res
}

// order records in a reply how its tool calls are made. Tools that the engine answers are
// left to it.
func (k *RunResources) order(ctx context.Context, info *Info, c *engine.CallModel, res *engine.ModelResult) {
	calls := res.Message.ToolCalls
	if len(calls) < 2 || c.Compaction || k.Tools == nil || c.Agent.ToolCalls == workflow.ToolCallsParallel {
		return
	}
	for i, tc := range calls {
		if slices.ContainsFunc(c.Tools, func(own chat.ToolDef) bool { return own.Name == tc.Name }) {
			continue
		}
		concurrent, asks := k.Tools.Order(ctx, tool.Call{Run: info.Run, Agent: agentID(c.Agent), Within: c.Within,
			Node: c.Node, Name: tc.Name, Arguments: tc.Arguments})
		if concurrent {
			res.Concurrent = append(res.Concurrent, i)
		}
		if asks {
			res.Asks = append(res.Asks, i)
		}
	}
}

// guarded returns the tools of a reply with which the agent delegates and whose calls the
// permissions may deny or ask about.
func (k *RunResources) guarded(ctx context.Context, info *Info, c *engine.CallModel, reply chat.Message) (
	names []string) {
	if k.Tools == nil || c.Agent == nil || c.Compaction {
		return nil
	}
	for _, tc := range engine.Delegating(c.Agent, reply) {
		call := tool.Call{Run: info.Run, Agent: c.Agent.ID, Within: c.Within, Node: c.Node, Name: tc.Name,
			Arguments: tc.Arguments, Delegates: true}
		call.OtherName, call.OtherArguments = loop.OtherName(c.Agent, tc.Name, tc.Arguments)
		if _, asks := k.Tools.Order(ctx, call); asks && !slices.Contains(names, tc.Name) {
			names = append(names, tc.Name)
		}
	}
	return names
}

// cost returns the cost of a model call, or nil if it is unknown.
func (k *RunResources) cost(ref string, u *chat.Usage) *float64 {
	if k.Price == nil || u == nil {
		return nil
	}
	return k.Price(ref, *u)
}

// Request returns the request of a model call. It opens the agent's toolsets.
func (k *RunResources) Request(ctx context.Context, info *Info, c *engine.CallModel) (model.Request, error) {
	req := model.Request{
		Model:          k.modelOf(info, c),
		System:         c.System,
		Messages:       c.Messages,
		Tools:          c.Tools,
		IdempotencyKey: c.Key,
		Node:           c.Node,
	}
	a := c.Agent
	if a == nil {
		return req, nil
	}
	req.Agent = a.Title()
	if c.Compaction {
		if c.MaxOutput > 0 {
			req.Params = Within(req.Params, c.MaxOutput)
		}
		return req, nil
	}
	req.Params = params(a.Params)
	if c.MaxOutput > 0 {
		req.Params = Within(req.Params, c.MaxOutput)
	}
	if a.Output != nil {
		req.Schema = &model.Schema{Name: a.Output.Name, JSON: a.Output.Schema, Strict: a.Output.Strict}
	}
	if k.Tools == nil {
		return req, nil
	}
	defs, err := k.Tools.Defs(ctx, a.ID)
	if err != nil {
		return req, err
	}
	for _, d := range defs { // of two tools with the same name, the engine's is called
		if !slices.ContainsFunc(c.Tools, func(own chat.ToolDef) bool { return own.Name == d.Name }) {
			req.Tools = append(slices.Clip(req.Tools), d)
		}
	}
	text, err := k.Tools.Instructions(ctx, a.ID)
	if err != nil {
		return req, err
	}
	switch {
	case text == "":
	case req.System == "":
		req.System = text
	default:
		req.System += "\n\n" + text
	}
	return req, nil
}

// modelOf chooses the model: the run's override, the agent's own, or the default (D26).
func (k *RunResources) modelOf(info *Info, c *engine.CallModel) string {
	switch {
	case info.Model != "":
		return info.Model
	case c.Model != "":
		return c.Model
	}
	return k.DefaultModel
}

// Within limits an answer, including reasoning, to what a budget leaves for it. A thinking budget
// that leaves nothing for the answer is removed, as are provider options that would set another
// limit.
func Within(p model.Params, most int64) model.Params {
	if t := p.ThinkingBudget; t != nil && *t > 0 {
		if most > 2**t {
			most -= *t // adapters add it on top
		} else {
			p.ThinkingBudget = nil
		}
	}
	p.MaxTokens = &most
	p.ProviderOptions = maps.Clone(p.ProviderOptions)
	maps.DeleteFunc(p.ProviderOptions, func(path string, _ json.RawMessage) bool {
		last := path[strings.LastIndex(path, ".")+1:]
		return slices.Contains([]string{"max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"},
			last)
	})
	return p
}

func params(p workflow.ModelParams) model.Params {
	return model.Params{
		Temperature:      p.Temperature,
		TopP:             p.TopP,
		FrequencyPenalty: p.FrequencyPenalty,
		PresencePenalty:  p.PresencePenalty,
		MaxTokens:        p.MaxTokens,
		ReasoningEffort:  p.ReasoningEffort,
		ThinkingBudget:   p.ThinkingBudget,
		Stop:             p.Stop,
		ProviderOptions:  p.Provider,
	}
}

// deltas adds the attempt and offset to the pieces of one attempt; it returns nil if there is no
// watcher.
func deltas(info *Info, c *engine.CallModel, onDelta func(Delta)) func(model.Delta) {
	if onDelta == nil {
		return nil
	}
	offset, call := 0, strings.TrimPrefix(c.Key, info.Run+"/")
	return func(d model.Delta) {
		if d.Text == "" && d.Reasoning == "" {
			return
		}
		onDelta(Delta{Node: c.Node, Step: c.Step, Call: call, Attempt: c.Attempt, Offset: offset, Text: d.Text,
			Reasoning: d.Reasoning})
		offset += len(d.Text)
	}
}

// CallFunc makes one call of a node function and always returns a result for c.ID. The caller must
// end ctx when it has the result. Without c.Timeout the call has no time limit: it is the program's
// own code. by is the call; it may be nil.
func (k *RunResources) CallFunc(ctx context.Context, info *Info, c *engine.CallFunc, by Caller) (
	res engine.FuncResult) {
	defer func() {
		if v := recover(); v != nil {
			res = engine.FuncResult{ID: c.ID, Failure: &event.Failure{Code: event.CodeFunc,
				Message: fmt.Sprintf("function %q panicked: %v", c.Func, v)}}
		}
	}()
	if k.Program == nil {
		return engine.FuncResult{ID: c.ID, Failure: &event.Failure{
			Code:    event.CodeFunc,
			Message: fmt.Sprintf("function %q: this workflow needs the Go program that registered it", c.Func),
		}}
	}
	ctx = k.traced(ctx, info, c.Key, Traced{Kind: CallOfFunc, Step: c.Step})
	if c.Timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = withTimeout(ctx, c.Timeout)
		defer cancel()
	}
	res = k.Program.Call(ctx, info.Run, c, by)
	res.ID = c.ID
	if cause := context.Cause(ctx); res.Failure != nil && cause != nil {
		res.Failure, res.Cause = FailureOf(ctx, cause), nil
	}
	f := badJSON("function", c.Func, res.Output)
	f = cmp.Or(f, badFields(c.Func, res.Update))
	for i := range res.Grown {
		if g := &res.Grown[i]; f == nil && g.Check() != nil {
			f = &event.Failure{Code: codeInternal,
				Message: fmt.Sprintf("function %q returned a value of field %q that is not JSON", c.Func, g.Field())}
		}
	}
	for _, s := range res.Signals {
		f = cmp.Or(f, badFields(c.Func, s.Data))
	}
	if f != nil {
		return engine.FuncResult{ID: c.ID, Failure: f}
	}
	return res
}
