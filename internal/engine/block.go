package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// fork starts the branches of a fork, each in a scope of its own.
func (r *Run) fork(id int, n *plan.Node) {
	f := r.flowOf(id)
	branches := len(n.Fork.Branches)
	r.out = slices.Grow(r.out, 3*branches) // an edge for each, and the begin of its first step
	for i, b := range n.Fork.Branches {
		scopeID := len(r.graph.Scopes)
		for _, e := range n.Ports[b.ID] {
			to := f.Workflow.Edges[e].To
			d := r.mem.edges.put(EdgeTaken{Edge: e, To: to, Scope: scopeID, Branch: i + 1})
			if f.Index[to] != n.JoinIndex {
				d.Token = r.graph.Tokens + 1
			}
			r.emitStep(id, d)
		}
	}
	r.settleBlock(id)
}

// settleBlock ends a fork once its branches say so (D12).
func (r *Run) settleBlock(id int) {
	switch verdict, failed := r.graph.Verdict(id); verdict {
	case graph.BlockCompletes:
		r.completeBlock(id)
	case graph.BlockFails:
		r.failBlock(id, failed)
	case graph.BlockSkips:
		r.emitStep(id, &StepSkipped{Reason: "no branch reached " + r.stepNode(id).Fork.Join})
	}
}

func (r *Run) completeBlock(id int) {
	n := r.stepNode(id)
	update, failure := r.mergeBranches(id)
	if failure == nil && r.s.Limits.MaxBytes > 0 {
		failure = r.s.fitting(r.graph.BlockSize(id))
	}
	if failure == nil {
		var merged map[string]Value
		if merged, failure = r.united(id, r.step(id).Block.View, update, nil); merged != nil {
			update = merged
		}
	}
	if failure != nil {
		r.cancelBranches(id, "the block failed")
		r.failStep(id, *failure)
		return
	}
	r.cancelBranches(id, "another branch of "+n.ID+" settled the block")
	r.complete(id, &StepCompleted{Update: update}, r.plan.out...)
}

// failBlock fails a fork with the failure of the first failed branch, in declared order; for any, with that of the last (S2-51).
func (r *Run) failBlock(id int, failed []int) {
	f := *r.scope(failed[0]).Failed
	if n := r.stepNode(id); n.Fork.Until == workflow.UntilAny || n.Fork.Until == workflow.UntilQuorum {
		f.Message = fmt.Sprintf("%d of %d branches failed; the first: %s", len(failed), len(n.Fork.Branches), f.Message)
	}
	r.cancelBranches(id, "another branch of "+r.stepNode(id).ID+" failed")
	r.failStep(id, f)
}

// cancelBranches cancels every step that still runs below a fork or subflow step.
func (r *Run) cancelBranches(owner int, reason string) {
	for _, s := range r.step(owner).Block.Scopes {
		r.cancelScope(s, reason)
	}
}

func (r *Run) cancelScope(scopeID int, reason string) {
	for i := len(r.graph.Running) - 1; i >= 0; i-- { //nolint:modernize // cancelling takes steps out of the list
		if i >= len(r.graph.Running) {
			continue
		}
		if id := r.graph.Running[i]; r.step(id).Scope == scopeID {
			r.cancelStep(id, reason)
		}
	}
}

// cancelStep cancels a running step with all that runs below it.
func (r *Run) cancelStep(id int, reason string) {
	if r.step(id).Status != stepRunning {
		return
	}
	if r.step(id).Block != nil {
		r.cancelBranches(id, reason)
	}
	r.closeWaits(func(w *waits.Wait) bool { return w.Step == id }, "cancelled")
	r.commands.cancelCalls(func(c *loop.Call) bool { return c.Step == id })
	r.emitStep(id, &StepCancelled{Reason: reason, Run: r.cancelling})
	r.cancelling = nil
}

// callFailed decides what follows a failed call of a tool or function node, or of a model that has no fallback left.
func (r *Run) callFailed(key string, c *loop.Call, f Failure, cause error) {
	if c == nil {
		return
	}
	if f.Node == "" {
		f.Node = r.nodeID(c.Step)
	}
	if r.handledByProgram(c.Step, key, &f, cause) {
		return
	}
	if delay, ok := r.retry(c.Step, f, cause); ok && !isFinal(f.Code) {
		r.retryCall(c.Step, key, delay, f)
		return
	}
	r.giveUp(c.Step, f)
}

// failStep fails a step as a whole: its retry policy begins it anew (S4-23).
func (r *Run) failStep(id int, f Failure) {
	if r.step(id).Status != stepRunning {
		return
	}
	if f.Node == "" {
		f.Node = r.nodeID(id)
	}
	if r.handledByProgram(id, "", &f, nil) {
		return
	}
	if delay, ok := r.retry(id, f, nil); ok && !isLimit(f.Code) {
		r.retryCall(id, "", delay, f)
		return
	}
	r.giveUp(id, f)
}

// retryCall makes a call again after a delay, or the whole step where key is empty (ADR 6).
func (r *Run) retryCall(id int, key string, delay time.Duration, f Failure) {
	if key == "" {
		r.unwind(id, -1, f)
	}
	r.emitStep(id, &StepRetrying{Attempt: r.step(id).Retries + 2, Call: key, Until: r.now.Add(delay), Error: f})
}

// restart begins a step anew after its retry timer.
func (r *Run) restart(id int) {
	if r.step(id).Status == stepRunning {
		r.begin(id, r.stepNode(id))
	}
}

// isLimit tells whether a failure code is a bound that trying again would only meet again.
func isLimit(code string) bool {
	switch code {
	case CodeMaxLoopIterations, CodeMaxSteps, CodeMaxBytes, CodeValueTooLarge, CodeNoProgress, CodeMaxTurns, CodeBudget, CodeNodeBudget, CodeParentBudget, CodeWorkflowBudget:
		return true
	}
	return false
}

// isFinal tells whether another attempt would be withheld like the one that failed: a budget is used up, or does not allow the call.
func isFinal(code string) bool {
	switch code {
	case CodeBudget, CodeNodeBudget, CodeParentBudget, CodeWorkflowBudget, CodeUncounted:
		return true
	}
	return false
}

// giveUp fails a step for good: along its error edge, else outward.
func (r *Run) giveUp(id int, f Failure) {
	if f.Node == "" {
		f.Node = r.nodeID(id)
	}
	n := r.stepNode(id)
	r.unwind(id, -1, f)
	port := ""
	if isLimit(f.Code) && len(n.Ports[workflow.PortLimit]) > 0 {
		port = workflow.PortLimit
	} else if len(n.Ports[workflow.PortError]) > 0 {
		port = workflow.PortError
	}
	r.emitStep(id, &StepFailed{Error: f, Port: port})
	if r.s.cancelled() || (r.s.Ending != nil && port != "" && !r.s.Ending.Limit) {
		return
	}
	if port == "" {
		r.fail(id, f)
		return
	}
	held := r.s.Waits.Holds(r.step(id).Group)
	for _, e := range n.Ports[port] {
		r.takeEdge(id, e, r.flowOf(id).Workflow.Edges[e].To, held)
	}
}

// fail carries a failure that nobody handled outward: to the fork whose branch it ends, to the sub-flow's step, to the run.
func (r *Run) fail(id int, f Failure) {
	sc := r.stepScope(id)
	if sc.Owner == 0 {
		if r.plan.root.Workflow.Rules.OnFailure != workflow.FailDrain {
			r.cancelScope(0, "the run failed")
		}
		return
	}
	r.cancelScope(r.step(id).Scope, "the branch failed")
	owner := sc.Owner
	if r.stepNode(owner).Kind == workflow.KindSubflow {
		r.failStep(owner, f)
		return
	}
	r.settleBlock(owner)
}
