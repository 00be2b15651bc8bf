package event

import (
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// What follows from one event alone. The engine and all that reads events without it take it from here.

// IsFree tells whether the call was turned away before it cost anything. What a call cost that was cut off or broke off is not known (D10, D14).
func (d *ModelFailed) IsFree() bool { return d.Usage == nil && IsFree(d.Error.Code) }

// IsFree tells whether a model call that failed with this code, and told no usage, was turned away before it cost anything. The codes are those of package model.
func IsFree(code string) bool {
	switch code {
	case "rate_limit", "overloaded", "auth", "quota_exceeded", "unknown_model", "invalid_request", "context_length_exceeded", "no_reply", CodeWorkflowBudget:
		return true
	}
	return false
}

// IsHeld tells whether the call that is asked about was not made. It counts as a call once it is.
func (d *WaitOpened) IsHeld() bool {
	return d.Call != "" && d.Binding != "" && (d.Kind == workflow.WaitApproval || d.Below != nil)
}

// CallsOf gives how many calls of models and of tools an event adds to those of its run, by attempt. One that turned out not to be made is taken back.
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
	case *WaitOpened:
		if d.IsHeld() {
			return 0, -1
		}
	}
	return 0, 0
}

// IsResult tells whether an event is a result of its step, to which the completion may refer by [StepCompleted.Given].
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

// ResultValue gives the output that a result says; nil for none. jsonOf is as in [ToolReturned.Whole].
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

// Value is what the call gave: its structured result, or its text as a JSON string.
func (d *ToolReturned) Value() Value { return d.value(JSONOf) }

func (d *ToolReturned) value(jsonOf func(text string) (Value, bool)) Value {
	if d = d.Whole(jsonOf); d.Structured != nil {
		return d.Structured
	}
	return expr.Quote(d.Text)
}

// Source says where the output of a completed step is.
type Source uint8

const (
	OutputHere  Source = iota // in the event
	OutputSame                // the input of the step
	OutputGiven               // its last result: [ResultValue]
	OutputReply               // the text of its agent's last reply
	OutputJSON                // the JSON in that text
	OutputBlock               // the outputs of a fork's branches, or of a map's items
	OutputFlow                // that of the last step of a sub-flow
)

// Source tells where the output is of a step of a node of this kind.
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

// Changes gives what a step changed in its typed state, whose last result is last. ofView: the edits are of the state as the step was given it, not as it is.
func (d *StepCompleted) Changes(last Data) (update map[string]Value, edits []typed.Edit, ofView bool) {
	if f, ok := last.(*FuncReturned); ok && d.HasGivenChanges() {
		return f.Update, f.Edits, true
	}
	return d.Update, d.Edits, false
}

// HasGivenChanges tells whether the changes are those of the last result.
func (d *StepCompleted) HasGivenChanges() bool { return d.Given && d.Update == nil && d.Edits == nil }

// Next gives the nodes that follow a step by its own word, whose last result is last.
func (d *StepCompleted) Next(last Data) []string {
	if f, ok := last.(*FuncReturned); ok && d.Given && d.Goto == nil {
		return f.Goto
	}
	return d.Goto
}

// HasFailed tells whether the attempt of a function failed, and is not made again under a larger budget.
func (d *FuncReturned) HasFailed() bool { return d.Error != nil && !d.Late && !d.Kept }

// LimitsOf gives the limits that an event puts into force; nil where it leaves them as they are. They are the event's.
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

// WithLimits gives d with other limits, where it puts any into force. d is not changed.
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
