package telemetry

import (
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// call processes events inside steps: calls, and the loops of sub-agents.
func (t *Tracer) call(e event.Event) {
	st := t.steps[e.Step]
	if st == nil {
		return
	}
	switch d := e.Data.(type) {
	case *event.ModelCalled:
		t.modelCalled(e, st, d)
	case *event.ModelReplied:
		t.modelReplied(e, d)
	case *event.ModelFailed:
		if c := t.outstanding(d.Call, d.Attempt); c != nil {
			c.model(d.Model, "")
			c.addUsage(d.Usage, d.CostUSD)
			c.setDetails(d.Details)
			if d.Withheld() && c.failures == 0 {
				c.set(Attr{Withheld, true})
			}
			t.failed(e, c, &d.Error, d.Late)
		}
	case *event.ToolCalled:
		t.toolCalled(e, st, d)
	case *event.ToolReturned:
		t.toolReturned(e, d)
	case *event.ToolFailed:
		if c := t.outstanding(d.Call, d.Attempt); c != nil {
			t.failed(e, c, &d.Error, d.Late)
		}
	case *event.FuncCalled:
		if c, fresh := t.startCall(e, st, st.openSpan, WhatFunc, d.Call, d.Attempt, "function", d.Func, ""); fresh {
			c.set(Attr{Function, d.Func})
		}
	case *event.FuncReturned:
		switch c := t.outstanding(d.Call, d.Attempt); {
		case c == nil:
		case d.Error != nil:
			t.failed(e, c, d.Error, d.Late)
		default:
			t.settle(c, e.At, nil, d.Late)
		}
	case *event.SubagentStarted:
		a := t.startAgent(st.loopSpan(d.Parent), e, "", d.Frame, d.Agent)
		a.set(Attr{ToolCallID, d.ToolCallID}, Attr{SubagentDepth, int64(d.Depth)})
		if st.subs == nil {
			st.subs = map[int]*openSpan{}
		}
		st.subs[d.Frame] = a
		t.content.began(a, e.Step, d.Frame, d.System, d.Input)
		t.content.startSubagent(e.Step, d)
	case *event.AgentCompacted:
		t.content.compacted(e.Step, d)
	case *event.AgentHanded:
		t.handed(e, st, d)
	case *event.SubagentCompleted:
		t.content.endSubagent(e, d.Frame)
		t.subagentEnded(e, st, d.Frame, nil)
	case *event.SubagentFailed:
		t.content.endSubagent(e, d.Frame)
		t.subagentEnded(e, st, d.Frame, &d.Error)
	}
}

// loopSpan returns the span of the agent loop frame: a sub-agent's, else that of the step's own
// agent, else the step's if there is no agent.
func (st *stepSpan) loopSpan(frame int) *openSpan {
	if a := st.subs[frame]; a != nil && !a.ended {
		return a
	}
	if st.agent != nil && !st.agent.ended {
		return st.agent
	}
	return st.openSpan
}

// agentOf returns the name of the agent that runs the loop of a frame; "" if there is none.
func (st *stepSpan) agentOf(frame int) string {
	name, _ := st.loopSpan(frame).Attr(AgentName).(string)
	return name
}

func (t *Tracer) subagentEnded(e event.Event, st *stepSpan, frame int, f *event.Failure) {
	if a := st.subs[frame]; a != nil {
		t.fail(a, f)
		t.finish(a, e.At)
	}
}

func (t *Tracer) modelCalled(e event.Event, st *stepSpan, d *event.ModelCalled) {
	c, fresh := t.startCall(e, st, st.loopSpan(d.Frame), WhatModel, d.Call, d.Attempt, OpChat, "", d.Model)
	if fresh {
		c.Kind, c.frame = KindClient, d.Frame
		c.set(Attr{OperationName, OpChat}, Attr{ConversationID, t.run + "/" + d.Conversation}, Attr{AgentID, d.Agent},
			Attr{AgentName, d.Agent})
		c.model(d.Model, "")
		if in := d.Instead; in != nil {
			c.set(Attr{InsteadOf, in.Model}, Attr{InsteadCode, in.Code})
		}
	}
	if k := d.Compaction; k != nil {
		c.set(Attr{CompactReason, k.Reason})
		return
	}
	t.content.asks(c.openSpan, e.Step, d)
}

func (t *Tracer) modelReplied(e event.Event, d *event.ModelReplied) {
	c := t.outstanding(d.Call, d.Attempt)
	if c == nil {
		return
	}
	c.model(d.Model, d.Model)
	if d.Stop != "" {
		c.set(Attr{FinishReasons, []string{d.Stop}})
	}
	c.addUsage(d.Usage, d.CostUSD)
	c.setDetails(d.Details)
	t.content.replied(c.openSpan, e.Step, c.frame, d)
	t.settle(c, e.At, nil, d.Late)
}

// handed passes a loop to another agent, whose span is a sibling of the previous agent's.
func (t *Tracer) handed(e event.Event, st *stepSpan, d *event.AgentHanded) {
	old := st.loopSpan(d.Frame)
	if old == st.openSpan || old.ended {
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

// model sets which model was requested, and which replied; the last known value wins.
func (c *callSpan) model(ref, answered string) {
	if ref == "" {
		return
	}
	provider, name := splitRef(ref)
	if c.Attr(RequestModel) == nil {
		c.Name = OpChat + " " + name
		c.set(Attr{ProviderName, wellKnown(provider)}, Attr{RequestModel, name})
	}
	if answered != "" {
		_, c.replied = splitRef(answered)
	}
}

// splitRef splits a model reference into the provider, "" if there is none, and the model.
func splitRef(ref string) (provider, name string) {
	provider, name, found := strings.Cut(ref, "/")
	if !found {
		return "", ref
	}
	return provider, name
}

// wellKnown returns the conventions' name of a provider, or its own name if the conventions have
// none.
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

func (t *Tracer) toolCalled(e event.Event, st *stepSpan, d *event.ToolCalled) {
	c, fresh := t.startCall(e, st, st.loopSpan(d.Frame), WhatTool, d.Call, d.Attempt, OpTool, d.Tool, "")
	if fresh {
		c.set(Attr{OperationName, OpTool}, Attr{ToolName, d.Tool}, Attr{ToolType, "function"},
			Attr{ToolCallID, d.ToolCallID}, Attr{AgentName, st.agentOf(d.Frame)})
		c.frame, c.answers = d.Frame, d.ToolCallID
		t.content.calls(c.openSpan, e.Step, d)
	}
}

func (t *Tracer) toolReturned(e event.Event, d *event.ToolReturned) {
	c := t.outstanding(d.Call, d.Attempt)
	if c == nil {
		t.content.addToolResult(e.Step, d.Frame, d.ToolCallID, d.Text) // answered by the engine itself
		return
	}
	if d.IsError {
		c.Failed = true
		c.set(Attr{ErrorType, "tool_error"})
	}
	if !d.Permitted { // otherwise the sub-agent or the hand-off returns the result
		t.content.addToolResult(e.Step, c.frame, c.answers, d.Text)
	}
	t.content.result(c.openSpan, d)
	t.settle(c, e.At, nil, d.Late)
}
