package engine

import (
	"encoding/json"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/workflow"
)

// blocks decides how steps that contain others (parallel blocks, maps and sub-flows) start, when
// they end, and with what result.
type blocks struct {
	*recorder
	steps blocksSteps
}

// blocksSteps ends steps.
type blocksSteps interface {
	complete(step int, d *StepCompleted, ports ...string)
	failStep(step int, f Failure)
	failForGood(step int, f Failure)
	cancelBranches(step int, reason string)
}

// closeScopes checks scopes in which nothing is active any more and lets their owners continue.
func (b *blocks) closeScopes() {
	for _, id := range b.graph.TakeAwake() {
		sc := b.graph.Scope(id)
		if sc.Owner == 0 || b.graph.Step(sc.Owner).Status != stepRunning || b.state.isFailing() || sc.Dead &&
			b.graph.StepNode(sc.Owner).Kind != workflow.KindMap {
			continue
		}
		switch b.graph.StepNode(sc.Owner).Kind {
		case workflow.KindSubflow:
			if sc.Live == 0 && !b.state.Loop.IsAsleep(sc.Owner) { // not started while it waits for its next attempt
				b.endFlow(sc.Owner)
			}
		case workflow.KindMap:
			b.closeItem(sc.Owner, id)
		default:
			if !b.graph.Awaits(sc.Owner, sc) {
				b.settleBlock(sc.Owner)
			}
		}
	}
}

// fork starts the branches of a fork, each in its own scope.
func (b *blocks) fork(id int, n *plan.Node) {
	f := b.graph.FlowOf(id)
	b.expect(3 * len(n.Fork.Branches)) // an edge for each, and the start of its first step
	for i, branch := range n.Fork.Branches {
		scopeID := len(b.graph.Scopes)
		for _, e := range n.Ports[branch.ID] {
			to := f.Workflow.Edges[e].To
			d := b.mem.edges.alloc(EdgeTaken{Edge: e, To: to, Scope: scopeID, Branch: i + 1})
			if f.Index[to] != n.JoinIndex {
				d.Token = b.graph.Tokens + 1
			}
			b.emitStep(id, d)
		}
	}
	b.settleBlock(id)
}

// settleBlock ends a fork when the state of its branches requires it (D12).
func (b *blocks) settleBlock(id int) {
	switch verdict, failed := b.graph.Verdict(id); verdict {
	case graph.BlockCompletes:
		b.completeBlock(id)
	case graph.BlockFails:
		b.failBlock(id, failed)
	case graph.BlockSkips:
		b.emitStep(id, &StepSkipped{Reason: "no branch reached " + b.graph.StepNode(id).Fork.Join})
	}
}

func (b *blocks) completeBlock(id int) {
	n := b.graph.StepNode(id)
	update, failure := viewer{&b.state}.mergeBranches(id)
	if failure == nil && b.state.Limits.MaxBytes > 0 {
		failure = b.state.checkSize(b.graph.BlockSize(id))
	}
	if failure == nil {
		var merged map[string]Value
		if merged, failure = b.state.mergeConcurrent(id, b.graph.Step(id).Block.View, update, nil); merged != nil {
			update = merged
		}
	}
	if failure != nil {
		b.steps.cancelBranches(id, "the block failed")
		b.steps.failStep(id, *failure)
		return
	}
	b.steps.cancelBranches(id, "another branch of "+n.ID+" settled the block")
	b.steps.complete(id, &StepCompleted{Update: update}, b.state.plan.out...)
}

// failBlock fails a fork with the failure of the first failed branch in declared order.
func (b *blocks) failBlock(id int, failed []int) {
	f := *b.graph.Scope(failed[0]).Failed
	if n := b.graph.StepNode(id); (n.Fork.Until == workflow.UntilAny || n.Fork.Until == workflow.UntilQuorum) &&
		!event.CodeIs(f.Code, event.OfRun) {
		f.Message = fmt.Sprintf("%d of %d branches failed; the first: %s", len(failed), len(n.Fork.Branches), f.Message)
	}
	b.steps.cancelBranches(id, "another branch of "+b.graph.StepNode(id).ID+" failed")
	b.steps.failStep(id, f)
}

// beginFlow enters the graph of a sub-flow. The initial state that the program returns is recorded
// with the edge (D4).
func (b *blocks) beginFlow(id int, n *plan.Node) {
	st := b.graph.Step(id)
	d := &EdgeTaken{Edge: -1, To: b.graph.FlowIn(st.Block.Scopes[0]).Workflow.Entry, Token: b.graph.Tokens + 1,
		Scope: st.Block.Scopes[0]}
	if name := n.Subflow.Input; name != "" {
		v, err := b.state.plan.askValue(name, func(h Host) (Value, error) {
			return h.Value(name, viewer{&b.state}.view(id, nil))
		})
		if err == nil {
			if err = json.Unmarshal(v, &d.State); err != nil {
				err = fmt.Errorf("function %q returned no state: %w", name, err)
			}
		}
		if err != nil {
			b.steps.failStep(id, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
	}
	b.emitStep(id, d)
}

// endFlow completes a sub-flow in which nothing is active any more.
func (b *blocks) endFlow(id int) {
	n, d := b.graph.StepNode(id), &StepCompleted{}
	if b.graph.FlowIn(b.graph.Step(id).Block.Scopes[0]).Workflow.Rules.StateFlows {
		last := b.graph.FlowState(id)
		if name := n.Subflow.Mapper; name == "" {
			d.Output = last
		} else {
			update, err := b.state.plan.askUpdate(name, func(h Host) (map[string]Value, error) {
				return h.Merge(name, map[string]Value{n.ID: last}, viewer{&b.state}.view(id, nil))
			})
			if err != nil {
				b.steps.failStep(id, Failure{Code: CodeFunc, Message: err.Error()})
				return
			}
			d.Update = update
		}
	}
	b.steps.complete(id, d, b.state.plan.out...)
}
