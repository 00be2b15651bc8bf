package loop

import (
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// CheckModelCalled checks a model.called event.
func CheckModelCalled(l *Loop, w World, ev *event.Event, d *event.ModelCalled) string {
	if w.Node(ev.Step).Kind != workflow.KindAgent {
		return "the step calls no model"
	}
	if why := l.checkAgentCall(w, ev, d.Call, Model, d.Frame, d.Attempt); why != "" {
		return why
	}
	fr := frame(w, ev.Step, d.Frame)
	have := len(l.convs[fr.Conv]) + len(d.Added)
	switch v := d.Reserved; {
	case v != nil && (v.Input < 0 || v.Output < 1):
		return "it reserves nothing"
	case d.Conversation != fr.Conv || d.Agent != fr.Agent:
		return "frame " + strconv.Itoa(d.Frame) + " belongs to another agent"
	case len(fr.Turn) > 0 && fr.Conv != Shared:
		return "tool calls are open"
	case have != d.Length:
		return "conversation " + fr.Conv + " has " + strconv.Itoa(have) + " messages, not " + strconv.Itoa(d.Length)
	case d.Compaction != nil && len(d.Added) > 0:
		return "a summary is asked for and more is said"
	case d.Compaction != nil:
		return compact.Check(l.convs[fr.Conv], d.Compaction.Left)
	}
	return ""
}

// CheckModelReplied checks a model.replied event.
func CheckModelReplied(l *Loop, w World, ev *event.Event, d *event.ModelReplied) string {
	return l.checkResult(ev, Model, d.Call, d.Attempt, d.Late)
}

// CheckModelFailed checks a model.failed event.
func CheckModelFailed(l *Loop, w World, ev *event.Event, d *event.ModelFailed) string {
	return l.checkResult(ev, Model, d.Call, d.Attempt, d.Late)
}

// CheckToolCalled checks a tool.called event.
func CheckToolCalled(l *Loop, w World, ev *event.Event, d *event.ToolCalled) string {
	if d.ToolCallID == "" {
		if w.Node(ev.Step).Kind != workflow.KindTool {
			return "the step calls no tool"
		}
		return l.checkNodeCall(w, ev, d.Call, Tool, d.Frame, d.Attempt)
	}
	if why := l.checkAgentCall(w, ev, d.Call, Tool, d.Frame, d.Attempt); why != "" {
		return why
	}
	if old := l.calls.get(d.Call); old != nil && old.ToolID != d.ToolCallID ||
		!frame(w, ev.Step, d.Frame).Awaits(d.ToolCallID) {
		return "tool call " + d.ToolCallID + " is not open"
	}
	return ""
}

// CheckToolReturned checks a tool.returned event.
func CheckToolReturned(l *Loop, w World, ev *event.Event, d *event.ToolReturned) string {
	if d.Call == "" {
		if d.Permitted {
			return "the engine needs no permission for its own answer"
		}
		return checkTurn(w, ev.Step, d.Frame, d.ToolCallID)
	}
	if why := l.checkResult(ev, Tool, d.Call, d.Attempt, d.Late); why != "" || d.Late {
		return why
	}
	c := l.calls.get(d.Call)
	if d.Permitted && !c.CheckOnly && !l.IsGuarded(w, c) {
		return "call " + d.Call + " is to be made"
	}
	return checkTurnOf(w, c)
}

// CheckToolFailed checks a tool.failed event.
func CheckToolFailed(l *Loop, w World, ev *event.Event, d *event.ToolFailed) string {
	if why := l.checkResult(ev, Tool, d.Call, d.Attempt, d.Late); why != "" || d.Late || d.Unknown || d.Kept {
		return why
	}
	return checkTurnOf(w, l.calls.get(d.Call))
}

// CheckFuncCalled checks a func.called event.
func CheckFuncCalled(l *Loop, w World, ev *event.Event, d *event.FuncCalled) string {
	if w.Node(ev.Step).Kind != workflow.KindFunc {
		return "the step calls no function"
	}
	return l.checkNodeCall(w, ev, d.Call, Func, 0, d.Attempt)
}

// CheckFuncReturned checks a func.returned event, but not whether its edits apply to the function's
// input.
func CheckFuncReturned(l *Loop, w World, ev *event.Event, d *event.FuncReturned) string {
	why := l.checkResult(ev, Func, d.Call, d.Attempt, d.Late)
	switch {
	case why != "" || len(d.Edits) == 0:
		return why
	case d.Late || d.Error != nil:
		return "the result does not count"
	}
	return ""
}

// CheckFuncNoted checks a func.noted event: its call must be in flight, and its step must have room
// for the note.
func CheckFuncNoted(l *Loop, w World, ev *event.Event, d *event.FuncNoted) string {
	c := l.calls.get(d.Call)
	switch {
	case c == nil || c.Kind != Func || c.Step != ev.Step:
		return "call " + d.Call + " does not exist"
	case c.Attempt != d.Attempt || c.State != Open:
		return "call " + d.Call + " is not open"
	}
	if err := CheckNote(w.Step(c.Step).Notes, d.Key, d.Value); err != nil {
		return err.Error()
	}
	return ""
}

// CheckSubagentStarted checks a subagent.started event.
func CheckSubagentStarted(l *Loop, w World, ev *event.Event, d *event.SubagentStarted) string {
	switch why := checkTurn(w, ev.Step, d.Parent, d.ToolCallID); {
	case why != "":
		return why
	case d.Frame != len(w.Step(ev.Step).Agent.Frames):
		return "frame " + strconv.Itoa(d.Frame) + " does not match"
	case w.Agent(ev.Step, d.Agent) == nil:
		return "agent " + strconv.Quote(d.Agent) + " does not exist"
	}
	return ""
}

// CheckSubagentCompleted checks a subagent.completed event.
func CheckSubagentCompleted(l *Loop, w World, ev *event.Event, d *event.SubagentCompleted) string {
	return checkSubagentEnd(w, ev.Step, d.Frame)
}

// CheckSubagentFailed checks a subagent.failed event.
func CheckSubagentFailed(l *Loop, w World, ev *event.Event, d *event.SubagentFailed) string {
	return checkSubagentEnd(w, ev.Step, d.Frame)
}

// checkSubagentEnd checks the end of a sub-agent: it must be active, and its parent must wait for
// it.
func checkSubagentEnd(w World, step, id int) string {
	if !isActive(w, step, id) || frame(w, step, id).Parent < 0 {
		return "frame " + strconv.Itoa(id) + " is not active"
	}
	fr := frame(w, step, id)
	return checkTurn(w, step, fr.Parent, fr.ToolCallID)
}

// CheckAgentHanded checks an agent.handed event.
func CheckAgentHanded(l *Loop, w World, ev *event.Event, d *event.AgentHanded) string {
	if !isActive(w, ev.Step, d.Frame) {
		return "frame " + strconv.Itoa(d.Frame) + " is not active"
	}
	switch tc, to, ok := l.Handoff(w, ev.Step, d.Frame); {
	case !ok:
		return "no agent hands over"
	case to != d.Agent, tc.ID != d.ToolCallID, frame(w, ev.Step, d.Frame).Agent != d.From:
		return "frame " + strconv.Itoa(d.Frame) + " is handed to agent " + strconv.Quote(to)
	case w.Agent(ev.Step, to) == nil:
		return "agent " + strconv.Quote(to) + " does not exist"
	}
	return ""
}

// isActive reports whether a step has an agent loop with that frame, and the frame has not ended.
func isActive(w World, step, id int) bool {
	a := w.Step(step).Agent
	return a != nil && id >= 0 && id < len(a.Frames) && !a.Frames[id].Done
}

// checkTurn checks that the model of a frame waits for the result of a tool call.
func checkTurn(w World, step, id int, toolCall string) string {
	a := w.Step(step).Agent
	switch {
	case a == nil || id < 0 || id >= len(a.Frames):
		return "frame " + strconv.Itoa(id) + " does not exist"
	case !a.Frames[id].Awaits(toolCall):
		return "tool call " + toolCall + " is not open"
	}
	return ""
}

// checkTurnOf is checkTurn for an agent's call; calls of tool nodes do not answer a model.
func checkTurnOf(w World, c *Call) string {
	if c.ToolID == "" {
		return ""
	}
	return checkTurn(w, c.Step, c.Frame, c.ToolID)
}

// checkNodeCall checks the start of a call of a tool or function node: its attempts are numbered
// across the retries of the step.
func (l *Loop) checkNodeCall(w World, ev *event.Event, key string, k Kind, id, attempt int) string {
	if old := l.calls.get(key); old != nil && (old.Kind != k || old.Step != ev.Step || old.Frame != id ||
		old.State == Open) {
		return "call " + key + " has a different step, kind or state"
	}
	return checkNumber(w, ev.Step, key, id, attempt, w.Step(ev.Step).Tries+1)
}

// checkAgentCall checks the start of a call of an agent loop: its frame is active, and its attempts
// are consecutive.
func (l *Loop) checkAgentCall(w World, ev *event.Event, key string, k Kind, id, attempt int) string {
	if !isActive(w, ev.Step, id) {
		return "frame " + strconv.Itoa(id) + " is not active"
	}
	next := 1
	if old := l.calls.get(key); old != nil {
		if old.Kind != k || old.Step != ev.Step || old.Frame != id || old.State == Open || old.State == Cancelled {
			return "call " + key + " has a different step, kind or state"
		}
		next = old.Attempt + 1
	}
	return checkNumber(w, ev.Step, key, id, attempt, next)
}

// checkNumber checks the id of a call, which determines where it belongs, and the number of its
// attempt.
func checkNumber(w World, step int, key string, id, attempt, next int) string {
	number, ok := strings.CutPrefix(key, ConvID(step, id)+".")
	if nth, err := strconv.Atoi(number); !ok || err != nil || nth < 1 || nth > w.Step(step).Numbered+1 {
		return "call " + strconv.Quote(key) + " is not one of the step"
	}
	if attempt != next {
		return "expected attempt " + strconv.Itoa(next)
	}
	return ""
}

// checkResult checks the end of a call: it must be in flight or, if the result is late, cancelled.
// Tool calls that have failed, or that a person is asked about, may also end without another
// attempt.
func (l *Loop) checkResult(ev *event.Event, k Kind, key string, attempt int, late bool) string {
	c := l.calls.get(key)
	switch {
	case c == nil || c.Kind != k || c.Step != ev.Step:
		return "call " + key + " does not exist"
	case c.Attempt != attempt:
		return "call " + key + " is at attempt " + strconv.Itoa(c.Attempt)
	case late != (c.State == Cancelled), !late && c.State != Open && c.State != Asking &&
		(k != Tool || c.State != Failed):
		return "call " + key + " is in another state"
	}
	return ""
}
