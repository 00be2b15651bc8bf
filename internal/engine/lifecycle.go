package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
)

// lifecycle starts, pauses, ends and reopens a run: it decides what follows from limits, failures
// and cancellations of the run as a whole. It reads the state and changes it only through events.
type lifecycle struct {
	*recorder
	commands *commander
	steps    lifecycleSteps
	people   lifecyclePeople
	calls    lifecycleCalls
	// announced is the time, in microseconds since 1970, for which the timer for cancelled calls
	// was last requested; 0 means none.
	announced int64
}

// lifecycleSteps cancels steps.
type lifecycleSteps interface {
	cancelScope(scope int, reason string)
	// cancelRun cancels all steps, the first one with end, the event that cancels the run. It
	// returns false if no step was running.
	cancelRun(end *RunCancelled) bool
}

// lifecyclePeople closes waits, and asks about calls whose outcome is unknown.
type lifecyclePeople interface {
	closeWaits(match func(*waits.Wait) bool, reason string)
	askAbout(key string, c *loop.Call, why string)
}

// lifecycleCalls continues the calls of a resumed run.
type lifecycleCalls interface {
	// settleLost settles a call with unknown outcome.
	settleLost(key, what string)
	callWithheld()
}

// settleIdle pauses or ends the run if nothing is left to do or to wait for.
func (l *lifecycle) settleIdle() {
	switch {
	case l.state.Status != StatusRunning && (l.state.Status != StatusPaused || l.state.Ending == nil):
	case l.state.Ending != nil && l.state.Ending.Limit:
		l.endLimited()
	case l.state.Ending != nil:
		l.endFailing()
	case l.state.Loop.Out() > 0 || l.state.Loop.Sleeping() > 0:
	case l.settle():
	case l.graph.Scope(0).Live == 0:
		l.complete()
	case l.state.Waits.IsOpen():
		w := l.state.Waits.Open(nil)[0]
		l.emitStep(w.Step, &RunPaused{Wait: w.Wait})
	default:
		// a damaged journal or a bug
		l.finish(&RunFailed{Error: Failure{Code: CodeStuck, Message: "no step can continue and no wait is open"}})
	}
}

// complete ends the run with its output, or fails it if the output cannot be built or does not
// match its schema.
func (l *lifecycle) complete() {
	done := &RunCompleted{OutputStep: l.graph.Scope(0).Last}
	if f := (viewer{&l.state}).runOutput(done); f != nil {
		l.finish(&RunFailed{Error: *f})
		return
	}
	l.finish(done)
}

// endLimited ends a run that reached a limit, once the calls in flight have returned. Sleeping
// retries are kept for a reopening and, if the time limit was reached, so are the calls in flight
// (D20).
func (l *lifecycle) endLimited() {
	if l.state.Limit == CodeTimeout {
		l.commands.cancelCalls(func(*loop.Call) bool { return true })
	} else if l.state.Loop.Out() > 0 || l.settle() {
		return
	}
	l.finishFailed()
}

// endFailing ends a run that failed or was cancelled: started calls finish or are cancelled (D12),
// and cancelled calls settle (D10).
func (l *lifecycle) endFailing() {
	if l.state.Loop.Out() > 0 {
		l.settle()
		return
	}
	l.steps.cancelScope(0, "the run ended")
	if l.settle() {
		return
	}
	if l.state.cancelled() {
		l.finish(&RunCancelled{Reason: l.state.Ending.Reason})
		return
	}
	l.finishFailed()
}

// finishFailed ends the run with the failure that is ending it. If the program can report failures,
// its report is emitted first (S2-59).
func (l *lifecycle) finishFailed() {
	f := l.state.Ending.Failure
	if host, ok := l.state.plan.host.(Reporter); ok && l.state.plan.root.Workflow.Rules.ReportFailures {
		var report *SignalRaised
		err := l.state.plan.ask("report", func(Host) error {
			report = host.Report(l.state.id, f, l.now)
			return nil
		})
		if err == nil && report != nil {
			l.emit(0, "", report)
		}
	}
	l.finish(&RunFailed{Error: f})
}

// settle waits for cancelled calls and reports whether there are any.
func (l *lifecycle) settle() bool {
	if !l.state.settling() {
		return false
	}
	if at := l.state.settleAt(); l.announced != at.UnixMicro() {
		l.announced = at.UnixMicro()
		l.commands.add(&StartTimer{ID: timerSettle, After: l.state.Seq, At: at})
	}
	return true
}

// settleAt returns when the run stops waiting for cancelled calls.
func (s *state) settleAt() time.Time {
	if s.onlyDraining() {
		return s.Loop.CancelledAt().Add(DrainTime)
	}
	return s.Loop.CancelledAt().Add(SettleTime)
}

// onlyDraining reports whether all awaited calls are cancelled functions that have reported the end
// of everything they started.
func (s *state) onlyDraining() bool {
	if s.cancelled() || s.Loop.Out() > 0 {
		return false // functions may finish (ADR 15)
	}
	for key, c := range s.Loop.All() {
		if c.State == loop.Cancelled && (c.Kind != loop.Func || s.Ledger.IsAwaited(key)) {
			return false
		}
	}
	return true
}

// cancelled reports whether the run is ending because it was cancelled.
func (s *state) cancelled() bool { return s.Ending != nil && s.Ending.Status == StatusCancelled }

// isFailing reports whether the run is ending because it failed or was cancelled: nothing new
// starts in it.
func (s *state) isFailing() bool { return s.Ending != nil && !s.Ending.Limit }

// abandonAll abandons everything that a cancelled run still waits for.
func (l *lifecycle) abandonAll(why string) {
	if l.state.cancelled() {
		l.steps.cancelScope(0, why)
	}
	l.abandon(why)
}

// settling reports whether the run only waits for calls that it has cancelled, or that may still
// finish while it is being cancelled.
func (s *state) settling() bool {
	if s.Status != StatusRunning && s.Status != StatusPaused {
		return false
	}
	if s.Loop.Out() > 0 {
		return s.cancelled() // functions may finish
	}
	if s.Loop.Late() == 0 {
		return false
	}
	return s.Ending != nil || s.Loop.Sleeping() == 0
}

// abandon stops waiting for cancelled calls; their usage stays unknown.
func (l *lifecycle) abandon(why string) { l.abandonSince(0, why, nil) }

// settleUnsent settles calls that this activation cancels before they are sent out, since they will
// never have a result.
func (l *lifecycle) settleUnsent() {
	if l.state.Loop.Late() > 0 {
		l.abandonSince(l.commands.first, "it was cancelled before it was made", &chat.Usage{})
	}
}

// abandonSince stops waiting for the cancelled calls that were requested by event seq or later.
// used is the usage of each model call among them, or nil if unknown.
func (l *lifecycle) abandonSince(seq uint64, why string, used *chat.Usage) {
	var cost *float64
	if used != nil {
		cost = new(float64)
	}
	f := Failure{Code: CodeCancelled, Message: why}
	for _, key := range l.state.Loop.Keys(func(c *loop.Call) bool {
		return c.State == loop.Cancelled && c.Seq >= seq
	}) {
		c := l.state.Loop.Call(key)
		switch c.Kind {
		case loop.Model:
			l.emitStep(c.Step, &ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Usage: used, CostUSD: cost,
				Late: true})
		case loop.Tool:
			l.emitStep(c.Step, &ToolFailed{Call: key, Attempt: c.Attempt, Error: f, Late: true})
		default:
			l.emitStep(c.Step, &FuncReturned{Call: key, Attempt: c.Attempt, Error: &f, Late: true})
		}
	}
}

// finish ends the run.
func (l *lifecycle) finish(d Data) {
	if l.state.Ending == nil || !l.state.Ending.Limit {
		l.steps.cancelScope(0, "the run ended")
		l.people.closeWaits(nil, "ended")
	}
	l.emit(0, "", d)
}

func (l *lifecycle) handleCancel(d Cancel) {
	if l.state.Status.Ended() || l.state.cancelled() {
		return
	}
	if l.funcsMayFinish() {
		l.emit(0, "", &RunCancelling{Reason: event.Clean(d.Reason)})
		l.commands.cancelCalls(func(*loop.Call) bool { return true })
		return
	}
	end := &RunCancelled{Reason: event.Clean(d.Reason)}
	if !l.steps.cancelRun(end) { // only cancelled calls were awaited
		l.people.closeWaits(nil, "cancelled")
		l.emit(0, "", end)
	}
}

// funcsMayFinish reports whether functions are running that may finish although the run is
// cancelled: the node being aborted completes first (S2-36).
func (l *lifecycle) funcsMayFinish() bool {
	if l.state.Loop.Out() == 0 || !l.state.plan.root.Workflow.Rules.FinishOnCancel {
		return false
	}
	for _, c := range l.state.Loop.All() {
		if c.State == loop.Open && c.Kind != loop.Func {
			return false
		}
	}
	return true
}

// limitAt ends the run because of a limit, or hands over to a person if the workflow says so
// (S3-15).
func (l *lifecycle) limitAt(code string, most int64, path string, from int) {
	w := l.state.plan.root.Workflow
	if w.Rules.Handoff == "" || l.state.Ending != nil {
		l.emit(0, path, &LimitReached{Limit: code, Max: most})
		return
	}
	l.steps.cancelScope(0, "handed over to a person")
	if from == 0 {
		from = l.graph.Scope(0).Last
	}
	l.emit(0, path, &LimitReached{Limit: code, Max: most, Detail: event.DetailHandoff})
	node := ""
	if from > 0 {
		node = l.graph.NodeID(from)
	}
	l.emit(from, node, &EdgeTaken{Edge: -1, To: w.Rules.Handoff, Token: l.graph.Tokens + 1})
}

// limitFailure returns the failure of a run that reached a limit.
func (s *state) limitFailure(d *LimitReached, node string) Failure {
	f := Failure{Code: d.Limit, Node: node}
	switch d.Limit {
	case CodeMaxSteps:
		f.Message = s.plan.root.Workflow.Rules.StepLimitMessage(d.Max)
	case CodeTimeout:
		f.Message = s.plan.root.Workflow.Rules.TimeoutMessage(d.Max)
	case CodeMaxBytes:
		f.Message = fmt.Sprintf("the run is larger than max_bytes allows: %d bytes in total", d.Max)
	case CodeWorkflowBudget:
		f.Message = d.Detail
	case CodeParentBudget:
		f.Limit, f.Max = d.Detail, d.Max
		f.Message = fmt.Sprintf("the remaining budget of the parent run is used up: %d %s", d.Max, d.Detail)
	case CodeBudget:
		f.Limit, f.Max = d.Detail, d.Max
		f.Message = fmt.Sprintf("the run's budget of %d %s is used up", d.Max, d.Detail)
	default:
		f.Message = fmt.Sprintf("limit %s of %d reached", d.Limit, d.Max)
	}
	return f
}

// timeUp ends the run because of its time limit. A run that only waits for calls that it has
// cancelled abandons those instead.
func (l *lifecycle) timeUp() {
	limit := time.Duration(l.state.Limits.Timeout)
	if l.state.Status != StatusRunning || limit <= 0 {
		return
	}
	switch end := l.state.Ending; {
	case l.state.Active+l.now.Sub(l.state.At) < limit:
		l.commands.add(l.state.timeout(l.state.Seq)) // fired early
	case l.state.settling():
		l.abandonAll("the run timed out")
	case end == nil || end.Limit:
		l.limitAt(CodeTimeout, limit.Milliseconds(), "", 0)
	default:
		l.steps.cancelScope(0, "the run timed out")
	}
}

// settleTimeUp abandons the cancelled calls that the run waits for.
func (l *lifecycle) settleTimeUp() {
	switch {
	case !l.state.settling(), l.now.Before(l.state.settleAt()):
		l.announced = 0 // fired early, or other calls were in flight: requested again
	case l.state.onlyDraining():
		l.abandonAll("no answer within " + DrainTime.String() + " of the cancellation")
	default:
		l.abandonAll("no answer within " + SettleTime.String() + " of the cancellation")
	}
}
