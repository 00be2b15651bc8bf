package telemetry

import (
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
)

// call follows what happens inside steps: calls, and the loops of sub-agents.
func (t *Tracer) call(e engine.Event) {
	st := t.steps[e.Step]
	if st == nil {
		return
	}
	switch d := e.Data.(type) {
	case *engine.ModelCalled:
		t.modelCalled(e, st, d)
	case *engine.ModelReplied:
		t.modelReplied(e, d)
	case *engine.ModelFailed:
		if c := t.ended(d.Call, d.Attempt, d.Late); c != nil {
			c.model(d.Model, false)
			c.used(d.Usage, d.CostUSD)
			t.fail(c.open, &d.Error)
			if d.Withheld() {
				c.set(Attr{Withheld, true})
			}
			t.settle(e, c)
		}
	case *engine.ToolCalled:
		t.toolCalled(e, st, d)
	case *engine.ToolReturned:
		t.toolReturned(e, d)
	case *engine.ToolFailed:
		if c := t.ended(d.Call, d.Attempt, d.Late); c != nil {
			t.fail(c.open, &d.Error)
			t.content.answered(e.Step, c.frame, c.answers, d.Error.Message)
			t.settle(e, c)
		}
	case *engine.FuncCalled:
		c := t.startCall(e, st, st.open, WhatFunc, d.Call, d.Attempt, "function", d.Func)
		c.set(Attr{Function, d.Func})
	case *engine.FuncReturned:
		if c := t.ended(d.Call, d.Attempt, d.Late); c != nil {
			t.fail(c.open, d.Error)
			t.settle(e, c)
		}
	case *engine.SubagentStarted:
		a := t.startAgent(st.in(d.Parent), e, "", d.Frame, d.Agent)
		a.set(Attr{ToolCallID, d.ToolCallID}, Attr{SubagentDepth, int64(d.Depth)})
		if st.subs == nil {
			st.subs = map[int]*open{}
		}
		st.subs[d.Frame] = a
		t.content.began(a, e.Step, d.Frame, d.System, d.Input)
		t.content.opened(e.Step, d)
	case *engine.AgentHanded:
		t.handed(e, st, d)
	case *engine.SubagentCompleted:
		t.content.closed(e.Step, d.Frame, d.Output)
		t.subagentEnded(e, st, d.Frame, nil)
	case *engine.SubagentFailed:
		t.content.closed(e.Step, d.Frame, engine.Value(d.Error.Message))
		t.subagentEnded(e, st, d.Frame, &d.Error)
	}
}

// in gives the span of the agent loop frame: a sub-agent's, else the step's own, else the step's where no agent is.
func (st *stepSpan) in(frame int) *open {
	if a := st.subs[frame]; a != nil && !a.ended {
		return a
	}
	if st.agent != nil && !st.agent.ended {
		return st.agent
	}
	return st.open
}

func (t *Tracer) subagentEnded(e engine.Event, st *stepSpan, frame int, f *engine.Failure) {
	if a := st.subs[frame]; a != nil {
		t.fail(a, f)
		t.finish(a, e.At)
	}
}

func (t *Tracer) startCall(e engine.Event, st *stepSpan, parent *open, what What, call string, attempt int, op, name string) *callSpan {
	c := &callSpan{open: t.start(parent, e.At, what, e.Step, call, attempt, op, name), step: st}
	c.set(Attr{RunID, t.run}, Attr{NodeID, e.Node}, Attr{Step, int64(e.Step)}, Attr{Call, call}, Attr{Attempt, int64(attempt)})
	t.calls[callKey{call, attempt}] = c
	return c
}

// ended takes a call off the list of those that are out.
func (t *Tracer) ended(call string, attempt int, late bool) *callSpan {
	k := callKey{call, attempt}
	c := t.calls[k]
	if c == nil {
		return nil
	}
	delete(t.calls, k)
	if late {
		c.set(Attr{Late, true})
	}
	return c
}

// settle ends a call, and forgets its step where that waited for it alone.
func (t *Tracer) settle(e engine.Event, c *callSpan) {
	t.finish(c.open, e.At)
	if c.step.ended && c.step.kids == 0 {
		delete(t.steps, e.Step)
	}
}

func (t *Tracer) modelCalled(e engine.Event, st *stepSpan, d *engine.ModelCalled) {
	c := t.startCall(e, st, st.in(d.Frame), WhatModel, d.Call, d.Attempt, OpChat, "")
	c.Kind, c.frame = KindClient, d.Frame
	c.set(Attr{OperationName, OpChat}, Attr{ConversationID, t.run + "/" + d.Conversation}, Attr{AgentID, d.Agent}, Attr{AgentName, d.Agent})
	c.model(d.Model, false)
	t.content.asks(c.open, e.Step, d)
}

func (t *Tracer) modelReplied(e engine.Event, d *engine.ModelReplied) {
	c := t.ended(d.Call, d.Attempt, d.Late)
	if c == nil {
		return
	}
	c.model(d.Model, true)
	if d.Stop != "" {
		c.set(Attr{FinishReasons, []string{d.Stop}})
	}
	c.used(d.Usage, d.CostUSD)
	t.content.replied(c.open, e.Step, c.frame, d)
	t.settle(e, c)
}

// used says what a model call used, as far as it is known.
func (c *callSpan) used(u *chat.Usage, cost *float64) {
	if u != nil {
		c.set(Attr{InputTokens, u.InputTokens}, Attr{OutputTokens, u.OutputTokens})
		if u.CachedTokens > 0 {
			c.set(Attr{CachedTokens, u.CachedTokens})
		}
	}
	if cost != nil {
		c.set(Attr{CostUSD, *cost})
	}
}

// handed gives a loop to another agent, whose span stands beside that of the one before it.
func (t *Tracer) handed(e engine.Event, st *stepSpan, d *engine.AgentHanded) {
	old := st.in(d.Frame)
	if old == st.open || old.ended {
		return
	}
	parent := old.parent
	a := t.startAgent(parent, e, "handed "+d.ToolCallID, int(e.Seq), d.Agent)
	a.set(Attr{ToolCallID, d.ToolCallID})
	t.finish(old, e.At)
	if old == st.agent {
		st.agent = a
	} else {
		st.subs[d.Frame] = a
	}
	t.content.handed(a, d.System)
}

// model says which model was asked, and with answered which replied; what is known last wins.
func (c *callSpan) model(ref string, answered bool) {
	if ref == "" {
		return
	}
	provider, name, found := strings.Cut(ref, "/")
	if !found {
		provider, name = "", ref
	}
	if c.Attr(RequestModel) == nil {
		c.Name = OpChat + " " + name
		c.set(Attr{ProviderName, wellKnown(provider)}, Attr{RequestModel, name})
	}
	if answered {
		c.set(Attr{ResponseModel, name})
	}
}

// wellKnown gives the convention's name of a provider, its own where the convention has none.
func wellKnown(provider string) string {
	switch provider {
	case "google", "gemini":
		return "gcp.gemini"
	case "mistral":
		return "mistral_ai"
	case "xai":
		return "x_ai"
	case "azure":
		return "azure.ai.openai"
	case "bedrock":
		return "aws.bedrock"
	}
	return provider
}

func (t *Tracer) toolCalled(e engine.Event, st *stepSpan, d *engine.ToolCalled) {
	c := t.startCall(e, st, st.in(d.Frame), WhatTool, d.Call, d.Attempt, OpTool, d.Tool)
	c.set(Attr{OperationName, OpTool}, Attr{ToolName, d.Tool}, Attr{ToolType, "function"}, Attr{ToolCallID, d.ToolCallID})
	c.frame, c.answers = d.Frame, d.ToolCallID
	t.content.calls(c.open, e.Step, d)
}

func (t *Tracer) toolReturned(e engine.Event, d *engine.ToolReturned) {
	c := t.ended(d.Call, d.Attempt, d.Late)
	if c == nil {
		t.content.answered(e.Step, d.Frame, d.ToolCallID, d.Text) // by the engine itself
		return
	}
	if d.IsError {
		c.Failed = true
		c.set(Attr{ErrorType, "tool_error"})
	}
	t.content.answered(e.Step, c.frame, c.answers, d.Text)
	t.content.result(c.open, d)
	t.settle(e, c)
}
