package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// Input is something that arrived from outside: a result, an answer, a timer, a cancellation. At is
// the only time that the engine knows (UTC, microseconds); inputs of one activation are handled in
// order.
type Input struct {
	At   time.Time
	Data InputData
}

// InputData is one kind of input. handle turns it into events. If the run cannot accept it, handle
// returns an error before the first event, and nothing changes.
type InputData interface{ handle(m *machine) error }

// Start starts the run. If Queued, it waits for Admitted before its first step.
type Start struct {
	Created event.RunCreated
	Queued  bool
}

// Admitted lets a queued run continue. It has no effect on a run that has already continued or has
// ended.
type Admitted struct{}

// ModelResult answers CallModel. Failure is nil on success.
type ModelResult struct {
	ID      string // the command's
	Message chat.Message
	Usage   *chat.Usage
	CostUSD *float64
	// UsageEstimated is as in ModelReplied.
	UsageEstimated string
	Model          string
	Stop           string
	// Warning is what people should know about the call, or "".
	Warning string
	Source  string
	Failure *event.Failure
	// Concurrent and Asks are as in ModelReplied, without the calls of tools that the engine itself
	// answers.
	Concurrent, Asks []int
	// Details are as in ModelReplied and ModelFailed.
	Details *chat.CallDetails
	// Pins are the definitions of the tools listed since the last result with Pins, a JSON object;
	// nil means none (SEC14).
	Pins event.Value
	// Guarded is as in ModelReplied. Only calls that [Delegating] returns can be guarded.
	Guarded []string
}

// ToolResult answers CallTool.
type ToolResult struct {
	ID         string
	Text       string
	Structured event.Value
	IsError    bool
	Failure    *event.Failure
	// Unknown is set together with Failure if the tool may have done its work although no answer
	// came. It is the tool's policy, `retry`, `ask`, `skip` or `fail`, and is applied as after a
	// crash (P12). Go graphs fail the node (S2-46).
	Unknown string
	// Budget is set together with Failure if no budget was left for what the call was to start. It
	// is BudgetError.Detail, or CodeWorkflowBudget for the budget of the workflow. The run, or its
	// node, has then exceeded its budget.
	Budget string
	Pins   event.Value // as in ModelResult
	// Permitted answers a CallTool with Delegates or CheckOnly that the permissions allow: nothing
	// was called. The text is only for people.
	Permitted bool
}

// ToolHeld answers CallTool if the call was not made because a person must decide first.
type ToolHeld struct {
	ID   string
	Hold Hold
	Pins event.Value // as in ModelResult
}

// FuncResult answers CallFunc. A pointer to a FuncResult is an input too: the engine keeps its
// contents, but not the FuncResult itself.
type FuncResult struct {
	ID     string
	Update map[string]event.Value
	// Grown are the fields of the state seen by the function that gained a tail
	// (typed.State.Grown).
	Grown   []typed.Growth
	Output  event.Value
	Goto    []string
	Signals []event.SignalRaised
	Failure *event.Failure
	// Cause is the error as the program's function returned it, set together with Failure. It is
	// passed to the error handler and the retry predicate of the node, which are called in the
	// activation that receives the result. It is in no event and no state; nil if the failure comes
	// from elsewhere.
	Cause  error
	Budget string // as in ToolResult
	// Native is the state after Update in the program's own form, or nil if the program does not
	// provide it. Calls that see that state receive it. It is not recorded, and nothing that is
	// recorded depends on it.
	Native any
}

// FuncNote asks to keep the result of a sub-step of the call ID for later attempts of the step. It
// is not a result: the call stays open. It is accepted while the call is open, and once for each
// key of the step; otherwise it is rejected with ErrNoteLate or ErrNote.
type FuncNote struct {
	ID    string
	Key   string
	Value event.Value
}

// TimerDue answers StartTimer.
type TimerDue struct{ ID string }

// Answer answers a wait, or is a signal: see [waits.Answer].
type Answer waits.Answer

// Cancel cancels the run.
type Cancel struct{ Reason string }

// Recovered reports that a new owner took over the run after the previous one died. Lost lists the
// commands that may have been carried out with unknown outcome, each with its policy; all other
// open commands are issued again (P12).
type Recovered struct {
	Lost []Lost
	// Trace is recorded as RunResumed.Trace.
	Trace string
}

// Lost is a command with unknown outcome. Policy is `retry`, `ask`, `skip` or `fail`.
type Lost struct {
	ID     string
	Policy string
}

// Reopen lets a run that was ended by a limit continue under new limits (D20). Only limits that are
// set apply. A time limit cuts off calls: Lost lists those of [Run.Unfinished] that may have been
// carried out with unknown outcome, as in Recovered.
type Reopen struct {
	Limits workflow.Limits
	// Above is what the parent run now leaves for this run; nil means that it is unchanged. A run
	// that exceeded it continues only with a different value.
	Above *workflow.Budget
	Lost  []Lost
	// By is recorded with new limits, Trace as RunResumed.Trace.
	By    event.Actor
	Trace string
}

// ChildStart asks for the budget of a child run that an open tool or function call is about to
// start. It is not a result: the call stays open. It changes nothing if repeated for a run that has
// not ended.
//
// Errors: ErrCallLate; ErrNoRoom, after which the caller asks again when something has changed;
// *BudgetError if the run must not be started, which includes a run that ends by a limit and has no
// room now.
type ChildStart struct {
	ID  string // the command's
	Run string
	// Shares is the number of parts into which the remaining budget is divided, this run included,
	// if the call starts several runs concurrently; 0 means 1.
	Shares int
	// More is the former share of a run that ended because it had used it up and asks for more; nil
	// for a run that is about to start or continues.
	More *workflow.Budget
}

// CallUse reports the usage of a call: see CallUsed. Errors: ErrCallLate.
type CallUse struct {
	ID    string
	Run   string
	Ended bool
	Used  event.Used

	Key, Model, UsageEstimated, Warning string
}

// CallReserve asks for room in the budgets for a model call or a tool call that an open tool or
// function call is about to make itself. It is not a result: the call stays open. It changes
// nothing if repeated with the Key of an open reservation. If no budget limits the call, nothing is
// recorded. [Run.ReservedFor] returns what was granted.
//
// Errors: ErrCallLate; ErrNoRoom, after which the caller asks again when something has changed;
// *BudgetError if the model call must not be made; *UncountedError; ErrPrice.
type CallReserve struct {
	ID string // the command's
	// Key identifies the model call within the run; "" only asks whether work is allowed whose
	// usage is never reported, and reserves nothing.
	Key   string
	Model string
	// Input is an estimate of the input, Output the maximum size of the answer, both in tokens.
	Input, Output int64
	// Rate is the price of the model; nil means unknown.
	Rate *chat.Rate
	// Tool reports that this is a tool call, which uses one call and no tokens.
	Tool bool
}

// result is an input that answers a command. Results that have arrived together are handled
// together, so each is checked before any is handled.
type result interface{ check(s *state) error }

// IsResult reports whether an input answers a call or a timer. Only such inputs may be handled
// together in one activation.
func IsResult(d InputData) bool {
	_, ok := d.(result)
	return ok
}

func (d Start) handle(m *machine) error       { return m.start(d) }
func (Admitted) handle(m *machine) error      { m.admitted(); return nil }
func (d ModelResult) handle(m *machine) error { m.handleModel(d); return nil }
func (d ToolResult) handle(m *machine) error  { m.handleTool(d); return nil }
func (d ToolHeld) handle(m *machine) error    { m.handleHeld(d); return nil }
func (d FuncResult) handle(m *machine) error  { m.handleFunc(&d); return nil }
func (d FuncNote) handle(m *machine) error    { return m.handleNote(d) }
func (d TimerDue) handle(m *machine) error    { m.handleTimer(d); return nil }
func (d Answer) handle(m *machine) error      { return m.handleAnswer(d) }
func (d Cancel) handle(m *machine) error      { return m.handleCancel(d) }
func (d Recovered) handle(m *machine) error   { return m.handleRecovered(d) }
func (d Reopen) handle(m *machine) error      { return m.handleReopen(d) }
func (d ChildStart) handle(m *machine) error  { return m.handleChild(d) }
func (d CallUse) handle(m *machine) error     { return m.handleUse(d) }
func (d CallReserve) handle(m *machine) error { return m.handleReserve(d) }
func (Continue) handle(*machine) error        { return nil }
