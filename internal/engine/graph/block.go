package graph

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Outcome is the state of a branch as seen by its block.
type Outcome uint8

// The outcomes of a branch.
const (
	branchRunning Outcome = iota
	BranchArrived         // its output reached the join
	BranchEnded           // ended before the join: not taken, or without a successor
	branchFailed
)

// Outcome returns the current outcome of the branch of a scope.
func (sc *Scope) Outcome() Outcome {
	switch {
	case sc.Failed != nil:
		return branchFailed
	case sc.Live > 0:
		return branchRunning
	case sc.Arrived > 0:
		return BranchArrived
	default:
		return BranchEnded
	}
}

// Verdict is how a block proceeds.
type Verdict uint8

// The verdicts on a block.
const (
	blockWaits Verdict = iota
	BlockCompletes
	BlockFails
	BlockSkips // no branch reached the join
)

// Verdict determines how a fork proceeds, given the state of its branches (D12): Until specifies
// which branches it waits for, OnFailure what a failed branch does. failed are the scopes of the
// failed branches.
func (g *Graph[L]) Verdict(id int) (v Verdict, failed []int) {
	st, n := g.Step(id), g.StepNode(id)
	if st.Status != event.Running || st.Block == nil || st.Block.Scopes == nil {
		return blockWaits, nil
	}
	var count [branchFailed + 1]int
	for _, s := range st.Block.Scopes {
		o := g.Scope(s).Outcome()
		count[o]++
		if o != branchFailed {
			continue
		}
		if event.CodeIs(g.Scope(s).Failed.Code, event.OfRun) {
			return BlockFails, []int{s} // no other branch can compensate
		}
		failed = append(failed, s)
	}
	need := 0
	switch n.Fork.Until {
	case workflow.UntilAny, workflow.UntilRace:
		need = 1
	case workflow.UntilQuorum:
		need = n.Fork.Quorum
	}
	switch {
	case need > 0 && count[BranchArrived] >= need:
		return BlockCompletes, nil
	case n.Fork.Until == workflow.UntilRace && len(failed) > 0,
		need > 0 && len(failed) > 0 && count[BranchArrived]+count[branchRunning] < need,
		need == 0 && len(failed) > 0 && n.Fork.OnFailure != workflow.FailCollect &&
			n.Fork.OnFailure != workflow.FailContinue:
		return BlockFails, failed
	case count[branchRunning] > 0:
		return blockWaits, nil
	case len(failed) > 0 && (n.Fork.OnFailure != workflow.FailContinue || count[BranchArrived] == 0):
		return BlockFails, failed
	case count[BranchArrived] == 0:
		return BlockSkips, nil
	}
	return BlockCompletes, nil
}

// Awaits reports whether a fork that waits for all of its branches still waits for a branch other
// than sc, which has just settled without failing. It inspects each branch once over the life of
// the fork, however many settle.
func (g *Graph[L]) Awaits(id int, sc *Scope) bool {
	b, until := g.Step(id).Block, g.StepNode(id).Fork.Until
	if sc.Failed != nil || Losers(until) {
		return false
	}
	for b.settled < len(b.Scopes) && g.Scope(b.Scopes[b.settled]).Outcome() != branchRunning {
		b.settled++
	}
	return b.settled < len(b.Scopes)
}

// BlockOutput returns the output of a fork whose branches have settled (S4-34), or of a map whose
// items have ended.
func (g *Graph[L]) BlockOutput(step int) Output {
	f := g.FlowOf(step)
	n := g.StepNode(step)
	if n.Kind == workflow.KindMap {
		// completes with failures if the program skips its own
		return g.itemList(step, n.Map.OnItemError == workflow.FailCollect)
	}
	if n.Fork.Shape != workflow.ShapeMap {
		return Output{value: expr.Entry{Children: Sight[L]{g: g, f: f}.childrenAsLeft(step)}.JSON()}
	}
	var out []expr.Member
	for _, s := range g.Step(step).Block.Scopes {
		sc := g.Scope(s)
		if sc.Arrived > 0 && g.Scope(s).Outcome() == BranchArrived {
			out = append(out, expr.Member{Name: n.Fork.Branches[sc.Branch-1].ID, Value: g.Value(sc.Arrived)})
		}
	}
	return Output{value: expr.Object(out)}
}

// BlockSize returns the size of the result of [Graph.BlockOutput].
func (g *Graph[L]) BlockSize(step int) int64 {
	switch n := g.StepNode(step); {
	case n.Kind == workflow.KindMap:
		return g.itemsSize(step)
	case n.Fork.Shape != workflow.ShapeMap:
		return childrenSize(Sight[L]{g: g, f: g.FlowOf(step)}.childrenAsLeft(step))
	}
	var n int64
	for _, s := range g.Step(step).Block.Scopes {
		if sc := g.Scope(s); sc.Arrived > 0 && g.Scope(s).Outcome() == BranchArrived {
			n += g.Step(sc.Arrived).Output.Size()
		}
	}
	return n
}

func childrenSize(children []expr.Child) int64 {
	var n int64
	for _, c := range children {
		n += int64(len(c.Entry.Output)) + childrenSize(c.Entry.Children)
	}
	return n
}

// writer returns the node that changed a field in step id: for a block, the last node inside it
// that did.
func writer[L any](g *Graph[L], id int, field string) string {
	if b := g.Step(id).Block; b != nil && g.StepNode(id).Kind == workflow.KindFork {
		for _, s := range slices.Backward(b.Scopes) {
			if w, ok := g.Scope(s).Writes[field]; ok {
				return w.Node
			}
		}
	}
	return g.StepNode(id).ID
}

// HidesLosers reports whether a fork of a workflow hides the outputs of losers, so that they count
// as little as their changes (S2-57).
func HidesLosers(w *workflow.Workflow, f *workflow.Fork) bool {
	return w.Rules.HideLosers && Losers(f.Until)
}

// Losers reports whether a fork with the given Until has branches that do not count.
func Losers(until string) bool {
	return until == workflow.UntilAny || until == workflow.UntilRace || until == workflow.UntilQuorum
}
