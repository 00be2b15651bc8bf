package project

import (
	"bytes"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// TrailEntry is one execution of an agent (S1-25).
type TrailEntry struct {
	NodeID string `json:"nodeId"`
	// AgentID and AgentName identify the agent that answered: if the step's own agent handed off,
	// the agent that had the conversation last.
	AgentID   string `json:"agentId"`
	AgentName string `json:"agentName"`
	// Order counts from 0. Round counts full cycles from 0 (S1-10, S1-13).
	Order int `json:"order"`
	Round int `json:"round"`
	// Input is the output that arrived at the node, and Prompt the user message that the agent was
	// sent; Prompt is absent if it is Input.
	Input  event.Value `json:"input"`
	Prompt event.Value `json:"prompt,omitempty"`
	Output event.Value `json:"output"`
	// Error is null for executions that succeeded.
	Error *string `json:"error"`
	// ToolCalls are the tool calls of the execution, including its sub-agents', in order; absent if
	// there are none.
	ToolCalls []TrailCall `json:"toolCalls,omitempty"`
	// SentToNodeID is the first node that received the output; absent at the end of a path.
	SentToNodeID string `json:"sentToNodeId,omitempty"`
}

// TrailCall is one tool call. A call that was retried is shown once.
type TrailCall struct {
	Tool      string      `json:"tool"`
	Arguments event.Value `json:"arguments"`
	// Held are the arguments that the agent requested, if the person who approved the call changed
	// them; absent otherwise.
	Held event.Value `json:"held,omitempty"`
	// Result is the tool's result: a string, or any value if the tool did not return a string. Null
	// if there is none.
	Result event.Value `json:"result"`
	// Error is why the call failed, or the failure that the tool reported; absent if the call
	// succeeded.
	Error event.Value `json:"error,omitempty"`
}

// KeepCalls makes the folder keep the tool calls of steps, which only the trail shows. It must be
// called before any event is added.
func (f *Folder) KeepCalls() { f.keepsCalls = true }

// keepCall keeps the part of a tool call that the trail shows.
func (f *Folder) keepCall(st *step, data event.Data) {
	if !f.keepsCalls {
		return
	}
	find := func(call string) *trailCall {
		for i := len(st.toolCalls) - 1; i >= 0; i-- {
			if st.toolCalls[i].id == call {
				return &st.toolCalls[i]
			}
		}
		return nil
	}
	switch d := data.(type) {
	case *event.ToolCalled:
		switch c := find(d.Call); {
		case c != nil && len(d.Arguments) > 0 && !bytes.Equal(c.Arguments, d.Arguments):
			if c.Held == nil {
				c.Held = c.Arguments
			}
			c.Arguments = d.Arguments
		case c == nil:
			st.toolCalls = append(st.toolCalls,
				trailCall{id: d.Call, TrailCall: TrailCall{Tool: d.Tool, Arguments: f.argumentsOf(st, d)}})
		}
	case *event.ToolReturned:
		if c := find(d.Call); c != nil && d.Call != "" {
			c.Error, c.Result = nil, resultOf(d)
			if d.IsError {
				c.Error, c.Result = c.Result, nil
			}
		}
	case *event.ToolFailed:
		if c := find(d.Call); c != nil {
			c.Error = expr.Quote(d.Error.Message + " (" + d.Error.Code + ")")
		}
	}
}

// resultOf returns the result of a tool.
func resultOf(d *event.ToolReturned) event.Value {
	if d.Text == "" && len(d.Structured) > 0 {
		return d.Structured
	}
	return expr.Quote(d.Text)
}

// argumentsOf returns the arguments of a call, from the event or from the reply that requested it.
func (f *Folder) argumentsOf(st *step, d *event.ToolCalled) event.Value {
	if len(d.Arguments) > 0 {
		return d.Arguments
	}
	return f.arguments(st, d)
}

// trailCall is the stored form of a call.
type trailCall struct {
	TrailCall
	id string
}

// inTrail reports whether a step is an agent execution that has ended.
func (f *Folder) inTrail(st *step) bool {
	status := f.stepStatus(st)
	return st.data.Kind == workflow.KindAgent && !st.def.Hidden && status != StepRunning && status != StepWaiting
}

// TrailCount returns the number of entries in the trail, including forgotten ones.
func (f *Folder) TrailCount() int {
	n := 0
	for _, st := range f.kept() {
		if f.inTrail(st) {
			n++
		}
	}
	if f.forget != nil {
		n += f.forget.trailForgotten
	}
	return n
}

// Trail returns the agent executions that have ended, in start order. If the run has ended, these
// are all agent executions.
func (f *Folder) Trail() []TrailEntry {
	trail, part, late := []TrailEntry{}, AllOf, 0
	if f.forget != nil {
		part, late = f.forget.Trail, len(f.forget.retained)
	}
	n := 0
	for i, st := range f.kept() {
		if !f.inTrail(st) {
			continue
		}
		order := n
		if i < late {
			order += st.before
		} else if f.forget != nil {
			order += f.forget.trailForgotten
		}
		if n++; !part.has(order, order) {
			continue
		}
		trail = append(trail, f.entry(st, order))
	}
	return trail
}

// entry returns the trail entry of a step.
func (f *Folder) entry(st *step, order int) TrailEntry {
	id := st.speaker()
	e := TrailEntry{
		NodeID: st.node, AgentID: id, AgentName: st.agent(id), Order: order, Round: st.round, Input: st.passed,
		SentToNodeID: st.sentTo,
	}
	if f.forget == nil {
		e.Input = f.passedInput(st)
	}
	if said := f.input(st); !bytes.Equal(said, e.Input) {
		e.Prompt = said
	}
	if f.stepStatus(st) == StepCompleted {
		e.Output = st.output
	}
	for _, c := range st.toolCalls {
		e.ToolCalls = append(e.ToolCalls, c.TrailCall)
	}
	if err := f.stepError(st); err != nil {
		e.Error = &err.Message
	}
	return e
}
