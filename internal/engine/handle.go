package engine

import (
	"bytes"
	"slices"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

func (r *Run) handle(in InputData) {
	switch d := in.(type) {
	case Start:
		r.start(d)
	case ModelResult:
		r.pinned(d.Pins)
		r.handleModel(d)
	case ToolResult:
		r.pinned(d.Pins)
		r.handleTool(d)
	case ToolHeld:
		r.pinned(d.Pins)
		r.handleHeld(d)
	case FuncResult:
		r.handleFunc(&d)
	case *FuncResult:
		r.handleFunc(d)
	case FuncNote:
		r.handleNote(d)
	case ChildStart:
		r.budgets.handleChild(d)
	case CallUse:
		r.budgets.handleUse(d)
	case CallReserve:
		r.budgets.handleReserve(d)
	case TimerDue:
		r.handleTimer(d.ID)
	case Answer:
		r.handleAnswer(d)
	case Cancel:
		r.handleCancel(d)
	case Recovered:
		r.handleRecovered(d)
	case Reopen:
		r.handleReopen(d)
	}
}

func (r *Run) start(d Start) {
	c := d.Created
	c.Version, c.Digest, c.Format = Version, r.plan.digest, r.plan.root.Workflow.Format
	if c.Name == "" {
		c.Name = r.plan.root.Workflow.Name
	}
	c.Limits = MergeLimits(r.plan.root.Workflow.Limits, c.Limits)
	if rules := r.plan.root.Workflow.Rules; isEmptyInput(c.Input) && rules.DefaultInput != nil {
		c.Input = rules.DefaultInput
	}
	if c.Input = event.Compact(c.Input); len(c.Input) == 0 {
		c.Input = Value(`""`)
	}
	r.emit(0, "", &c)
	r.emit(0, "", &RunStarted{})
	if r.plan.root.Workflow.Entry != "" { // a workflow without nodes has nothing to begin with (S1-7)
		r.emit(0, "", &EdgeTaken{Edge: -1, To: r.plan.root.Workflow.Entry, Token: r.graph.Tokens + 1})
	}
}

func isEmptyInput(v Value) bool {
	return len(v) == 0 || bytes.Equal(v, []byte(`""`)) || bytes.Equal(v, []byte(`null`))
}

// MergeLimits puts the limits that are set in over above those in base.
func MergeLimits(base, over workflow.Limits) workflow.Limits {
	if over.MaxSteps != nil {
		base.MaxSteps = over.MaxSteps
	}
	if over.MaxRounds > 0 {
		base.MaxRounds = over.MaxRounds
	}
	if over.MaxLoopIterations > 0 {
		base.MaxLoopIterations = over.MaxLoopIterations
	}
	if over.Timeout > 0 {
		base.Timeout = over.Timeout
	}
	if over.MaxConcurrency > 0 {
		base.MaxConcurrency = over.MaxConcurrency
	}
	if over.MaxTokens > 0 {
		base.MaxTokens = over.MaxTokens
	}
	if over.MaxCostUSD > 0 {
		base.MaxCostUSD = over.MaxCostUSD
	}
	if over.MaxCalls > 0 {
		base.MaxCalls = over.MaxCalls
	}
	if over.MaxBytes > 0 {
		base.MaxBytes = over.MaxBytes
	}
	if over.OnBudget != "" {
		base.OnBudget = over.OnBudget
	}
	if over.Uncounted != "" {
		base.Uncounted = over.Uncounted
	}
	return base
}

func (r *Run) handleModel(d ModelResult) {
	key, c := r.s.openCall(d.ID, loop.Model)
	if c == nil {
		return
	}
	late, step, fr := c.State == loop.Cancelled, c.Step, c.Frame
	if d.Failure != nil {
		f := d.Failure.Clean()
		r.emitStep(step, &ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Model: d.Model, Usage: d.Usage, CostUSD: d.CostUSD, UsageEstimated: event.Clean(d.UsageEstimated), Source: d.Source, Late: late, Details: event.CleanDetails(d.Details)})
		switch {
		case late:
		case f.Code == CodeWorkflowBudget && r.budgets.metWorkflow(step, f.Message):
		default:
			r.modelFailed(key, c, f)
		}
		return
	}
	if c.Reserved != nil && c.Reserved.Bound != "" && d.Stop == event.StopLength && !late {
		r.budgets.cutShort(key, c, d)
		return
	}
	m := event.CleanMessage(d.Message)
	m.ToolCalls = uniqueIDs(m.ToolCalls)
	r.emitStep(step, &ModelReplied{Call: key, Attempt: c.Attempt, Message: m, Usage: d.Usage, CostUSD: d.CostUSD, UsageEstimated: event.Clean(d.UsageEstimated), Model: d.Model, Stop: d.Stop, Source: d.Source, Late: late, Warning: ReplyWarning(&m, d.Stop), Details: event.CleanDetails(d.Details)})
	if !late {
		r.agents.replied(step, fr)
	}
}

// uniqueIDs gives every tool call an id of its own within its reply; providers and scripts may leave them out or repeat them.
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

func (r *Run) handleTool(d ToolResult) {
	key, c := r.s.openCall(d.ID, loop.Tool)
	if c == nil {
		return
	}
	if r.unknown(key, c, d) {
		return
	}
	late, step, fr, attempt := c.State == loop.Cancelled, c.Step, c.Frame, c.Attempt
	inAgent := c.ToolID != ""
	d.Text, d.Structured = event.Clean(d.Text), event.Compact(d.Structured)
	var f Failure
	if r.budgets.waitsForBudget(step, d.Failure, d.Budget, late) {
		f = Failure{Code: CodeBudget, Message: d.Failure.Clean().Message}
		r.emitStep(step, &ToolFailed{Call: key, Attempt: attempt, Error: f, Kept: true})
		r.budgets.budgetMetBelow(step, d.Budget)
		return
	}
	if d.Failure != nil {
		f = d.Failure.Clean()
		r.emitStep(step, &ToolFailed{Call: key, Attempt: attempt, Error: f, Late: late})
	} else {
		out := ToolReturned{Call: key, Attempt: attempt, Text: d.Text, Structured: d.Structured, IsError: d.IsError, Late: late}
		out.Shorten()
		r.emitStep(step, &out)
	}
	switch {
	case late:
	case inAgent:
		r.agents.turnAnswered(step, fr)
	case d.Failure != nil:
		r.callFailed(key, r.s.Loop.Call(key), f, nil)
	case d.IsError:
		r.steps.failStep(step, Failure{Code: CodeTool, Message: d.Text})
	default:
		r.steps.complete(step, r.plan.given, r.plan.out...)
	}
}

func (r *Run) handleFunc(d *FuncResult) {
	if key, c := r.s.openCall(d.ID, loop.Func); c != nil {
		r.returned(key, c, d)
	}
}

// returned decides what follows the result of a function.
func (r *Run) returned(key string, c *loop.Call, d *FuncResult) {
	late, step, attempt := c.State == loop.Cancelled, c.Step, c.Attempt
	if d.Failure != nil {
		f := d.Failure.Clean()
		d = &FuncResult{Failure: &f, Cause: d.Cause, Output: d.Output, Budget: d.Budget}
	}
	ofWorkflow := d.Failure != nil && d.Budget == CodeWorkflowBudget && !late && !r.s.isFailing()
	kept := ofWorkflow || r.budgets.waitsForBudget(step, d.Failure, d.Budget, late)
	var update map[string]Value
	var edits []typed.Edit
	if late { // the state that it saw is gone
		update = typed.Whole(d.Update, d.Grown)
	} else {
		update, edits = r.step(step).View.Shorten(d.Update, d.Grown...)
	}
	r.emitStep(step, r.mem.returned.put(FuncReturned{
		Call: key, Attempt: attempt, Update: update, Edits: edits, Output: d.Output, Goto: d.Goto, Signals: d.Signals, Error: d.Failure, Late: late, Kept: kept,
	}))
	switch {
	case late:
	case d.Failure != nil && d.Failure.Code == CodeCancelled && r.s.cancelled(): // it stopped, or was never made
		r.steps.cancelStep(step, "the run was cancelled")
	case ofWorkflow:
		r.budgets.metWorkflow(step, d.Failure.Message)
	case kept:
		r.budgets.budgetMetBelow(step, d.Budget)
	case d.Failure != nil:
		r.callFailed(key, r.s.Loop.Call(key), *d.Failure, d.Cause)
	default:
		for i := range d.Signals {
			r.emitStep(step, &d.Signals[i])
		}
		merged, f := r.s.united(step, r.step(step).View, d.Update, d.Grown)
		if f != nil {
			r.steps.giveUp(step, *f)
			return
		}
		r.graph.SetNative(step, d.Native)
		done := r.plan.given
		if merged != nil || len(d.Goto) > 0 {
			done = r.mem.completed.put(StepCompleted{Given: true, Update: merged})
		}
		r.steps.complete(step, done, r.plan.out...)
		r.graph.SetNative(0, nil)
	}
}

// counted gives the result of a call of a counter, which has just been recorded.
func (r *Run) counted(id int, key string, c *Counter) {
	seen := r.step(id).View
	r.returned(key, r.s.Loop.Call(key), &FuncResult{Update: map[string]Value{c.Field: c.Next(seen.Get(c.Field))}, Native: seen.Native()})
}

func (r *Run) handleTimer(id string) {
	if r.s.Status.Ended() {
		return
	}
	switch id {
	case timerTimeout:
		r.timeUp()
		return
	case timerSettle:
		switch {
		case !r.s.settling(), r.now.Before(r.s.settleAt()):
			r.announced = time.Time{} // it came early, or while other calls were out: it is asked for again
		case r.s.drains():
			r.cutOff("no answer within " + DrainTime.String() + " of the cancellation")
		default:
			r.cutOff("no answer within " + SettleTime.String() + " of the cancellation")
		}
		return
	}
	if t, ok := r.s.Waits.Timer(id); ok {
		r.handleWaitTimer(t)
		return
	}
	t, ok := r.s.Loop.Timer(id)
	if !ok {
		return
	}
	if r.now.Before(t.At) {
		r.commands.add(&StartTimer{ID: id, After: t.Seq, At: t.At})
		return
	}
	r.emitStep(t.Step, &TimerFired{Timer: id})
	if id == loop.StepTimer(t.Step) && !r.step(t.Step).Loop.Due {
		r.restart(t.Step)
	}
}

// timeUp ends the run by its time limit. A run that does nothing any more but wait for calls that it cancelled gives those up instead.
func (r *Run) timeUp() {
	limit := time.Duration(r.s.Limits.Timeout)
	if r.s.Status != StatusRunning || limit <= 0 {
		return
	}
	switch end := r.s.Ending; {
	case r.s.Active+r.now.Sub(r.s.At) < limit:
		r.commands.add(r.s.timeout(r.s.Seq)) // it came early
	case r.s.settling():
		r.cutOff("the run timed out")
	case end == nil || end.Limit:
		r.limit(CodeTimeout, limit.Milliseconds(), 0)
	default:
		r.steps.cancelScope(0, "the run timed out")
	}
}

// again asks for the next attempt of a call.
func (r *Run) again(key string, c *loop.Call, model string) {
	switch c.Kind {
	case loop.Model:
		fr := r.agents.frame(c.Step, c.Frame)
		reserved, ok := r.budgets.reserve(c.Step, c.Frame, model, nil)
		if !ok {
			return
		}
		r.emitStep(c.Step, &ModelCalled{
			Call: key, Attempt: c.Attempt + 1, Frame: c.Frame, Agent: fr.Agent, Model: model, Conversation: fr.Conv, Length: len(r.s.Loop.Conv(fr.Conv)), Reserved: reserved,
		})
	case loop.Tool:
		if !r.budgets.mayCallTool(c.Step, key) {
			return
		}
		r.emitStep(c.Step, &ToolCalled{Call: key, Attempt: c.Attempt + 1, Frame: c.Frame, Tool: c.Tool, ToolCallID: c.ToolID, Arguments: c.Args})
	default:
		r.emitStep(c.Step, &FuncCalled{Call: key, Attempt: c.Attempt + 1, Func: c.Tool})
	}
}

// modelFailed tries a fallback model, then the step's retry policy (D11), then gives up.
func (r *Run) modelFailed(key string, c *loop.Call, f Failure) {
	id, fr := c.Step, c.Frame
	fa, a := r.agents.frame(id, fr), r.agents.agent(id, fr)
	if slices.Contains([]string{"rate_limit", "overloaded", "timeout", "quota_exceeded", "context_length_exceeded"}, f.Code) && !r.s.isFailing() {
		if next, ok := fa.Fallback(a.Agent); ok {
			r.again(key, c, next)
			return
		}
	}
	if f.Node == "" {
		f.Node = r.nodeID(id)
	}
	if !r.handledByProgram(id, key, &f, nil) {
		if delay, ok := r.retry(id, f, nil); ok {
			r.retryCall(id, key, delay, f)
			return
		}
		r.agents.frameFailed(id, fr, f, r.steps.giveUp)
	}
}

// argumentsOf gives the arguments of a tool call, which for that of a tool node are what the step was given.
func (s *state) argumentsOf(c *loop.Call) Value {
	if c.Args == nil && c.ToolID == "" {
		return s.graph.StepInput(c.Step)
	}
	return s.Loop.Arguments(s, c)
}
