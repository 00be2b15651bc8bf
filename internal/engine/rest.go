package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// rest pauses or ends the run where nothing is left to do or to wait for.
func (r *Run) rest() {
	switch {
	case r.s.Status != StatusRunning && (r.s.Status != StatusPaused || r.s.Ending == nil):
	case r.s.Ending != nil && r.s.Ending.Limit:
		r.restLimit()
	case r.s.Ending != nil:
		r.restEnding()
	case r.s.Loop.Out() > 0 || r.s.Loop.Sleeping() > 0:
	case r.settle():
	case r.graph.Scope(0).Live == 0:
		r.finish(&RunCompleted{OutputStep: r.graph.Scope(0).Last})
	case r.s.Waits.IsOpen():
		r.pause()
	default:
		r.finish(&RunFailed{Error: Failure{Code: CodeStuck, Message: "no step can continue and no wait is open"}}) // of a damaged journal, or a defect
	}
}

func (r *Run) pause() {
	w := r.s.Waits.Open(nil)[0]
	r.emitStep(w.Step, &RunPaused{Wait: w.Wait})
}

// restLimit ends a run that met a limit, once the calls that were out have come back. Retries that sleep stay for a reopening, and so do, where
// the time is over, the calls that are out (D20).
func (r *Run) restLimit() {
	if r.s.Limit == CodeTimeout {
		r.commands.cancelCalls(func(*loop.Call) bool { return true })
	} else if r.s.Loop.Out() > 0 || r.settle() {
		return
	}
	r.finishFailed()
}

// restEnding ends a run that failed or was cancelled: started calls finish or are cancelled (D12), cancelled ones settle (D10).
func (r *Run) restEnding() {
	if r.s.Loop.Out() > 0 {
		r.settle()
		return
	}
	r.steps.cancelScope(0, "the run ended")
	if r.settle() {
		return
	}
	if r.s.cancelled() {
		r.finish(&RunCancelled{Reason: r.s.Ending.Reason})
		return
	}
	r.finishFailed()
}

// finishFailed ends the run with the failure that it is ending by. A program that can make a report of it does (S2-59).
func (r *Run) finishFailed() {
	f := r.s.Ending.Failure
	if host, ok := r.plan.host.(Reporter); ok && r.plan.root.Workflow.Rules.ReportFailures {
		var report *SignalRaised
		err := r.plan.ask("report", func(Host) error {
			report = host.Report(r.s.id, f, r.now)
			return nil
		})
		if err == nil && report != nil {
			r.emit(0, "", report)
		}
	}
	r.finish(&RunFailed{Error: f})
}

// settle waits for cancelled calls and tells whether there are any.
func (r *Run) settle() bool {
	if !r.s.settling() {
		return false
	}
	if at := r.s.settleAt(); !r.announced.Equal(at) {
		r.announced = at
		r.commands.add(&StartTimer{ID: timerSettle, After: r.s.Seq, At: at})
	}
	return true
}

// settleAt is when the run stops waiting for cancelled calls.
func (s *state) settleAt() time.Time {
	if s.drains() {
		return s.Loop.CancelledAt().Add(DrainTime)
	}
	return s.Loop.CancelledAt().Add(SettleTime)
}

// drains tells whether all calls that are awaited are functions that lost, and that have told of the end of all that they started.
func (s *state) drains() bool {
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

// cancelled tells whether the run is ending because somebody cancelled it.
func (s *state) cancelled() bool { return s.Ending != nil && s.Ending.Status == StatusCancelled }

// isFailing tells whether the run ends by a failure or was cancelled: nothing new starts in it.
func (s *state) isFailing() bool { return s.Ending != nil && !s.Ending.Limit }

// IsEnding tells whether the run was cancelled and waits for functions that may finish (ADR 15).
func (r *Run) IsEnding() bool { return r.s.cancelled() && r.s.Loop.Out() > 0 && !r.s.Status.Ended() }

// cutOff gives up on everything that a cancelled run still waits for.
func (r *Run) cutOff(why string) {
	if r.s.cancelled() {
		r.steps.cancelScope(0, why)
	}
	r.abandon(why)
}

// settling tells whether the run only waits for calls that it cancelled or is being cancelled with.
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

// abandon gives up on cancelled calls: what they used stays unknown.
func (r *Run) abandon(why string) { r.abandonSince(0, why, nil) }

// settleUnsent settles calls that this activation cancels before they are given out: no result of them will ever come.
func (r *Run) settleUnsent() {
	if r.s.Loop.Late() > 0 && len(r.out) > 0 {
		r.abandonSince(r.out[0].Seq, "it was cancelled before it was made", &chat.Usage{})
	}
}

// abandonSince gives up on the cancelled calls that were asked for by event seq or later. used is what each model call of them used, nil where that is
// not known.
func (r *Run) abandonSince(seq uint64, why string, used *chat.Usage) {
	var cost *float64
	if used != nil {
		cost = new(float64)
	}
	f := Failure{Code: CodeCancelled, Message: why}
	for _, key := range r.s.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Cancelled && c.Seq >= seq }) {
		c := r.s.Loop.Call(key)
		switch c.Kind {
		case loop.Model:
			r.emitStep(c.Step, &ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Usage: used, CostUSD: cost, Late: true})
		case loop.Tool:
			r.emitStep(c.Step, &ToolFailed{Call: key, Attempt: c.Attempt, Error: f, Late: true})
		default:
			r.emitStep(c.Step, &FuncReturned{Call: key, Attempt: c.Attempt, Error: &f, Late: true})
		}
	}
}

// finish ends the run.
func (r *Run) finish(d Data) {
	if r.s.Ending == nil || !r.s.Ending.Limit {
		r.steps.cancelScope(0, "the run ended")
		r.closeWaits(nil, "ended")
	}
	r.emit(0, "", d)
}

func (r *Run) handleCancel(d Cancel) {
	if r.s.Status.Ended() {
		return
	}
	if r.s.cancelled() {
		return
	}
	if r.finishes() {
		r.emit(0, "", &RunCancelling{Reason: event.Clean(d.Reason)})
		r.commands.cancelCalls(func(*loop.Call) bool { return true })
		return
	}
	r.steps.cancelling = &RunCancelled{Reason: event.Clean(d.Reason)}
	r.steps.cancelScope(0, "the run was cancelled")
	if end := r.steps.cancelling; end != nil { // no step ran; cancelled calls were all that was awaited
		r.steps.cancelling = nil
		r.closeWaits(nil, "cancelled")
		r.emit(0, "", end)
	}
}

// finishes tells whether functions are at work that may finish although the run is cancelled: the node that is aborted completes first (S2-36).
func (r *Run) finishes() bool {
	if r.s.Loop.Out() == 0 || !r.plan.root.Workflow.Rules.FinishOnCancel {
		return false
	}
	for _, c := range r.s.Loop.All() {
		if c.State == loop.Open && c.Kind != loop.Func {
			return false
		}
	}
	return true
}

// limit ends the run by a bound that no step met by itself.
func (r *Run) limit(code string, most int64, from int) { r.limitAt(code, most, "", from) }

// limitAt ends the run by a bound, or hands over to a person where the workflow says so (S3-15).
func (r *Run) limitAt(code string, most int64, path string, from int) {
	w := r.plan.root.Workflow
	if w.Rules.Handoff == "" || r.s.Ending != nil {
		r.emit(0, path, &LimitReached{Limit: code, Max: most})
		return
	}
	r.steps.cancelScope(0, "handed over to a person")
	if from == 0 {
		from = r.graph.Scope(0).Last
	}
	r.emit(0, path, &LimitReached{Limit: code, Max: most, Detail: event.DetailHandoff})
	node := ""
	if from > 0 {
		node = r.nodeID(from)
	}
	r.emit(from, node, &EdgeTaken{Edge: -1, To: w.Rules.Handoff, Token: r.graph.Tokens + 1})
}

// limitFailure words the failure of a run that met a limit.
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
