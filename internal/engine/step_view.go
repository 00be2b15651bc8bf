package engine

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// StepView is the current state of one step, for projections of Go graphs.
type StepView struct {
	// Node is the step's node; Hidden and Kind are the node's.
	Node   string
	Hidden bool
	Kind   workflow.Kind
	// Nested reports whether the step is in a sub-flow, which has a state of its own.
	Nested bool
	// Outer is the step of the graph itself that contains a nested step, or the step itself if it
	// is not nested.
	Outer int
	// Block is the step of the fork whose branch contains this step; 0 if there is none.
	Block int
	// State is the typed state as the step's scope currently sees it (D5).
	State typed.State
	// Output is nil until the step has completed.
	Output event.Value
}

// StepView returns a view of a step, or false if there is no step with that number.
func (r *Run) StepView(id int) (StepView, bool) {
	g := r.graph
	v, ok := r.StepPlace(id)
	if ok {
		st := g.Step(id)
		v.State, v.Output = g.Scope(st.Scope).State, st.Output.Value()
	}
	return v, ok
}

// StepPlace is [Run.StepView] without State and Output: only what never changes once the step has
// started.
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
	return StepView{Node: n.ID, Hidden: n.Hidden, Kind: n.Kind, Nested: sc.Flow != 0, Outer: outer, Block: sc.Owner},
		true
}

// HidesLosers reports whether a fork of a workflow hides the outputs of branches that did not reach
// the join (S2-57).
func HidesLosers(w *workflow.Workflow, f *workflow.Fork) bool { return graph.HidesLosers(w, f) }

// Outputs returns the outputs that the run itself sees, by node id; nil if there are none. The
// caller owns the map, but not the values.
func (r *Run) Outputs() map[string]event.Value {
	g := r.graph
	if len(g.Scopes) == 0 {
		return nil
	}
	return g.Outputs(0)
}

// IsBusy reports whether the run can continue by itself: a call is in flight or is to be retried.
// The deadline of a wait does not count.
func (r *Run) IsBusy() bool {
	if r.state.Status.Ended() || r.state.Status == event.StatusPending {
		return false
	}
	return r.state.Loop.Out() > 0 || r.state.Loop.Due() > 0 || r.state.Timers.Retries() > 0
}

// Pending returns the nodes of the run's own graph that are running or would run next: running
// steps in the order of their start, then the queue (S2-63). It leaves out steps that wait for a
// person, blocks around other steps and hidden nodes.
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
