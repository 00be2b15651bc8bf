package graph

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Graph is what a run knows of its graph: flows, scopes, steps and tokens, what they gave and what scopes see. It follows from the events step.*, edge.taken and run.created, and only
// the methods that apply them change it. L is what the loop keeps of a running step. The zero Graph is that of a run that has not begun. Not safe for concurrent use.
type Graph[L any] struct {
	Flows   Flows
	Scopes  []Scope
	Steps   Steps[L] // step n is at n-1
	Running []int    // steps that have not ended, in order of start
	Ready   []Token
	Queued  []Token // the queue of a paused run (D18)
	Tokens  int     // tokens made so far
	Parked  int32   // tokens of Ready that are at a free join
	Begun   int32   // items of maps that began
	Used    int     // steps that count against MaxSteps
	Round   int
	// Seen are the nodes run in this round, where rounds are counted; nil: they are not.
	Seen map[int]bool
	// Input is what the run was given.
	Input event.Value

	// What follows from the rest: the compiled workflows beside Flows, the texts of the recipes of steps, and Input as an output.
	flows []*plan.Flow
	texts prompt.Texts
	input Output
	// wake are the scopes that may have settled, awake those that closeScopes looks at.
	wake, awake []int
	works       works[L]
	// completing is the completion whose changes of the state are made already: those of its step.
	completing *event.StepCompleted
	// native is what the result that is handled says of the state after it.
	native native
}

// Begin makes the graph of a new run: one flow and one scope. state is its first typed state.
func (g *Graph[L]) Begin(root *plan.Flow, input event.Value, state typed.State) {
	g.Flows, g.Scopes, g.flows, g.Input = Flows{{}}, []Scope{{State: state}}, append(g.flows[:0], root), input
}

// NextRound begins a round: no node has run in it.
func (g *Graph[L]) NextRound() {
	g.Round++
	clear(g.Seen)
}

// HandOver drops the ready tokens, and counts steps from now on: a person takes over (S3-15).
func (g *Graph[L]) HandOver() {
	for _, t := range g.Ready {
		g.Scope(t.Scope).Live--
	}
	g.Used, g.Ready, g.Parked = 0, nil, 0
}

// FlowRun is one execution of a workflow's graph: the run itself (0) or a sub-flow.
type FlowRun struct {
	// Step is the subflow step; 0 for the run.
	Step   int
	Counts Counts // executions by node
	// Like is the first execution of the same sub-flow at the same place, which counts for all of them; 0: this one is.
	Like int
}

// Flows are the flows of a run; the first is that of the run itself.
type Flows []FlowRun

// Scope is what one branch, one sub-flow or the run (0) may see, and what it counts.
type Scope struct {
	Flow  int
	Owner int // the fork, map or subflow step; 0 for the run
	// Branch counts the branches or items of the owner from 1; 0 for flows.
	Branch int
	// Live counts tokens and steps in the scope itself. Steps that own scopes live as long as those.
	Live    int
	Started bool
	Dead    bool // cancelled or settled: nothing may happen in it any more
	// Arrived is the step whose output reached the join last; Last the step that completed last.
	Arrived int
	Last    int
	Failed  *event.Failure
	// Base are the outputs seen at the fork, Entries those since (D5). One entry a node, at the place of its first execution (S4-4).
	Base    []Entry
	Entries []Entry
	Loops   Counts
	// Caught are the failures of the latest executions of nodes after which the run went on, by node; nil: there are none.
	Caught map[int]Caught
	// State is the typed state as the scope sees it: that at the fork, or the one with which the sub-flow or the run began, with what was written since (D5).
	State  typed.State
	Writes map[string]write
	// shared: Entries were handed out, so they are copied before one of them changes.
	shared bool
	// context is what the scope's last prompt of prior outputs showed.
	context prompt.Context
}

// Entry is an output that a scope sees: that of the node with this index, given by this step.
type Entry struct {
	Node int
	Step int
}

// write is a change of one field of the typed state and who made it.
type write struct {
	Value *typed.Value
	Node  string
}

// Token is an output on its way to a node.
type Token struct {
	ID    int
	Node  int
	Scope int
	From  int // step whose output it carries; 0: the run's input; below 0: the item of scope -From
	Edge  int
	Group int
}

// block is a fork at work: Scopes are those of its branches, in declared order, of the present attempt. Of a map they are those of the items at work, in the order in which they began.
type block struct {
	Scopes []int
	Base   []Entry
	View   typed.State
	// settled counts the branches, from the first on, that are known to have settled.
	settled int
	// Items are those of a map; nil for other steps, and where there is no list.
	Items *items
}

// Step gives step number id, counted from 1.
func (g *Graph[L]) Step(id int) *Step[L] { return g.Steps.At(id - 1) }

// Scope gives a scope.
func (g *Graph[L]) Scope(id int) *Scope { return &g.Scopes[id] }

// StepScope gives the scope of a step.
func (g *Graph[L]) StepScope(id int) *Scope { return g.Scope(g.Step(id).Scope) }

// FlowOf gives the workflow that a step belongs to.
func (g *Graph[L]) FlowOf(id int) *plan.Flow { return g.flows[g.StepScope(id).Flow] }

// FlowPlace numbers the workflow that a step belongs to: executions of the same sub-flow at the same place have one number.
func (g *Graph[L]) FlowPlace(id int) int { return g.Flows.first(g.StepScope(id).Flow) }

// StepNode gives the node of a step.
func (g *Graph[L]) StepNode(id int) *plan.Node { return &g.FlowOf(id).Nodes[g.Step(id).Node] }

// FlowIn gives the workflow that a scope belongs to.
func (g *Graph[L]) FlowIn(scope int) *plan.Flow { return g.flows[g.Scope(scope).Flow] }

// Sleep forgets which scopes may have settled.
func (g *Graph[L]) Sleep() { g.wake = g.wake[:0] }

// TakeAwake gives the scopes that may have settled since it was called last, in order. The list is valid until it is called again.
func (g *Graph[L]) TakeAwake() []int {
	g.wake, g.awake = g.awake[:0], g.wake
	slices.Sort(g.awake)
	g.awake = slices.Compact(g.awake)
	return g.awake
}

// NodeID is the node's id as events show it: inside sub-flows a path.
func (g *Graph[L]) NodeID(id int) string { return g.PathOf(g.StepScope(id).Flow, g.StepNode(id).ID) }

// PathOf is the id of a node of flow number flow as events show it.
func (g *Graph[L]) PathOf(flow int, node string) string {
	for flow > 0 {
		owner := g.Flows[flow].Step
		node = g.StepNode(owner).ID + "/" + node
		flow = g.StepScope(owner).Flow
	}
	return node
}

// WakeAll has all scopes looked at: the past of a forked run may end before the owners of settled scopes went on.
func (g *Graph[L]) WakeAll() {
	for id := range g.Scopes {
		g.wake = append(g.wake, id)
	}
}

// ResetUsed counts the steps of the run from now on.
func (g *Graph[L]) ResetUsed() { g.Used = 0 }
