package engine

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// pinned records the definitions of the tools that were listed, even if the result that reports
// them is late.
func (m *machine) pinned(pins event.Value) {
	if len(pins) > 0 && !m.state.Status.Ended() {
		m.emit(0, "", &event.ToolsPinned{Pins: event.Compact(pins)})
	}
}

func (m *machine) handleModel(d ModelResult) {
	m.pinned(d.Pins)
	key, c := m.state.openCall(d.ID, loop.Model)
	if c == nil { // settled, see Activate
		return
	}
	late, step, fr := c.State == loop.Cancelled, c.Step, c.Frame
	if d.Failure != nil {
		f := d.Failure.Clean()
		m.emitStep(step, &event.ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Model: d.Model, Usage: d.Usage,
			CostUSD: d.CostUSD, UsageEstimated: event.Clean(d.UsageEstimated), Source: d.Source, Late: late,
			Details: event.CleanDetails(d.Details)})
		switch {
		case late:
		case f.Code == event.CodeWorkflowBudget && m.endByWorkflowBudget(step, f.Message):
		default:
			m.modelFailed(key, c, f)
		}
		return
	}
	if c.Reserved != nil && c.Reserved.Bound != "" && d.Stop == event.StopLength && !late {
		m.cutShort(key, c, d)
		return
	}
	msg := event.CleanMessage(d.Message)
	msg.ToolCalls = uniqueIDs(msg.ToolCalls)
	compaction, warning := c.Compaction, event.ReplyWarning(&msg, d.Stop)
	if compaction != nil {
		msg.ToolCalls, warning = nil, "" // none were offered
	}
	if d.Warning != "" {
		warning = strings.TrimSuffix(event.Clean(d.Warning)+"; "+warning, "; ")
	}
	var concurrent []int
	if !late {
		concurrent = m.concurrent(step, fr, msg.ToolCalls, d.Concurrent)
	}
	m.emitStep(step, &event.ModelReplied{Call: key, Attempt: c.Attempt, Message: msg, Usage: d.Usage,
		CostUSD:        d.CostUSD,
		UsageEstimated: event.Clean(d.UsageEstimated), Model: d.Model, Stop: d.Stop, Source: d.Source, Late: late,
		Concurrent: concurrent, Asks: d.Asks, Guarded: m.guarded(c, d, late),
		Warning: warning, Compaction: compaction != nil, Details: event.CleanDetails(d.Details)})
	switch {
	case late:
	case compaction != nil:
		m.summarized(step, fr, key, compaction, msg, d.Stop)
	default:
		m.replied(step, fr)
	}
}

// guarded returns the tools of a reply whose calls the permissions must allow before the engine
// carries them out.
func (m *machine) guarded(c *loop.Call, d ModelResult, late bool) (names []string) {
	for _, name := range d.Guarded {
		if !late && c.Compaction == nil && loop.Delegates(m.agent(c.Step, c.Frame).Agent, name) {
			names = append(names, name)
		}
	}
	return names
}

// uniqueIDs makes the id of every tool call unique within its reply; providers and scripts may omit
// or repeat ids.
func uniqueIDs(calls []chat.ToolCall) []chat.ToolCall {
	given, taken := map[string]bool{}, map[string]bool{}
	for _, c := range calls {
		given[c.ID] = true
	}
	out := calls
	for i, c := range calls {
		id := c.ID
		for n := i + 1; id == "" || taken[id]; n++ {
			if try := "call_" + strconv.Itoa(n); !given[try] {
				id = try
			}
		}
		taken[id], given[id] = true, true
		if id == c.ID {
			continue
		}
		if &out[0] == &calls[0] {
			out = slices.Clone(calls)
		}
		out[i].ID = id
	}
	return out
}

func (m *machine) handleTool(d ToolResult) {
	m.pinned(d.Pins)
	key, c := m.state.openCall(d.ID, loop.Tool)
	if c == nil { // settled, see Activate
		return
	}
	if m.handleUnknown(key, c, d) {
		return
	}
	late, step, fr, attempt := c.State == loop.Cancelled, c.Step, c.Frame, c.Attempt
	inAgent := c.ToolID != ""
	permitted := d.Permitted && d.Failure == nil && !late && (c.CheckOnly || m.state.Loop.IsGuarded(&m.state, c))
	d.Text, d.Structured = event.Clean(d.Text), event.Compact(d.Structured)
	var f event.Failure
	if m.waitsForBudget(step, d.Failure, d.Budget, late) {
		f = event.Failure{Code: event.CodeBudget, Message: d.Failure.Clean().Message}
		m.emitStep(step, &event.ToolFailed{Call: key, Attempt: attempt, Error: f, Kept: true})
		m.childBudgetExceeded(step, d.Budget)
		return
	}
	if d.Failure != nil {
		f = d.Failure.Clean()
		m.emitStep(step, &event.ToolFailed{Call: key, Attempt: attempt, Error: f, Late: late})
	} else {
		out := event.ToolReturned{Call: key, Attempt: attempt, Text: d.Text, Structured: d.Structured,
			IsError: d.IsError,
			Late:    late, Permitted: permitted}
		out.Shorten()
		m.emitStep(step, &out)
	}
	switch {
	case late:
	case f.Code == event.CodeUnattended: // the model cannot do what a person must
		m.failForGood(step, f)
	case inAgent:
		m.turnAnswered(step, fr)
	case d.Failure != nil:
		m.callFailed(key, m.state.Loop.Call(key), f, nil)
	case d.IsError:
		m.failStep(step, event.Failure{Code: event.CodeTool, Message: d.Text})
	default:
		m.completeStep(step, m.state.plan.completed, m.state.plan.out...)
	}
}

func (m *machine) handleFunc(d *FuncResult) {
	if key, c := m.state.openCall(d.ID, loop.Func); c != nil {
		m.returned(key, c, d)
	}
}

// returned decides what follows the result of a function.
func (m *machine) returned(key string, c *loop.Call, d *FuncResult) {
	late, step, attempt := c.State == loop.Cancelled, c.Step, c.Attempt
	if d.Failure != nil {
		f := d.Failure.Clean()
		d = &FuncResult{Failure: &f, Cause: d.Cause, Output: d.Output, Budget: d.Budget}
	}
	ofWorkflow := d.Failure != nil && d.Budget == event.CodeWorkflowBudget && !late && !m.state.isFailing()
	kept := ofWorkflow || m.waitsForBudget(step, d.Failure, d.Budget, late)
	var update map[string]event.Value
	var edits []typed.Edit
	if late { // the state that it saw is gone
		update = typed.Whole(d.Update, d.Grown)
	} else {
		update, edits = m.graph.Step(step).View.Shorten(d.Update, d.Grown...)
	}
	m.emitStep(step, m.mem.returned.alloc(event.FuncReturned{
		Call: key, Attempt: attempt, Update: update, Edits: edits, Output: d.Output, Goto: d.Goto, Signals: d.Signals,
		Error: d.Failure, Late: late, Kept: kept,
	}))
	switch {
	case late:
	case d.Failure != nil && d.Failure.Code == event.CodeCancelled && m.state.cancelled():
		// It stopped, or was never made.
		m.cancelStep(step, "the run was cancelled")
	case ofWorkflow:
		m.endByWorkflowBudget(step, d.Failure.Message)
	case kept:
		m.childBudgetExceeded(step, d.Budget)
	case d.Failure != nil:
		m.callFailed(key, m.state.Loop.Call(key), *d.Failure, d.Cause)
	default:
		question := m.raise(step, d.Signals)
		merged, f := m.state.mergeConcurrent(step, m.graph.Step(step).View, d.Update, d.Grown)
		if f != nil {
			m.failForGood(step, *f)
			return
		}
		m.graph.SetNative(step, d.Native)
		if question != nil {
			m.askPerson(step, question, merged)
		} else {
			done := m.state.plan.completed
			if merged != nil || len(d.Goto) > 0 {
				done = m.mem.completed.alloc(event.StepCompleted{Given: true, Update: merged})
			}
			m.completeStep(step, done, m.state.plan.out...)
		}
		m.graph.SetNative(0, nil)
	}
}

// raise records the signals of a function, except the first with which it asks a person, which it
// returns. In a run that failed or was cancelled, that one is recorded like the others.
func (m *machine) raise(step int, signals []event.SignalRaised) (question *event.SignalRaised) {
	for i := range signals {
		d := &signals[i]
		if question == nil && d.Signal == event.SignalHumanInput && !d.Event && !m.state.isFailing() {
			question = d
			continue
		}
		m.emitStep(step, d)
	}
	return question
}

// applyCounter applies the result of a counter call that has just been recorded.
func (m *machine) applyCounter(id int, key string, c *Counter) {
	seen := m.graph.Step(id).View
	m.returned(key, m.state.Loop.Call(key),
		&FuncResult{Update: map[string]event.Value{c.Field: c.Next(seen.Get(c.Field))},
			Native: seen.Native()})
}

// callFailed decides what follows a failed call of a tool or function node, or of a model that has
// no fallback left.
func (m *machine) callFailed(key string, c *loop.Call, f event.Failure, cause error) {
	if !m.handled(c.Step, key, &f, cause, event.Refused) {
		m.failForGood(c.Step, f)
	}
}
