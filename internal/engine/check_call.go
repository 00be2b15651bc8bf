package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/workflow"
)

// Checks of stored events of calls and agent loops: each tells why its event cannot follow the state, "" where it can.

func (r *Run) checkModelCalled(ev *Event, d *ModelCalled) string {
	if r.stepNode(ev.Step).Kind != workflow.KindAgent {
		return "the step calls no model"
	}
	if why := r.checkAgentCall(ev, d.Call, callModel, d.Frame, d.Attempt); why != "" {
		return why
	}
	fr := r.frame(ev.Step, d.Frame)
	have := len(r.s.Convs[fr.Conv]) + len(d.Added)
	switch v := d.Reserved; {
	case v != nil && (v.Input < 0 || v.Output < 1):
		return "it reserves nothing"
	case d.Conversation != fr.Conv || d.Agent != fr.Agent:
		return "frame " + strconv.Itoa(d.Frame) + " belongs to another agent"
	case len(fr.Turn) > 0 && fr.Conv != sharedConv:
		return "tool calls are open"
	case have != d.Length:
		return "conversation " + fr.Conv + " has " + strconv.Itoa(have) + " messages, not " + strconv.Itoa(d.Length)
	}
	return ""
}

func (r *Run) checkModelReplied(ev *Event, d *ModelReplied) string {
	return r.checkResult(ev, callModel, d.Call, d.Attempt, d.Late)
}

func (r *Run) checkModelFailed(ev *Event, d *ModelFailed) string {
	return r.checkResult(ev, callModel, d.Call, d.Attempt, d.Late)
}

func (r *Run) checkToolCalled(ev *Event, d *ToolCalled) string {
	if d.ToolCallID == "" {
		if r.stepNode(ev.Step).Kind != workflow.KindTool {
			return "the step calls no tool"
		}
		return r.checkNodeCall(ev, d.Call, callTool, d.Frame, d.Attempt)
	}
	if why := r.checkAgentCall(ev, d.Call, callTool, d.Frame, d.Attempt); why != "" {
		return why
	}
	if old := r.s.Calls[d.Call]; old != nil && old.ToolID != d.ToolCallID || !r.asked(ev.Step, d.Frame, d.ToolCallID) {
		return "tool call " + d.ToolCallID + " is not open"
	}
	return ""
}

func (r *Run) checkToolReturned(ev *Event, d *ToolReturned) string {
	if d.Call == "" {
		return r.checkTurn(ev.Step, d.Frame, d.ToolCallID)
	}
	if why := r.checkResult(ev, callTool, d.Call, d.Attempt, d.Late); why != "" || d.Late {
		return why
	}
	return r.checkTurnOf(r.s.Calls[d.Call])
}

func (r *Run) checkToolFailed(ev *Event, d *ToolFailed) string {
	if why := r.checkResult(ev, callTool, d.Call, d.Attempt, d.Late); why != "" || d.Late || d.Unknown || d.Kept {
		return why
	}
	return r.checkTurnOf(r.s.Calls[d.Call])
}

func (r *Run) checkFuncCalled(ev *Event, d *FuncCalled) string {
	if r.stepNode(ev.Step).Kind != workflow.KindFunc {
		return "the step calls no function"
	}
	return r.checkNodeCall(ev, d.Call, callFunc, 0, d.Attempt)
}

func (r *Run) checkFuncReturned(ev *Event, d *FuncReturned) string {
	why := r.checkResult(ev, callFunc, d.Call, d.Attempt, d.Late)
	switch {
	case why != "" || len(d.Edits) == 0:
		return why
	case d.Late || d.Error != nil:
		return "the result does not count"
	}
	if err := r.step(ev.Step).View.Check(d.Update, d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func (r *Run) checkSubagentStarted(ev *Event, d *SubagentStarted) string {
	switch why := r.checkTurn(ev.Step, d.Parent, d.ToolCallID); {
	case why != "":
		return why
	case d.Frame != len(r.step(ev.Step).Agent.Frames):
		return "frame " + strconv.Itoa(d.Frame) + " does not match"
	case r.flowOf(ev.Step).agents[d.Agent] == nil:
		return "agent " + strconv.Quote(d.Agent) + " does not exist"
	}
	return ""
}

func (r *Run) checkSubagentCompleted(ev *Event, d *SubagentCompleted) string {
	return r.checkSubagentEnd(ev.Step, d.Frame)
}

func (r *Run) checkSubagentFailed(ev *Event, d *SubagentFailed) string {
	return r.checkSubagentEnd(ev.Step, d.Frame)
}

// checkSubagentEnd checks the end of a sub-agent: it is active, and its parent waits for it.
func (r *Run) checkSubagentEnd(step, id int) string {
	if !r.isActive(step, id) || r.frame(step, id).Parent < 0 {
		return "frame " + strconv.Itoa(id) + " is not active"
	}
	fr := r.frame(step, id)
	return r.checkTurn(step, fr.Parent, fr.ToolCallID)
}

func (r *Run) checkAgentHanded(ev *Event, d *AgentHanded) string {
	if !r.isActive(ev.Step, d.Frame) {
		return "frame " + strconv.Itoa(d.Frame) + " is not active"
	}
	switch tc, to, ok := r.handoff(ev.Step, d.Frame); {
	case !ok:
		return "no agent hands over"
	case to != d.Agent, tc.ID != d.ToolCallID, r.frame(ev.Step, d.Frame).Agent != d.From:
		return "frame " + strconv.Itoa(d.Frame) + " is handed to agent " + strconv.Quote(to)
	case r.flowOf(ev.Step).agents[to] == nil:
		return "agent " + strconv.Quote(to) + " does not exist"
	}
	return ""
}

// isActive tells whether a step has an agent loop with that frame, which has not ended.
func (r *Run) isActive(step, frame int) bool {
	a := r.step(step).Agent
	return a != nil && frame >= 0 && frame < len(a.Frames) && !a.Frames[frame].Done
}

// asked tells whether the model of a frame waits for the result of a tool call.
func (r *Run) asked(step, frame int, toolCall string) bool {
	return slices.ContainsFunc(r.frame(step, frame).Turn, func(t turnCall) bool { return t.ID == toolCall && !t.Done })
}

// checkTurn checks that the model of a frame waits for the result of a tool call.
func (r *Run) checkTurn(step, frame int, toolCall string) string {
	if a := r.step(step).Agent; a == nil || frame < 0 || frame >= len(a.Frames) {
		return "frame " + strconv.Itoa(frame) + " does not exist"
	}
	if !r.asked(step, frame, toolCall) {
		return "tool call " + toolCall + " is not open"
	}
	return ""
}

// checkTurnOf is checkTurn for a call of an agent; calls of tool nodes answer no model.
func (r *Run) checkTurnOf(c *call) string {
	if c.ToolID == "" {
		return ""
	}
	return r.checkTurn(c.Step, c.Frame, c.ToolID)
}

// checkNodeCall checks a call of a tool or function node that begins: its attempts count on over the retries of the step.
func (r *Run) checkNodeCall(ev *Event, key string, k callKind, frame, attempt int) string {
	if old := r.s.Calls[key]; old != nil && (old.Kind != k || old.Step != ev.Step || old.Frame != frame || old.State == callOpen) {
		return "call " + key + " has a different step, kind or state"
	}
	return r.checkNumber(ev.Step, key, frame, attempt, r.step(ev.Step).Tries+1)
}

// checkAgentCall checks a call of an agent loop that begins: its frame is active, and its attempts count up.
func (r *Run) checkAgentCall(ev *Event, key string, k callKind, frame, attempt int) string {
	if !r.isActive(ev.Step, frame) {
		return "frame " + strconv.Itoa(frame) + " is not active"
	}
	next := 1
	if old := r.s.Calls[key]; old != nil {
		if old.Kind != k || old.Step != ev.Step || old.Frame != frame || old.State == callOpen || old.State == callCancelled {
			return "call " + key + " has a different step, kind or state"
		}
		next = old.Attempt + 1
	}
	return r.checkNumber(ev.Step, key, frame, attempt, next)
}

// checkNumber checks the name of a call, which says where it belongs, and the number of its attempt.
func (r *Run) checkNumber(step int, key string, frame, attempt, next int) string {
	number, ok := strings.CutPrefix(key, convID(step, frame)+".")
	if nth, err := strconv.Atoi(number); !ok || err != nil || nth < 1 || nth > r.step(step).Calls+1 {
		return "call " + strconv.Quote(key) + " is not one of the step"
	}
	if attempt != next {
		return "expected attempt " + strconv.Itoa(next)
	}
	return ""
}

// checkResult checks the end of a call: it is out, or, where the result comes late, cancelled. Tool calls that have failed or that a person is asked about end without a further
// attempt too.
func (r *Run) checkResult(ev *Event, k callKind, key string, attempt int, late bool) string {
	c := r.s.Calls[key]
	switch {
	case c == nil || c.Kind != k || c.Step != ev.Step:
		return "call " + key + " does not exist"
	case c.Attempt != attempt:
		return "call " + key + " is at attempt " + strconv.Itoa(c.Attempt)
	case late != (c.State == callCancelled), !late && c.State != callOpen && c.State != callAsking && (k != callTool || c.State != callFailed):
		return "call " + key + " is in another state"
	}
	return ""
}
