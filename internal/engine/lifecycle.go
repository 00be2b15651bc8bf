package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/timer"
)

// settleIdle pauses or ends the run if nothing is left to do or to wait for.
func (m *machine) settleIdle() {
	switch {
	case m.state.Status != event.StatusRunning && (m.state.Status != event.StatusPaused || m.state.Ending == nil):
	case m.state.Ending != nil && m.state.Ending.Limit:
		m.endLimited()
	case m.state.Ending != nil:
		m.endFailing()
	case m.state.Loop.Out() > 0 || m.state.Timers.Retries() > 0:
	case m.settle():
	case m.graph.Scope(0).Live == 0:
		m.completeRun()
	case m.state.Waits.IsOpen():
		w := m.state.Waits.Open(nil)[0]
		m.emitStep(w.Step, &event.RunPaused{Wait: w.Wait})
	default:
		// a damaged journal or a bug
		m.finish(&event.RunFailed{Error: event.Failure{Code: event.CodeStuck,
			Message: "no step can continue and no wait is open"}})
	}
}

// completeRun ends the run with its output, or fails it if the output cannot be built or does not
// match its schema.
func (m *machine) completeRun() {
	done := &event.RunCompleted{OutputStep: m.graph.Scope(0).Last}
	if f := m.state.runOutput(done); f != nil {
		m.finish(&event.RunFailed{Error: *f})
		return
	}
	m.finish(done)
}

// endLimited ends a run that reached a limit, once the calls in flight have returned. Sleeping
// retries are kept for a reopening and, if the time limit was reached, so are the calls in flight
// (D20).
func (m *machine) endLimited() {
	if m.state.Limit == event.CodeTimeout {
		m.cancelCalls(func(*loop.Call) bool { return true })
	} else if m.state.Loop.Out() > 0 || m.settle() {
		return
	}
	m.finishFailed()
}

// endFailing ends a run that failed or was cancelled: started calls finish or are cancelled (D12),
// and cancelled calls settle (D10).
func (m *machine) endFailing() {
	if m.state.Loop.Out() > 0 {
		m.settle()
		return
	}
	m.cancelScope(0, "the run ended")
	if m.settle() {
		return
	}
	if m.state.cancelled() {
		m.finish(&event.RunCancelled{Reason: m.state.Ending.Reason})
		return
	}
	m.finishFailed()
}

// finishFailed ends the run with the failure that is ending it. If the program can report failures,
// its report is emitted first (S2-59).
func (m *machine) finishFailed() {
	f := m.state.Ending.Failure
	if host, ok := m.state.plan.host.(Reporter); ok && m.state.plan.root.Workflow.Rules.ReportFailures {
		var report *event.SignalRaised
		err := m.state.plan.ask("report", func(Host) error {
			report = host.Report(m.state.id, f, m.now)
			return nil
		})
		if err == nil && report != nil {
			m.emit(0, "", report)
		}
	}
	m.finish(&event.RunFailed{Error: f})
}

// settle waits for cancelled calls and reports whether there are any.
func (m *machine) settle() bool {
	if !m.state.settling() {
		return false
	}
	if t := m.state.settleTimer(); m.announced != t.At.UnixMicro() {
		m.announced = t.At.UnixMicro()
		m.addCommands(startTimer(t))
	}
	return true
}

// settleTimer returns the timer at which the run stops waiting for cancelled calls.
func (s *state) settleTimer() timer.Timer {
	wait := SettleTime
	if s.onlyDraining() {
		wait = DrainTime
	}
	return timer.Timer{Key: timer.Key{Kind: timer.Settle}, At: s.Loop.CancelledAt().Add(wait), Seq: s.Seq}
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
func (s *state) cancelled() bool { return s.Ending != nil && s.Ending.Status == event.StatusCancelled }

// isFailing reports whether the run is ending because it failed or was cancelled: nothing new
// starts in it.
func (s *state) isFailing() bool { return s.Ending != nil && !s.Ending.Limit }

// abandonAll abandons everything that a cancelled run still waits for.
func (m *machine) abandonAll(why string) {
	if m.state.cancelled() {
		m.cancelScope(0, why)
	}
	m.abandon(why)
}

// settling reports whether the run only waits for calls that it has cancelled, or that may still
// finish while it is being cancelled.
func (s *state) settling() bool {
	if s.Status != event.StatusRunning && s.Status != event.StatusPaused {
		return false
	}
	if s.Loop.Out() > 0 {
		return s.cancelled() // functions may finish
	}
	if s.Loop.Late() == 0 {
		return false
	}
	return s.Ending != nil || s.Timers.Retries() == 0
}

// abandon stops waiting for cancelled calls; their usage stays unknown.
func (m *machine) abandon(why string) { m.abandonSince(0, why, nil) }

// settleUnsent settles calls that this activation cancels before they are sent out, since they will
// never have a result.
func (m *machine) settleUnsent() {
	if m.state.Loop.Late() > 0 {
		m.abandonSince(m.first, "it was cancelled before it was made", &chat.Usage{})
	}
}

// abandonSince stops waiting for the cancelled calls that were requested by event seq or later.
// used is the usage of each model call among them, or nil if unknown.
func (m *machine) abandonSince(seq uint64, why string, used *chat.Usage) {
	var cost *float64
	if used != nil {
		cost = new(float64)
	}
	f := event.Failure{Code: event.CodeCancelled, Message: why}
	for _, key := range m.state.Loop.Keys(func(c *loop.Call) bool {
		return c.State == loop.Cancelled && c.Seq >= seq
	}) {
		c := m.state.Loop.Call(key)
		switch c.Kind {
		case loop.Model:
			m.emitStep(c.Step, &event.ModelFailed{Call: key, Attempt: c.Attempt, Error: f, Usage: used, CostUSD: cost,
				Late: true})
		case loop.Tool:
			m.emitStep(c.Step, &event.ToolFailed{Call: key, Attempt: c.Attempt, Error: f, Late: true})
		default:
			m.emitStep(c.Step, &event.FuncReturned{Call: key, Attempt: c.Attempt, Error: &f, Late: true})
		}
	}
}

// finish ends the run.
func (m *machine) finish(d event.Data) {
	if m.state.Ending == nil || !m.state.Ending.Limit {
		m.cancelScope(0, "the run ended")
		m.closeWaits(nil, "ended")
	}
	m.emit(0, "", d)
}

func (m *machine) handleCancel(d Cancel) error {
	end := &event.RunCancelled{Reason: event.Clean(d.Reason)}
	switch {
	case m.state.Status == event.StatusCancelled || m.state.cancelled():
	case m.state.Status.Ended():
		return ErrEnded
	case m.funcsMayFinish():
		m.emit(0, "", &event.RunCancelling{Reason: end.Reason})
		m.cancelCalls(func(*loop.Call) bool { return true })
	case !m.cancelRun(end): // only cancelled calls were awaited
		m.closeWaits(nil, "cancelled")
		m.emit(0, "", end)
	}
	return nil
}

// funcsMayFinish reports whether functions are running that may finish although the run is
// cancelled: the node being aborted completes first (S2-36).
func (m *machine) funcsMayFinish() bool {
	if m.state.Loop.Out() == 0 || !m.state.plan.root.Workflow.Rules.FinishOnCancel {
		return false
	}
	for _, c := range m.state.Loop.All() {
		if c.State == loop.Open && c.Kind != loop.Func {
			return false
		}
	}
	return true
}

// limitAt ends the run because of a limit, or hands over to a person if the workflow says so
// (S3-15).
func (m *machine) limitAt(code string, most int64, path string, from int) {
	w := m.state.plan.root.Workflow
	if w.Rules.Handoff == "" || m.state.Ending != nil {
		m.emit(0, path, &event.LimitReached{Limit: code, Max: most})
		return
	}
	m.cancelScope(0, "handed over to a person")
	if from == 0 {
		from = m.graph.Scope(0).Last
	}
	m.emit(0, path, &event.LimitReached{Limit: code, Max: most, Detail: event.DetailHandoff})
	node := ""
	if from > 0 {
		node = m.graph.NodeID(from)
	}
	m.emit(from, node, &event.EdgeTaken{Edge: -1, To: w.Rules.Handoff, Token: m.graph.Tokens + 1})
}

// limitFailure returns the failure of a run that reached a limit.
func (s *state) limitFailure(d *event.LimitReached, node string) event.Failure {
	f := event.Failure{Code: d.Limit, Node: node}
	switch d.Limit {
	case event.CodeMaxSteps:
		f.Message = s.plan.root.Workflow.Rules.StepLimitMessage(d.Max)
	case event.CodeTimeout:
		f.Message = s.plan.root.Workflow.Rules.TimeoutMessage(d.Max)
	case event.CodeMaxBytes:
		f.Message = fmt.Sprintf("the run is larger than max_bytes allows: %d bytes in total", d.Max)
	case event.CodeWorkflowBudget:
		f.Message = d.Detail
	case event.CodeParentBudget:
		f.Limit, f.Max = d.Detail, d.Max
		f.Message = fmt.Sprintf("the remaining budget of the parent run is used up: %d %s", d.Max, d.Detail)
	case event.CodeBudget:
		f.Limit, f.Max = d.Detail, d.Max
		f.Message = fmt.Sprintf("the run's budget of %d %s is used up", d.Max, d.Detail)
	default:
		f.Message = fmt.Sprintf("limit %s of %d reached", d.Limit, d.Max)
	}
	return f
}

// timeUp ends the run because of its time limit. A run that only waits for calls that it has
// cancelled abandons those instead.
func (m *machine) timeUp() {
	limit := time.Duration(m.state.Limits.Timeout)
	if m.state.Status != event.StatusRunning || limit <= 0 {
		return
	}
	switch end := m.state.Ending; {
	case m.state.Active+m.now.Sub(m.state.At) < limit:
		m.added = m.appendTimeout(m.added, m.state.Seq) // fired early
	case m.state.settling():
		m.abandonAll("the run timed out")
	case end == nil || end.Limit:
		m.limitAt(event.CodeTimeout, limit.Milliseconds(), "", 0)
	default:
		m.cancelScope(0, "the run timed out")
	}
}

// settleTimeUp abandons the cancelled calls that the run waits for.
func (m *machine) settleTimeUp() {
	switch {
	case !m.state.settling(), m.now.Before(m.state.settleTimer().At):
		m.announced = 0 // fired early, or other calls were in flight: requested again
	case m.state.onlyDraining():
		m.abandonAll("no answer within " + DrainTime.String() + " of the cancellation")
	default:
		m.abandonAll("no answer within " + SettleTime.String() + " of the cancellation")
	}
}
