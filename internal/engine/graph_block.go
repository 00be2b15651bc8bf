package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// outcome of a branch as its block sees it.
type outcome uint8

const (
	branchRunning outcome = iota
	branchArrived
	branchEnded // ended before the join: not taken, or without successor
	branchFailed
)

func (sc *scope) outcome() outcome {
	switch {
	case sc.Failed != nil:
		return branchFailed
	case sc.Live > 0:
		return branchRunning
	case sc.Arrived > 0:
		return branchArrived
	default:
		return branchEnded
	}
}

// verdict is what becomes of a block.
type verdict uint8

const (
	blockWaits verdict = iota
	blockCompletes
	blockFails
	blockSkips // no branch reached the join
)

// verdict tells what the branches of a fork say (D12): by Until which branches are waited for, by OnFailure what a failed one does. failed are the scopes of those that failed.
func (g *graph) verdict(id int) (v verdict, failed []int) {
	st, n := g.step(id), g.stepNode(id)
	if st.Status != stepRunning || st.Block == nil || st.Block.Scopes == nil {
		return blockWaits, nil
	}
	var count [branchFailed + 1]int
	for _, s := range st.Block.Scopes {
		o := g.scope(s).outcome()
		count[o]++
		if o == branchFailed {
			failed = append(failed, s)
		}
	}
	need := 0
	switch n.Fork.Until {
	case workflow.UntilAny, workflow.UntilRace:
		need = 1
	case workflow.UntilQuorum:
		need = n.Fork.Quorum
	}
	switch {
	case need > 0 && count[branchArrived] >= need:
		return blockCompletes, nil
	case n.Fork.Until == workflow.UntilRace && len(failed) > 0,
		need > 0 && len(failed) > 0 && count[branchArrived]+count[branchRunning] < need,
		need == 0 && len(failed) > 0 && n.Fork.OnFailure != workflow.FailCollect && n.Fork.OnFailure != workflow.FailContinue:
		return blockFails, failed
	case count[branchRunning] > 0:
		return blockWaits, nil
	case len(failed) > 0 && (n.Fork.OnFailure != workflow.FailContinue || count[branchArrived] == 0):
		return blockFails, failed
	case count[branchArrived] == 0:
		return blockSkips, nil
	}
	return blockCompletes, nil
}

// awaits tells whether a fork that waits for all of its branches still waits for another one than sc, which has just settled without failing. It
// looks at each branch once over the life of the fork, however many settle.
func (g *graph) awaits(id int, sc *scope) bool {
	b, until := g.step(id).Block, g.stepNode(id).Fork.Until
	if sc.Failed != nil || losers(until) {
		return false
	}
	for b.settled < len(b.Scopes) && g.scope(b.Scopes[b.settled]).outcome() != branchRunning {
		b.settled++
	}
	return b.settled < len(b.Scopes)
}

// blockOutput is the output of a fork whose branches have settled (S4-34).
func (g *graph) blockOutput(step int) Value {
	f := g.flowOf(step)
	n := g.stepNode(step)
	if n.Fork.Shape != workflow.ShapeMap {
		return expr.Entry{Children: sight{g: g, f: f}.left(step)}.JSON()
	}
	var out []field
	for _, s := range g.step(step).Block.Scopes {
		sc := g.scope(s)
		if sc.Arrived > 0 && g.scope(s).outcome() == branchArrived {
			out = append(out, field{n.Fork.Branches[sc.Branch-1].ID, g.value(sc.Arrived)})
		}
	}
	return object(out)
}

// blockSize measures what blockOutput would make.
func (g *graph) blockSize(step int) int64 {
	if g.stepNode(step).Fork.Shape != workflow.ShapeMap {
		return childrenSize(sight{g: g, f: g.flowOf(step)}.left(step))
	}
	var n int64
	for _, s := range g.step(step).Block.Scopes {
		if sc := g.scope(s); sc.Arrived > 0 && g.scope(s).outcome() == branchArrived {
			n += g.step(sc.Arrived).Output.size()
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

// writer names the node that changed a field by step id: for a block, the last one inside it that did.
func (g *graph) writer(id int, field string) string {
	if b := g.step(id).Block; b != nil && g.stepNode(id).Kind == workflow.KindFork {
		for _, s := range slices.Backward(b.Scopes) {
			if w, ok := g.scope(s).Writes[field]; ok {
				return w.Node
			}
		}
	}
	return g.stepNode(id).ID
}
