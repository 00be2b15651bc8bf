package engine

import (
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// StepView is one step as it stands, for projections of Go graphs.
type StepView struct {
	// Node is the step's node; Hidden and Kind are the node's.
	Node   string
	Hidden bool
	Kind   workflow.Kind
	// Nested: the step is in a sub-flow, whose state is another one.
	Nested bool
	// Outer is the step of the graph itself that contains a nested one; the step itself where it is not nested.
	Outer int
	// Block is the step of the fork in whose branch this one stands, 0 outside.
	Block int
	// State is the typed state as the step's scope sees it now (D5).
	State typed.State
	// Output is nil before the step has completed.
	Output Value
}

// StepView shows a step; false where there is none of that number.
func (r *Run) StepView(id int) (StepView, bool) {
	g := r.graph
	v, ok := r.StepPlace(id)
	if ok {
		st := g.Step(id)
		v.State, v.Output = g.Scope(st.Scope).State, st.Output.Value()
	}
	return v, ok
}

// StepPlace is [Run.StepView] without State and Output: what never changes once the step has started.
func (r *Run) StepPlace(id int) (StepView, bool) {
	g := r.graph
	if id < 1 || id > g.Steps.Len() {
		return StepView{}, false
	}
	st, n := g.Step(id), g.StepNode(id)
	sc := g.Scope(st.Scope)
	outer := id
	for g.StepScope(outer).Flow != 0 {
		outer = g.Flows[g.StepScope(outer).Flow].Step
	}
	return StepView{Node: n.ID, Hidden: n.Hidden, Kind: n.Kind, Nested: sc.Flow != 0, Outer: outer, Block: sc.Owner}, true
}

// HidesLosers tells whether a fork of a workflow hides what those branches gave that did not reach the join (S2-57).
func HidesLosers(w *workflow.Workflow, f *workflow.Fork) bool { return graph.HidesLosers(w, f) }

// Outputs gives the outputs that the run itself sees, by node id; nil where there are none. The map is the caller's, the values are not.
func (r *Run) Outputs() map[string]Value {
	g := r.graph
	if len(g.Scopes) == 0 {
		return nil
	}
	return g.Outputs(0)
}

// IsBusy tells whether the run goes on by itself: a call is out, or is to be tried again. A wait's deadline does not count.
func (r *Run) IsBusy() bool {
	if r.state.Status.Ended() || r.state.Status == StatusPending {
		return false
	}
	return r.state.Loop.Out() > 0 || r.state.Loop.Due() > 0 || r.state.Loop.Sleeping() > 0
}

// Pending gives the nodes of the run's own graph that are at work or that would run next: running steps in the order of their start, then the queue
// (S2-63). Steps that wait for a person, blocks around other steps and hidden nodes are left out.
func (r *Run) Pending() []string {
	g := r.graph
	var out []string
	add := func(scopeID, idx int) {
		if n := &g.FlowIn(scopeID).Nodes[idx]; g.Scope(scopeID).Flow == 0 && !n.Hidden {
			out = append(out, n.ID)
		}
	}
	for _, id := range g.Running {
		if st := g.Step(id); st.Wait == "" && (st.Block == nil || len(st.Block.Scopes) == 0) {
			add(st.Scope, st.Node)
		}
	}
	for _, t := range g.Ready {
		add(t.Scope, t.Node)
	}
	for _, t := range g.Queued {
		add(t.Scope, t.Node)
	}
	return out
}
