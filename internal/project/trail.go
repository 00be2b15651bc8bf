package project

import (
	"bytes"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// TrailEntry is one execution of an agent (S1-25).
type TrailEntry struct {
	NodeID string `json:"nodeId"`
	// AgentID and AgentName are the agent that answered: where the step's own handed over, the one that had the conversation last.
	AgentID   string `json:"agentId"`
	AgentName string `json:"agentName"`
	// Order counts from 0. Round counts full cycles from 0 (S1-10, S1-13).
	Order  int          `json:"order"`
	Round  int          `json:"round"`
	Input  engine.Value `json:"input"`
	Output engine.Value `json:"output"`
	// Error is null for executions that succeeded.
	Error *string `json:"error"`
	// ToolCalls are those of the execution, its sub-agents' too, in their order; absent where there are none.
	ToolCalls []TrailCall `json:"toolCalls,omitempty"`
	// SentToNodeID is where the output went first; absent at the end of a path.
	SentToNodeID string `json:"sentToNodeId,omitempty"`
}

// TrailCall is one tool call. One that was tried again is shown once.
type TrailCall struct {
	Tool      string       `json:"tool"`
	Arguments engine.Value `json:"arguments"`
	// Held are the arguments for which the agent asked, where the person who approved the call changed them; absent elsewhere.
	Held engine.Value `json:"held,omitempty"`
	// Result is what the tool gave: a text, or any value where it gave no text. Null where there is none.
	Result engine.Value `json:"result"`
	// Error is why the call failed, or the failure that the tool reported; absent where it succeeded.
	Error engine.Value `json:"error,omitempty"`
}

// KeepCalls makes the folder keep the tool calls of steps, which only the trail shows. It is called before anything is added.
func (f *Folder) KeepCalls() { f.keepsCalls = true }

// keepCall keeps what the trail shows of a tool call.
func (f *Folder) keepCall(st *step, data engine.Data) {
	if !f.keepsCalls {
		return
	}
	find := func(call string) *trailCall {
		for i := len(st.made) - 1; i >= 0; i-- {
			if st.made[i].id == call {
				return &st.made[i]
			}
		}
		return nil
	}
	switch d := data.(type) {
	case *engine.ToolCalled:
		switch c := find(d.Call); {
		case c != nil && len(d.Arguments) > 0 && !bytes.Equal(c.Arguments, d.Arguments):
			if c.Held == nil {
				c.Held = c.Arguments
			}
			c.Arguments = d.Arguments
		case c == nil:
			st.made = append(st.made, trailCall{id: d.Call, TrailCall: TrailCall{Tool: d.Tool, Arguments: f.argumentsOf(st, d)}})
		}
	case *engine.ToolReturned:
		if c := find(d.Call); c != nil && d.Call != "" {
			c.Error, c.Result = nil, resultOf(d)
			if d.IsError {
				c.Error, c.Result = c.Result, nil
			}
		}
	case *engine.ToolFailed:
		if c := find(d.Call); c != nil {
			c.Error = expr.Quote(d.Error.Message + " (" + d.Error.Code + ")")
		}
	}
}

// resultOf is what a tool gave.
func resultOf(d *engine.ToolReturned) engine.Value {
	if d.Text == "" && len(d.Structured) > 0 {
		return d.Structured
	}
	return expr.Quote(d.Text)
}

// argumentsOf gives the arguments of a call, from the event or from the reply that asked for it.
func (f *Folder) argumentsOf(st *step, d *engine.ToolCalled) engine.Value {
	if len(d.Arguments) > 0 {
		return d.Arguments
	}
	return f.arguments(st, d)
}

// trailCall is a call as it is kept.
type trailCall struct {
	TrailCall
	id string
}

// inTrail tells whether a step is an agent execution that has ended.
func (f *Folder) inTrail(st *step) bool {
	status := f.stepStatus(st)
	return st.data.Kind == workflow.KindAgent && !st.def.Hidden && status != StepRunning && status != StepWaiting
}

// TrailCount is how many entries the trail has, those that were forgotten too.
func (f *Folder) TrailCount() int {
	n := 0
	for _, st := range f.kept() {
		if f.inTrail(st) {
			n++
		}
	}
	if f.forget != nil {
		n += f.forget.trail
	}
	return n
}

// Trail gives the agent executions that have ended, in the order in which they started. In a run that ended that is all of them.
func (f *Folder) Trail() []TrailEntry {
	trail, part, late := []TrailEntry{}, AllOf, 0
	if f.forget != nil {
		part, late = f.forget.Trail, len(f.forget.late)
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
			order += f.forget.trail
		}
		if n++; !part.has(order, order) {
			continue
		}
		trail = append(trail, f.entry(st, order))
	}
	return trail
}

// entry is a step that the trail shows.
func (f *Folder) entry(st *step, order int) TrailEntry {
	id := st.speaker()
	e := TrailEntry{
		NodeID: st.node, AgentID: id, AgentName: st.agent(id), Order: order, Round: st.round, Input: f.input(st), SentToNodeID: st.sentTo,
	}
	if f.stepStatus(st) == StepCompleted {
		e.Output = st.output
	}
	for _, c := range st.made {
		e.ToolCalls = append(e.ToolCalls, c.TrailCall)
	}
	if err := f.stepError(st); err != nil {
		e.Error = &err.Message
	}
	return e
}
