package event

import (
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/timer"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Facts that follow from one event alone. The engine and everything that reads events without it
// use these functions.

// IsFree reports whether the call was rejected before it cost anything. The cost of a call that was
// cut off or broke off is unknown (D10, D14).
func (d *ModelFailed) IsFree() bool { return d.Usage == nil && CodeIs(d.Error.Code, Free) }

// IsStepTimeout reports whether the timer is the timeout of a step.
func (d *TimerFired) IsStepTimeout() bool {
	k, ok := timer.Parse(d.Timer)
	return ok && k.Kind == timer.Timeout
}

// IsHeld reports whether the call that the wait is about was not made. It counts as a call once it
// is made.
func (d *WaitOpened) IsHeld() bool {
	return d.Call != "" && d.Binding != "" && (d.Kind == workflow.WaitApproval || d.Below != nil)
}

// CallsOf returns how many model and tool calls an event adds to those of its run, counting
// attempts. A call that turned out not to be made is subtracted.
func CallsOf(d Data) (models, tools int) {
	switch d := d.(type) {
	case *ModelCalled:
		return 1, 0
	case *ModelFailed:
		if d.Withheld() {
			return -1, 0
		}
	case *ToolCalled:
		return 0, 1
	case *ToolReturned:
		if d.Permitted {
			return 0, -1
		}
	case *WaitOpened:
		if d.IsHeld() {
			return 0, -1
		}
	}
	return 0, 0
}

// IsResult reports whether an event is a result of its step, to which the completion may refer with
// [StepCompleted.Given].
func IsResult(d Data) bool {
	switch d := d.(type) {
	case *ToolReturned:
		return d.Call != "" && !d.Late
	case *FuncReturned:
		return d.Error == nil && !d.Late
	case *WaitAnswered:
		return true
	}
	return false
}

// ResultValue returns the output of a result, or nil if it has none. jsonOf is as in
// [ToolReturned.Whole].
func ResultValue(d Data, jsonOf func(text string) (Value, bool)) Value {
	switch d := d.(type) {
	case *FuncReturned:
		return d.Output
	case *ToolReturned:
		return d.value(jsonOf)
	case *WaitAnswered:
		return d.Answer
	}
	return nil
}

// Value returns the result of the call: its structured result, or its text as a JSON string.
func (d *ToolReturned) Value() Value { return d.value(JSONOf) }

func (d *ToolReturned) value(jsonOf func(text string) (Value, bool)) Value {
	if d = d.Whole(jsonOf); d.Structured != nil {
		return d.Structured
	}
	return expr.Quote(d.Text)
}

// Source is where the output of a completed step is found.
type Source uint8

// The sources of a step's output.
const (
	OutputHere  Source = iota // in the event
	OutputSame                // the input of the step
	OutputGiven               // its last result; see [ResultValue]
	OutputReply               // the text of its agent's last reply
	OutputJSON                // the JSON in that text
	OutputBlock               // the outputs of a fork's branches, or of a map's items
	OutputFlow                // the output of the last step of a sub-flow
)

// Source returns where the output of a step of a node of this kind is found.
func (d *StepCompleted) Source(k workflow.Kind) Source {
	switch {
	case d.Same:
		return OutputSame
	case d.Given:
		return OutputGiven
	case d.Reply:
		return OutputReply
	case d.JSON:
		return OutputJSON
	case d.Output == nil && (k == workflow.KindFork || k == workflow.KindMap):
		return OutputBlock
	case d.Output == nil && k == workflow.KindSubflow:
		return OutputFlow
	}
	return OutputHere
}

// Changes returns the changes by a step, whose last result is last, to its typed state. ofView
// means that the edits are relative to the state that the step received, not to the current state.
func (d *StepCompleted) Changes(last Data) (update map[string]Value, edits []typed.Edit, ofView bool) {
	if f, ok := last.(*FuncReturned); ok && d.HasGivenChanges() {
		return f.Update, f.Edits, true
	}
	return d.Update, d.Edits, false
}

// HasGivenChanges reports whether the changes are those of the last result.
func (d *StepCompleted) HasGivenChanges() bool { return d.Given && d.Update == nil && d.Edits == nil }

// Next returns the nodes that a step, whose last result is last, itself names as its successors.
func (d *StepCompleted) Next(last Data) []string {
	if f, ok := last.(*FuncReturned); ok && d.Given && d.Goto == nil {
		return f.Goto
	}
	return d.Goto
}

// NotFound returns the message of the failure to find a node.
func NotFound(node string) string { return fmt.Sprintf("Node %q not found in graph", node) }

// HasFailed reports whether an attempt of a function failed and is not repeated with a larger
// budget.
func (d *FuncReturned) HasFailed() bool { return d.Error != nil && !d.Late && !d.Kept }

// LimitsOf returns the limits that an event puts into force, or nil if it leaves them unchanged.
// They belong to the event.
func LimitsOf(d Data) *workflow.Limits {
	switch d := d.(type) {
	case *RunCreated:
		return &d.Limits
	case *RunResumed:
		return d.Limits
	case *WaitAnswered:
		return d.Limits
	}
	return nil
}

// WithLimits returns d with changed limits, if it puts any into force. d is not modified.
func WithLimits(d Data, change func(workflow.Limits) workflow.Limits) Data {
	old := LimitsOf(d)
	if old == nil {
		return d
	}
	l := change(*old)
	switch d := d.(type) {
	case *RunCreated:
		c := *d
		c.Limits = l
		return &c
	case *RunResumed:
		c := *d
		c.Limits = &l
		return &c
	case *WaitAnswered:
		c := *d
		c.Limits = &l
		return &c
	}
	return d
}
