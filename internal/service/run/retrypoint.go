package run

import (
	"slices"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// history is an index of the events of a run. Steps and scopes are the engine's.
type history struct {
	events []event.Event
	// started and failed map steps to the positions of their events; failed has only steps without
	// an error port.
	started, failed map[int]int
	// owner maps scopes to their fork, map or sub-flow step; a scope that is absent belongs to the
	// run itself.
	owner map[int]int
	// lastRetry maps steps to the position of their last attempt after the first.
	lastRetry map[int]int
	// restarts means that a failed step that makes calls begins again as a whole, because its
	// definition was replaced.
	restarts bool
}

func readHistory(events []event.Event) *history {
	h := &history{events: events, started: map[int]int{}, failed: map[int]int{}, owner: map[int]int{},
		lastRetry: map[int]int{}}
	for i := range events {
		ev := &events[i]
		switch d := ev.Data.(type) {
		case *event.StepStarted:
			h.started[ev.Step] = i
		case *event.StepFailed:
			if d.Port == "" {
				h.failed[ev.Step] = i
			}
		case *event.StepRetrying:
			if d.Call == "" {
				h.lastRetry[ev.Step] = i
			}
		case *event.EdgeTaken:
			if ev.Step > 0 && d.Scope != h.start(ev.Step).Scope {
				h.owner[d.Scope] = ev.Step
			}
		}
	}
	return h
}

func (h *history) start(step int) *event.StepStarted {
	d, _ := h.events[h.started[step]].Data.(*event.StepStarted)
	if d == nil {
		d = &event.StepStarted{}
	}
	return d
}

// isContainer reports whether steps of a kind contain other steps.
func isContainer(k workflow.Kind) bool {
	return k == workflow.KindFork || k == workflow.KindMap || k == workflow.KindSubflow
}

// failureCauses returns the steps whose failure made a step fail: the step itself or, for a fork, a
// map or a sub-flow, the steps inside its last attempt. If keep is set, a map that has failed items
// which can only begin again as a whole is itself a cause.
func (h *history) failureCauses(step int, keep bool) []int {
	var inside []int
	if isContainer(h.start(step).Kind) {
		for child, at := range h.failed {
			if s := h.start(child); s.Scope > 0 && h.owner[s.Scope] == step && at > h.lastRetry[step] &&
				h.started[child] >= h.lastRetry[step] {
				inside = append(inside, child)
			}
		}
	}
	if len(inside) == 0 {
		return []int{step}
	}
	slices.Sort(inside)
	var out []int
	for _, child := range inside {
		out = append(out, h.failureCauses(child, keep)...)
	}
	if h.expired(step) > 0 {
		return append(out, step)
	}
	if keep && !h.restarts && h.failureOf(step).Code == event.CodeItemsFailed &&
		slices.ContainsFunc(out, func(cause int) bool { return !h.mend(cause, map[int]event.Data{}) }) {
		return []int{step}
	}
	return out
}

// failureOf returns the failure of a failed step.
func (h *history) failureOf(step int) *event.Failure {
	return &h.events[h.failed[step]].Data.(*event.StepFailed).Error
}

// failure returns the step whose failure ended the run, or 0 if none did.
func (h *history) failure() int {
	first := 0
	for step, at := range h.failed {
		if h.start(step).Scope == 0 && (first == 0 || at < h.failed[first]) {
			first = step
		}
	}
	return first
}

// failedCall returns the model call whose last attempt failed a step, and the position at which it
// began, or false if the step failed for another reason.
func (h *history) failedCall(step int) (call string, at int, ok bool) {
	for i := h.failed[step] - 1; i > h.started[step]; i-- {
		if h.events[i].Step != step {
			continue
		}
		switch d := h.events[i].Data.(type) {
		case *event.ModelFailed:
			if d.Late {
				continue
			}
			call = d.Call
		case *event.CallUsed, *event.CallReserved, *event.ToolsPinned:
			continue
		}
		break
	}
	if call == "" {
		return "", 0, false
	}
	for i := h.started[step]; i < h.failed[step]; i++ {
		if d, ok := h.events[i].Data.(*event.ModelCalled); ok && d.Call == call {
			return call, i, true
		}
	}
	return "", 0, false
}

// beforeFailure returns the events without the failed part. If keep is set, it keeps the successful
// work of the failed steps and parallel to them; otherwise the run goes back to the start of the
// first failed step.
func (h *history) beforeFailure(keep bool) []event.Event {
	step := h.failure()
	end := len(h.events)
	for end > 0 && event.StatusOf(h.events[end-1].Data).Ended() {
		end--
	}
	if step == 0 {
		return h.upTo(h.beforeLimit(end), nil)
	}
	var culprits []int
	for other := range h.failed { // others may have failed while the run waited for calls in flight
		if h.start(other).Scope == 0 {
			culprits = append(culprits, h.failureCauses(other, keep)...)
		}
	}
	slices.Sort(culprits)
	first := h.failed[step]
	for _, c := range culprits {
		first = min(first, h.failed[c])
	}
	edits := map[int]event.Data{}
	end = h.beforeStuck(first, h.withoutEffects(first, end, culprits, edits))
	for _, c := range culprits {
		if !keep || !h.mend(c, edits) {
			end = min(end, h.started[c])
		}
	}
	return h.upTo(h.beforeLimit(end), edits)
}

// withoutEffects removes what followed from the failures of culprits, the first of which is at
// position first: steps that were cancelled or failed with them, and the ends of their items of
// maps. It returns the end of the past to keep, which is at most end: the events that ended the run
// are not kept.
func (h *history) withoutEffects(first, end int, culprits []int, edits map[int]event.Data) int {
	failed := map[int]bool{}    // scopes
	enclosing := map[int]bool{} // steps
	for _, c := range culprits {
		for scope := h.start(c).Scope; scope != 0; scope = h.start(h.owner[scope]).Scope {
			failed[scope], enclosing[h.owner[scope]] = true, true
		}
	}
	restored := map[int]bool{} // steps whose cancellation is removed
	effect := false            // the previous event is a failure that is removed, or an effect of one
	since := first             // what is cancelled together starts here
	for i := first; i < end; i++ {
		ev := &h.events[i]
		isInside := h.start(ev.Step).Scope > 0
		switch d := ev.Data.(type) {
		case *event.StepFailed:
			since = i + 1
			switch effect = slices.Contains(culprits, ev.Step); {
			case effect:
			case enclosing[ev.Step] && !isInside:
				return i
			case enclosing[ev.Step]:
				effect, edits[i] = true, nil
			}
			continue // other failures are those of steps inside of, or before, a step that continued
		case *event.WaitClosed:
			if effect && d.Reason == event.CodeCancelled {
				edits[i] = nil
			}
			continue
		case *event.StepCancelled:
			if !isInside {
				return since
			}
			if effect {
				restored[ev.Step], edits[i] = true, nil
			}
			continue
		case *event.RunCancelling:
			return i
		case *event.EdgeTaken:
			if failed[d.Scope] && ev.Step > 0 && ev.Step == h.owner[d.Scope] && d.To == ev.Node {
				edits[i] = nil // the end of an item
			}
		}
		if effect, since = false, i+1; restored[ev.Step] && isLate(ev.Data) {
			edits[i] = nil
		}
	}
	return end
}

// isLate reports whether an event is the result of a call that had been cancelled.
func isLate(d event.Data) bool {
	switch d := d.(type) {
	case *event.ModelReplied:
		return d.Late
	case *event.ModelFailed:
		return d.Late
	case *event.ToolReturned:
		return d.Late
	case *event.ToolFailed:
		return d.Late
	case *event.FuncReturned:
		return d.Late
	}
	return false
}

// expired returns the position at which the timeout of a failed step passed, or 0 if the step
// failed for another reason.
func (h *history) expired(step int) int {
	if h.start(step).Expires == nil {
		return 0
	}
	for i := h.failed[step] - 1; i > max(h.started[step], h.lastRetry[step]); i-- {
		if d, ok := h.events[i].Data.(*event.TimerFired); ok && h.events[i].Step == step && d.IsStepTimeout() {
			return i
		}
	}
	return 0
}

// mend replaces the failure of a step in edits so that the step continues: a failed call is made
// again, or continues its child run, a question whose answer was to fail is asked again, a step
// whose timeout passed continues with the calls that were in flight, and otherwise the step begins
// again. If h.restarts is set, each step that makes calls and had not succeeded begins again. It
// returns false if the step can only start afresh.
func (h *history) mend(step int, edits map[int]event.Data) bool {
	if h.restarts && loop.Calls(h.start(step).Kind) && h.failureOf(step).Code != event.CodeMaxLoopIterations {
		at := h.failed[step]
		edits[at] = h.again(step, at)
		h.removeLate(at, map[int]bool{step: true}, edits)
		return true
	}
	if call, called, ok := h.failedCall(step); ok {
		edits[h.failed[step]] = nil
		for i := called + 1; i < h.failed[step]; i++ {
			if h.events[i].Step == step && isOfCall(h.events[i].Data, call) {
				edits[i] = nil
			}
		}
		return true
	}
	s, at, f := h.start(step), h.failed[step], h.failureOf(step)
	if from := h.expired(step); from > 0 {
		h.mendExpired(step, from, edits)
		return true
	}
	again := h.again(step, at)
	closed := []int{at} // with the waits that closed because of the failure
	remove := func(result int) bool {
		for _, i := range append(closed, result) {
			edits[i] = nil
		}
		return true
	}
	isCalled := false
	for i := at - 1; i > h.started[step] && !isCalled; i-- {
		if h.events[i].Step != step {
			continue
		}
		switch d := h.events[i].Data.(type) {
		case *event.WaitClosed:
			if d.Reason == event.CodeCancelled && again.Call == "" {
				closed = append(closed, i)
			}
			continue
		case *event.CallUsed, *event.CallReserved, *event.ToolsPinned:
			continue
		case *event.LimitReached:
			return false // it is the step's own, and counts from its start on
		case *event.WaitAnswered:
			if f.Code == event.CodeOutcomeUnknown {
				return remove(i)
			}
		case *event.ToolReturned:
			if d.IsError && s.Kind == workflow.KindTool && h.startsRun(step, d.Call) {
				return remove(i)
			}
		case *event.ToolFailed:
			if s.Kind == workflow.KindTool && h.startsRun(step, d.Call) {
				return remove(i)
			}
			if !d.Late && !d.Kept {
				again.Call = d.Call
			}
		case *event.FuncReturned:
			if d.HasFailed() && !d.Late && !d.Kept {
				again.Call = d.Call
			}
		}
		isCalled = true
	}
	switch s.Kind {
	case workflow.KindMap:
		isCalled = f.Code == event.CodeItemsFailed
	case workflow.KindAgent, workflow.KindTool, workflow.KindFunc, workflow.KindExec:
	default:
		isCalled = false
	}
	if !isCalled {
		return false
	}
	if again.Call != "" {
		remove(at)
	}
	edits[at] = again
	return true
}

// mendExpired replaces what a timeout of a step, at position from, led to.
func (h *history) mendExpired(step, from int, edits map[int]event.Data) {
	cancelled := map[int]bool{step: true}
	at := h.failed[step]
	for i := from; i <= at; i++ {
		cancelled[h.events[i].Step], edits[i] = true, nil
		if _, ok := h.events[i].Data.(*event.StepCancelled); ok && h.restarts &&
			loop.Calls(h.start(h.events[i].Step).Kind) {
			edits[i] = h.again(step, i)
		}
	}
	h.removeLate(at, cancelled, edits)
}

// removeLate removes the late events of steps after position at.
func (h *history) removeLate(at int, steps map[int]bool, edits map[int]event.Data) {
	for i := at + 1; i < len(h.events); i++ {
		if steps[h.events[i].Step] && isLate(h.events[i].Data) {
			edits[i] = nil
		}
	}
}

// again returns the data of the event at position at that lets a step begin again after the failure
// of step.
func (h *history) again(step, at int) *event.StepRetrying {
	return &event.StepRetrying{Attempt: 1, Until: h.events[at].At, Error: *h.failureOf(step)}
}

// startsRun reports whether a call of a step started a child run.
func (h *history) startsRun(step int, call string) bool {
	return slices.ContainsFunc(h.events[h.started[step]:], func(e event.Event) bool {
		d, ok := e.Data.(*event.ChildStarted)
		return ok && d.Call == call
	})
}

// beforeLimit returns the end of the past to keep, which is at most end: if the run was about to
// end at a limit, at which it would end again, the past ends before that. A limit that handed the
// run over to a person did not end it.
func (h *history) beforeLimit(end int) int {
	at := -1
	for i := range h.events[:end] {
		switch d := h.events[i].Data.(type) {
		case *event.LimitReached:
			if d.IsHandoff() {
				continue
			}
			switch d.Limit {
			case event.CodeMaxSteps, event.CodeMaxBytes, event.CodeTimeout, event.CodeBudget,
				event.CodeParentBudget, event.CodeWorkflowBudget, event.CodeOscillation:
				if step := h.events[i].Step; step > 0 {
					at = min(i, h.started[step])
				} else {
					at = i
				}
			}
		case *event.RunResumed:
			if d.Limits != nil {
				at = -1
			}
		}
	}
	if at >= 0 {
		return at
	}
	return end
}

// beforeStuck returns the end of a past before the first step that completed and led nowhere
// because a step in its scope, or in an enclosing one, had failed: even without the failure it
// would lead nowhere again.
func (h *history) beforeStuck(from, end int) int {
	wentOn := map[int]bool{}
	for i := end - 1; i > from; i-- {
		ev := &h.events[i]
		switch ev.Data.(type) {
		case *event.EdgeTaken:
			wentOn[ev.Step] = true
		case *event.StepCompleted:
			if wentOn[ev.Step] {
				continue
			}
			for step, at := range h.failed {
				if at < i && h.encloses(h.start(step).Scope, h.start(ev.Step).Scope) {
					end = min(end, h.result(i))
				}
			}
		}
	}
	return end
}

// encloses reports whether a scope equals another one or encloses it.
func (h *history) encloses(outer, scope int) bool {
	for scope != outer && scope != 0 {
		scope = h.start(h.owner[scope]).Scope
	}
	return scope == outer
}

// result returns the position of the event that caused a step to complete: the result of its call,
// an answer, or its start; for a fork, a map or a sub-flow, which is settled again, it returns
// completed.
func (h *history) result(completed int) int {
	step := h.events[completed].Step
	if isContainer(h.start(step).Kind) {
		return completed
	}
	for i := completed - 1; i > h.started[step]; i-- {
		if h.events[i].Step != step {
			continue
		}
		switch d := h.events[i].Data.(type) {
		case *event.ToolReturned:
			// the engine derives it from a person's answer: between the two the call would be
			// neither open nor waiting
			if _, answered := h.events[i-1].Data.(*event.WaitAnswered); answered && h.events[i-1].Step == step {
				return i - 1
			}
			return i
		case *event.ModelReplied:
			if !d.Compaction { // its effect is in the next event
				return i
			}
		case *event.FuncReturned, *event.WaitAnswered:
			return i
		}
	}
	return h.started[step]
}

// isOfCall reports whether an event belongs to a later attempt of a model call, or to the failure
// of one.
func isOfCall(d event.Data, call string) bool {
	switch d := d.(type) {
	case *event.ModelFailed:
		return d.Call == call
	case *event.ModelCalled:
		return d.Call == call
	case *event.StepRetrying:
		return d.Call == call
	case *event.CallReserved:
		return d.Call == call
	case *event.TimerFired:
		return d.Timer == "retry:"+call
	}
	return false
}

// beforeCancel returns the events before the run was cancelled.
func (h *history) beforeCancel() []event.Event {
	end := len(h.events) - 1
	for i := range h.events {
		switch d := h.events[i].Data.(type) {
		case *event.StepCancelled:
			if d.Run == nil {
				continue
			}
		case *event.RunCancelling, *event.RunCancelled:
		default:
			continue
		}
		end = i
		break
	}
	return h.upTo(h.beforeLimit(end), nil)
}

// beforeStep returns the events before a node began to execute for the last time.
func (h *history) beforeStep(node string) ([]event.Event, bool) {
	for i, e := range slices.Backward(h.events) {
		if _, ok := e.Data.(*event.StepStarted); ok && e.Node == node {
			return h.upTo(i, nil), true
		}
	}
	return nil, false
}

// upTo returns the events before a position, renumbered and with edits, which maps positions to the
// data that replaces theirs; nil removes an event. Waits that were closed because their steps were
// cancelled right there are open.
func (h *history) upTo(end int, edits map[int]event.Data) []event.Event {
	for ; end > 0 && end < len(h.events); end-- {
		if d, ok := h.events[end-1].Data.(*event.WaitClosed); !ok || d.Reason != event.CodeCancelled {
			break
		}
	}
	out := make([]event.Event, 0, end)
	for i, ev := range h.events[:end] {
		if data, edited := edits[i]; edited {
			ev.Data = data
		}
		if ev.Data != nil {
			ev.Seq = uint64(len(out) + 1)
			out = append(out, ev)
		}
	}
	return out
}

// noStep returns an error saying that a run never executed a node.
func (h *history) noStep(run, node string) error {
	var ids []string
	for i := range h.events {
		if _, ok := h.events[i].Data.(*event.StepStarted); ok && !slices.Contains(ids, h.events[i].Node) {
			ids = append(ids, h.events[i].Node)
		}
	}
	if len(ids) == 0 {
		return failure.Refuse(errcode.RunWithoutSteps, errcode.Fields{"run": run}, nil)
	}
	return failure.Refuse(errcode.StepNotExecuted, errcode.Fields{"run": run, "step": node, "steps": first(ids, 12),
		"meant": diag.DidYouMean(node, ids)}, nil)
}

func first(ids []string, most int) []string {
	if len(ids) > most {
		return append(slices.Clone(ids[:most]), "…")
	}
	return ids
}
