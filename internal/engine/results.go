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
func (s *calls) pinned(pins Value) {
	if len(pins) > 0 && !s.state.Status.Ended() {
		s.emit(0, "", &ToolsPinned{Pins: event.Compact(pins)})
	}
}

func (s *calls) handleModel(d ModelResult) {
	key, c := s.state.openCall(d.ID, loop.Model)
	if c == nil { // settled, see Activate
		return
	}
	late, step, fr := c.State == loop.Cancelled, c.Step, c.Frame
	if d.Failure != nil {
		f := d.Failure.Clean()
		s.emitStep(step, &ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Model: d.Model, Usage: d.Usage,
			CostUSD: d.CostUSD, UsageEstimated: event.Clean(d.UsageEstimated), Source: d.Source, Late: late,
			Details: event.CleanDetails(d.Details)})
		switch {
		case late:
		case f.Code == CodeWorkflowBudget && s.budgets.endByWorkflowBudget(step, f.Message):
		default:
			s.modelFailed(key, c, f)
		}
		return
	}
	if c.Reserved != nil && c.Reserved.Bound != "" && d.Stop == event.StopLength && !late {
		s.budgets.cutShort(key, c, d)
		return
	}
	m := event.CleanMessage(d.Message)
	m.ToolCalls = uniqueIDs(m.ToolCalls)
	compaction, warning := c.Compaction, ReplyWarning(&m, d.Stop)
	if compaction != nil {
		m.ToolCalls, warning = nil, "" // none were offered
	}
	if d.Warning != "" {
		warning = strings.TrimSuffix(event.Clean(d.Warning)+"; "+warning, "; ")
	}
	var concurrent []int
	if !late {
		concurrent = s.agents.concurrent(step, fr, m.ToolCalls, d.Concurrent)
	}
	s.emitStep(step, &ModelReplied{Call: key, Attempt: c.Attempt, Message: m, Usage: d.Usage, CostUSD: d.CostUSD,
		UsageEstimated: event.Clean(d.UsageEstimated), Model: d.Model, Stop: d.Stop, Source: d.Source, Late: late,
		Concurrent: concurrent, Asks: d.Asks, Guarded: s.guarded(c, d, late),
		Warning: warning, Compaction: compaction != nil, Details: event.CleanDetails(d.Details)})
	switch {
	case late:
	case compaction != nil:
		s.agents.summarized(step, fr, key, compaction, m, d.Stop)
	default:
		s.agents.replied(step, fr)
	}
}

// guarded returns the tools of a reply whose calls the permissions must allow before the engine
// carries them out.
func (s *calls) guarded(c *loop.Call, d ModelResult, late bool) (names []string) {
	for _, name := range d.Guarded {
		if !late && c.Compaction == nil && loop.Delegates(s.agents.agent(c.Step, c.Frame).Agent, name) {
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

func (s *calls) handleTool(d ToolResult) {
	key, c := s.state.openCall(d.ID, loop.Tool)
	if c == nil { // settled, see Activate
		return
	}
	if s.handleUnknown(key, c, d) {
		return
	}
	late, step, fr, attempt := c.State == loop.Cancelled, c.Step, c.Frame, c.Attempt
	inAgent := c.ToolID != ""
	permitted := d.Permitted && d.Failure == nil && !late && (c.CheckOnly || s.state.Loop.IsGuarded(&s.state, c))
	d.Text, d.Structured = event.Clean(d.Text), event.Compact(d.Structured)
	var f Failure
	if s.budgets.waitsForBudget(step, d.Failure, d.Budget, late) {
		f = Failure{Code: CodeBudget, Message: d.Failure.Clean().Message}
		s.emitStep(step, &ToolFailed{Call: key, Attempt: attempt, Error: f, Kept: true})
		s.budgets.childBudgetExceeded(step, d.Budget)
		return
	}
	if d.Failure != nil {
		f = d.Failure.Clean()
		s.emitStep(step, &ToolFailed{Call: key, Attempt: attempt, Error: f, Late: late})
	} else {
		out := ToolReturned{Call: key, Attempt: attempt, Text: d.Text, Structured: d.Structured, IsError: d.IsError,
			Late: late, Permitted: permitted}
		out.Shorten()
		s.emitStep(step, &out)
	}
	switch {
	case late:
	case f.Code == CodeUnattended: // the model cannot do what a person must
		s.steps.failForGood(step, f)
	case inAgent:
		s.agents.turnAnswered(step, fr)
	case d.Failure != nil:
		s.callFailed(key, s.state.Loop.Call(key), f, nil)
	case d.IsError:
		s.steps.failStep(step, Failure{Code: CodeTool, Message: d.Text})
	default:
		s.steps.complete(step, s.state.plan.completed, s.state.plan.out...)
	}
}

func (s *calls) handleFunc(d *FuncResult) {
	if key, c := s.state.openCall(d.ID, loop.Func); c != nil {
		s.returned(key, c, d)
	}
}

// returned decides what follows the result of a function.
func (s *calls) returned(key string, c *loop.Call, d *FuncResult) {
	late, step, attempt := c.State == loop.Cancelled, c.Step, c.Attempt
	if d.Failure != nil {
		f := d.Failure.Clean()
		d = &FuncResult{Failure: &f, Cause: d.Cause, Output: d.Output, Budget: d.Budget}
	}
	ofWorkflow := d.Failure != nil && d.Budget == CodeWorkflowBudget && !late && !s.state.isFailing()
	kept := ofWorkflow || s.budgets.waitsForBudget(step, d.Failure, d.Budget, late)
	var update map[string]Value
	var edits []typed.Edit
	if late { // the state that it saw is gone
		update = typed.Whole(d.Update, d.Grown)
	} else {
		update, edits = s.graph.Step(step).View.Shorten(d.Update, d.Grown...)
	}
	s.emitStep(step, s.mem.returned.alloc(FuncReturned{
		Call: key, Attempt: attempt, Update: update, Edits: edits, Output: d.Output, Goto: d.Goto, Signals: d.Signals,
		Error: d.Failure, Late: late, Kept: kept,
	}))
	switch {
	case late:
	case d.Failure != nil && d.Failure.Code == CodeCancelled && s.state.cancelled(): // it stopped, or was never made
		s.steps.cancelStep(step, "the run was cancelled")
	case ofWorkflow:
		s.budgets.endByWorkflowBudget(step, d.Failure.Message)
	case kept:
		s.budgets.childBudgetExceeded(step, d.Budget)
	case d.Failure != nil:
		s.callFailed(key, s.state.Loop.Call(key), *d.Failure, d.Cause)
	default:
		question := s.raise(step, d.Signals)
		merged, f := s.state.mergeConcurrent(step, s.graph.Step(step).View, d.Update, d.Grown)
		if f != nil {
			s.steps.failForGood(step, *f)
			return
		}
		s.graph.SetNative(step, d.Native)
		if question != nil {
			s.people.ask(step, question, merged)
		} else {
			done := s.state.plan.completed
			if merged != nil || len(d.Goto) > 0 {
				done = s.mem.completed.alloc(StepCompleted{Given: true, Update: merged})
			}
			s.steps.complete(step, done, s.state.plan.out...)
		}
		s.graph.SetNative(0, nil)
	}
}

// raise records the signals of a function, except the first with which it asks a person. Nobody is
// asked any more in a run that is ending.
func (s *calls) raise(step int, signals []SignalRaised) (question *SignalRaised) {
	for i := range signals {
		d := &signals[i]
		if question == nil && d.Signal == event.SignalHumanInput && !d.Event && !s.state.isFailing() {
			question = d
			continue
		}
		s.emitStep(step, d)
	}
	return question
}

// applyCounter applies the result of a counter call that has just been recorded.
func (s *calls) applyCounter(id int, key string, c *Counter) {
	seen := s.graph.Step(id).View
	s.returned(key, s.state.Loop.Call(key), &FuncResult{Update: map[string]Value{c.Field: c.Next(seen.Get(c.Field))},
		Native: seen.Native()})
}

func (s *calls) handleNote(d FuncNote) {
	key, c := s.state.openCall(d.ID, loop.Func)
	s.emitStep(c.Step, &FuncNoted{Call: key, Attempt: c.Attempt, Key: d.Key, Value: noteValue(d.Value)})
}

// callFailed decides what follows a failed call of a tool or function node, or of a model that has
// no fallback left.
func (s *calls) callFailed(key string, c *loop.Call, f Failure, cause error) {
	if !s.handled(c.Step, key, &f, cause, event.Refused) {
		s.steps.failForGood(c.Step, f)
	}
}
