package engine

import (
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// Input is something that came from outside: a result, an answer, a timer, a cancellation. At is the only time that the engine knows (UTC,
// microseconds); inputs of one activation are handled in order.
type Input struct {
	At   time.Time
	Data InputData
}

// InputData is one kind of input.
type InputData interface{ input() }

// Start begins the run. Queued: it waits for Admitted before its first step.
type Start struct {
	Created RunCreated
	Queued  bool
}

// Admitted lets a run go on that waited for its turn. One that has gone on already, or has ended, stays as it is.
type Admitted struct{}

// ModelResult answers CallModel: Failure is nil on success.
type ModelResult struct {
	ID      string // the command's
	Message chat.Message
	Usage   *chat.Usage
	CostUSD *float64
	// UsageEstimated is that of ModelReplied.
	UsageEstimated string
	Model          string
	Stop           string
	Source         string
	Failure        *Failure
	// Details are those of ModelReplied and ModelFailed.
	Details *chat.CallDetails
	// Pins are the definitions of tools that were listed since the last result with Pins, a JSON object; nil: none (SEC14).
	Pins Value
}

// ToolResult answers CallTool.
type ToolResult struct {
	ID         string
	Text       string
	Structured Value
	IsError    bool
	Failure    *Failure
	// Unknown is set beside Failure where the tool may have done its work although no answer came: it is the tool's policy, `retry`, `ask`,
	// `skip` or `fail`, and decides as after a crash (P12). Go graphs fail the node (S2-46).
	Unknown string
	// Budget is set beside Failure where what the call was to start had no budget left: BudgetError.Detail, or CodeWorkflowBudget for that of the workflow. The run, or its node, has
	// met its budget then.
	Budget string
	Pins   Value // as in ModelResult
}

// ToolHeld answers CallTool where the call was not made because a person must decide first.
type ToolHeld struct {
	ID   string
	Hold Hold
	Pins Value // as in ModelResult
}

// FuncResult answers CallFunc. A pointer to one is an input too: the engine keeps what it holds, and not the FuncResult itself.
type FuncResult struct {
	ID     string
	Update map[string]Value
	// Grown are further fields of the state that the function saw: those that gained a tail (typed.State.Grown).
	Grown   []typed.Growth
	Output  Value
	Goto    []string
	Signals []SignalRaised
	Failure *Failure
	// Cause is the error itself as the function of the program returned it, beside Failure: the error handler and the retry predicate of its node, which are asked in the activation that takes
	// the result, are given it. It is in no event and no state; nil where the failure comes from elsewhere.
	Cause  error
	Budget string // as in ToolResult
	// Native is the state after Update in the program's own form; nil: the program gives none. Calls that see that state get it. It is not recorded, and nothing that is recorded
	// depends on it.
	Native any
}

// FuncNote asks that what a sub-step of the call ID gave be kept for later attempts of the step. It is no result: the call stays open. It is taken
// while the call is open, and once for each key of the step; otherwise it is refused with ErrNoteLate or ErrNote.
type FuncNote struct {
	ID    string
	Key   string
	Value Value
}

// TimerDue answers StartTimer.
type TimerDue struct{ ID string }

// Answer answers a wait, or is a signal: see [waits.Answer].
type Answer waits.Answer

// Cancel cancels the run.
type Cancel struct{ Reason string }

// Recovered says that a new owner took the run over after its former one died. Lost lists the commands that may have been carried out with
// unknown outcome, with each one's policy; all other open commands are given again (P12).
type Recovered struct {
	Lost []Lost
	// Trace is recorded: RunResumed.Trace.
	Trace string
}

// Lost is a command with unknown outcome. Policy is `retry`, `ask`, `skip` or `fail`.
type Lost struct {
	ID     string
	Policy string
}

// Reopen lets a run that ended by a limit go on under new limits (D20). Only limits that are set count. A time limit cuts calls off: Lost says, of
// those in [Run.Unfinished], which may have been carried out with unknown outcome, as in Recovered.
type Reopen struct {
	Limits workflow.Limits
	// Above is what the run above leaves for this one by now; nil: what it left before. A run that met it goes on with another only.
	Above *workflow.Budget
	Lost  []Lost
	// By is recorded with new limits, Trace as RunResumed.Trace.
	By    Actor
	Trace string
}

// ChildStart asks what a run may use that an open tool or function call is about to start. It is no result: the call stays open. Asked again for a run that
// has not ended it changes nothing.
//
// Errors: ErrCallLate; ErrNoRoom: ask again when something has changed; *BudgetError: the run is not to be started, as in a run that ends by a limit and has no room now.
type ChildStart struct {
	ID  string // the command's
	Run string
	// Shares is in how many parts what is left is divided, this one included: the call starts as many runs beside one another; 0 is 1.
	Shares int
	// More asks for a run that ended because it had used its part, which was this; nil: for one that is to begin or goes on.
	More *workflow.Budget
}

// CallUse reports what a call used: see CallUsed. Errors: ErrCallLate.
type CallUse struct {
	ID    string
	Run   string
	Ended bool
	Used  Used

	Key, Model, UsageEstimated, Warning string
}

// CallReserve asks for room in the budgets for a model call or a tool call that an open tool or function call is about to make itself. It is no result: the call stays open. Asked again with the
// Key of an open reservation it changes nothing. Where no budget bounds the call nothing is recorded. [Run.ReservedFor] tells what was granted.
//
// Errors: ErrCallLate; ErrNoRoom: ask again when something has changed; *BudgetError: the model call must not be made; *UncountedError; ErrPrice.
type CallReserve struct {
	ID string // the command's
	// Key names the model call within the run; "" only asks whether work is allowed whose use is never reported, and reserves nothing.
	Key   string
	Model string
	// Input is an estimate of the input, Output the most that the answer may take, both in tokens.
	Input, Output int64
	// Rate is the price of the model; nil: unknown.
	Rate *chat.Rate
	// Tool: it is a tool call, which uses a call and no tokens.
	Tool bool
}

func (Start) input()       {}
func (Admitted) input()    {}
func (ModelResult) input() {}
func (ToolResult) input()  {}
func (ToolHeld) input()    {}
func (FuncResult) input()  {}
func (FuncNote) input()    {}
func (TimerDue) input()    {}
func (Answer) input()      {}
func (Cancel) input()      {}
func (Recovered) input()   {}
func (Reopen) input()      {}
func (ChildStart) input()  {}
func (CallUse) input()     {}
func (CallReserve) input() {}
