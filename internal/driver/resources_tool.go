package driver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/tool"
	"github.com/hocket-run/hocket/workflow"
)

// CallTool makes one tool call and always returns a result for c.ID: an engine.ToolResult, or an
// engine.ToolHeld if a person must decide first and nothing was called. If c sets no time limit,
// the toolset's limit applies. by is the call; it may be nil.
func (k *RunResources) CallTool(ctx context.Context, info *Info, c *engine.CallTool, by Caller) engine.InputData {
	res, hold := k.callTool(ctx, info, c, by)
	pins := k.newPins()
	if hold != nil {
		return engine.ToolHeld{ID: c.ID, Hold: *hold, Pins: pins}
	}
	res.ID, res.Pins = c.ID, pins
	return res
}

func (k *RunResources) callTool(ctx context.Context, info *Info, c *engine.CallTool, by Caller) (
	res engine.ToolResult, hold *engine.Hold) {
	defer func() {
		if v := recover(); v != nil {
			res, hold = engine.ToolResult{Failure: panicked(fmt.Sprintf("tool %q", c.Tool), v)}, nil
		}
	}()
	if k.Tools == nil {
		return engine.ToolResult{Failure: &event.Failure{
			Code: string(tool.KindUnknownTool), Message: tool.Unknown(toolCall(info.Run, c), nil),
		}}, nil
	}
	ctx = k.traced(ctx, info, c.Key, Traced{Kind: CallOfTool, Step: c.Step})
	ctx, cancel := withTimeout(ctx, c.Timeout)
	defer cancel()
	call := toolCall(info.Run, c)
	call.Caller = by
	out, err := k.Tools.Call(ctx, call)
	if e, ok := errors.AsType[*tool.HoldError](err); ok {
		h := e.Hold
		hold := &engine.Hold{
			Kind: h.Kind, Prompt: h.Prompt, Options: h.Options, Schema: h.Schema, Arguments: h.Arguments,
			Binding: h.Binding, Changed: h.Changed, Tool: h.Tool, Input: h.Input, Signal: h.Signal, Roles: h.Roles,
		}
		if b := h.Below; b != nil {
			hold.Below = &event.Below{Run: b.Run, Wait: b.Wait, Person: b.Person}
		}
		return res, hold
	}
	if err != nil {
		f := FailureOf(ctx, err)
		f.Retryable = f.Retryable && ctx.Err() == nil // a call that was cut off may have been executed (P12)
		res.Failure = f
		if outcomeUnknown(ctx, err) {
			res.Unknown = string(k.Policy(context.WithoutCancel(ctx), info, c))
		}
		return res, nil
	}
	if f := badJSON("tool", c.Tool, out.Structured); f != nil {
		return engine.ToolResult{Failure: f}, nil
	}
	return engine.ToolResult{Text: out.Text, Structured: out.Structured, IsError: out.IsError,
		Permitted: out.Permitted}, nil
}

// outcomeUnknown reports whether a call that returned err may have been executed: no answer arrived
// in time, or the connection broke. An error reported by the tool itself is an answer.
func outcomeUnknown(ctx context.Context, err error) bool {
	if te, ok := errors.AsType[*tool.Error](err); ok {
		return te.OutcomeUnknown && (te.Kind == tool.KindTimeout || te.Kind == tool.KindNetwork)
	}
	return errors.Is(err, errTimeout) || errors.Is(context.Cause(ctx), errTimeout)
}

func toolCall(run string, c *engine.CallTool) tool.Call {
	call := tool.Call{
		Run: run, Agent: agentID(c.Agent), Node: c.Node, Name: c.Tool, Arguments: c.Arguments, Key: c.Key,
		Retry:     c.Retry,
		Iteration: c.Iteration, Definition: c.Definition, Approved: c.Approved, Held: c.Held, Offered: c.Offered,
		CheckOnly: c.CheckOnly,
		Within:    c.Within, Delegates: c.Delegates,
	}
	if c.Agent != nil {
		call.HandoffTool, call.Handoffs = workflow.HandoffTool, c.Agent.Handoffs
		if c.Delegates {
			call.OtherName, call.OtherArguments = loop.OtherName(c.Agent, c.Tool, c.Arguments)
		}
	}
	return call
}

// newPins returns what the tools pinned since the last call, in the engine's format, or nil for
// nothing.
func (k *RunResources) newPins() event.Value {
	p, ok := k.Tools.(Pinner)
	if !ok {
		return nil
	}
	pins := p.NewPins()
	if len(pins) == 0 {
		return nil
	}
	k.mu.Lock()
	k.absent = append(k.absent, pins.Absent()...)
	k.mu.Unlock()
	b, err := json.Marshal(pins)
	if err != nil {
		return nil // definitions that no journal can hold are listed again after a restart
	}
	return b
}

// warnings returns the warnings of a reply: those of its call, and which toolsets did not start
// since the last one.
func (k *RunResources) warnings(ofCall string) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	all := k.absent
	k.absent = nil
	if ofCall != "" {
		all = append(all, ofCall)
	}
	return all
}

// Policy returns what to do with a tool call whose outcome is unknown (P12). It returns PolicyAsk
// for a tool whose policy cannot be determined.
func (k *RunResources) Policy(ctx context.Context, info *Info, c *engine.CallTool) tool.Policy {
	switch {
	case c.CheckOnly:
		return tool.PolicyRetry // it calls nothing
	case k == nil || k.Tools == nil:
		return tool.PolicyAsk
	}
	p, err := k.Tools.Policy(ctx, toolCall(info.Run, c))
	if err != nil || !p.Valid() {
		return tool.PolicyAsk
	}
	return p
}
