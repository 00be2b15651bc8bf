package graph

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// Graph is what a run knows about its graph: flows, scopes, steps and tokens, their outputs and
// what scopes see. It follows from the events step.*, edge.taken and run.created, and only the
// methods that apply them change it. L is what the loop keeps for a running step. The zero Graph is
// the graph of a run that has not started. It is not safe for concurrent use.
type Graph[L any] struct {
	Flows   Flows
	Scopes  []Scope
	Steps   Steps[L] // step n is at index n-1
	Running []int    // steps that have not ended, in start order
	Ready   []Token
	Queued  []Token // the queue of a paused run (D18)
	Tokens  int     // number of tokens so far
	Parked  int32   // number of tokens in Ready at a free join
	Started int32   // number of map items that have started
	Used    int     // number of steps that count against MaxSteps
	Round   int
	// Seen holds the nodes run in this round if rounds are counted; otherwise it is nil.
	Seen map[int]bool
	// Input is the input of the run.
	Input event.Value

	// Derived data: the compiled workflows that correspond to Flows, the texts of the recipes of
	// steps, and Input as an output.
	flows []*plan.Flow
	texts prompt.Texts
	input Output
	// wake holds the scopes that may have settled; awake holds those that closeScopes inspects.
	wake, awake []int
	works       workPool[L]
	// precomputed is the completion whose state changes are already computed; they are in its step.
	precomputed *event.StepCompleted
	// native is the program's own form of the state after the result being handled.
	native native
}

// Begin creates the graph of a new run: one flow and one scope. state is the initial typed state.
func (g *Graph[L]) Begin(root *plan.Flow, input event.Value, state typed.State) {
	g.Flows, g.Scopes, g.flows, g.Input = Flows{{}}, []Scope{{State: state}}, append(g.flows[:0], root), input
}

// NextRound starts a round: no node has run in it.
func (g *Graph[L]) NextRound() {
	g.Round++
	clear(g.Seen)
}

// HandOver drops the ready tokens, and restarts the count of steps, because a person takes over
// (S3-15).
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
	Counts Counts // number of executions by node
	// Like is the first execution of the same sub-flow at the same position, which counts for all
	// of them; 0 means that this is the first.
	Like int
}

// Flows are the flows of a run; the first is the flow of the run itself.
type Flows []FlowRun

// Scope is what one branch, one sub-flow or the run (0) may see, and its counters.
type Scope struct {
	Flow  int
	Owner int // the fork, map or subflow step; 0 for the run
	// Branch is the number of the branch or item of the owner, counted from 1; 0 for flows.
	Branch int
	// Live is the number of tokens and steps in the scope itself. Steps that own scopes live as
	// long as those scopes.
	Live    int
	Started bool
	Dead    bool // cancelled or settled: nothing more may happen in it
	// Arrived is the step whose output last reached the join; Last is the step that last completed.
	Arrived int
	Last    int
	Failed  *event.Failure
	// Base holds the outputs seen at the fork, Entries those since then (D5). There is one entry
	// per node, at the position of its first execution (S4-4).
	Base    []Entry
	Entries []Entry
	Loops   Counts
	// Caught holds the failures of the latest executions of nodes after which the run continued, by
	// node; nil means that there are none.
	Caught map[int]Caught
	// State is the typed state as the scope sees it: the state at the fork, or the initial state of
	// the sub-flow or the run, with what was written since then (D5).
	State  typed.State
	Writes map[string]write
	// shared means that Entries was handed out, so it is copied before an entry changes.
	shared bool
	// context is the content of the scope's last prompt of prior outputs.
	context prompt.Context
}

// Entry is an output that a scope sees: the output of the node with index Node, produced by step
// Step.
type Entry struct {
	Node int
	Step int
}

// write is a change of one field of the typed state, with the node that made it.
type write struct {
	Value *typed.Value
	Node  string
}

// Token is an output on its way to a node.
type Token struct {
	ID    int
	Node  int
	Scope int
	From  int // step whose output it carries; 0 is the run's input, and a negative number the item of scope -From
	Edge  int
	Group int
}

// block is an active fork: Scopes are the scopes of its branches in the current attempt, in
// declared order. For a map they are the scopes of the active items, in start order.
type block struct {
	Scopes []int
	Base   []Entry
	View   typed.State
	// settled is the number of branches, from the first on, that are known to have settled.
	settled int
	// Items are the items of a map; nil for other steps, and if there is no list.
	Items *items
}

// Step returns step number id, counted from 1.
func (g *Graph[L]) Step(id int) *Step[L] { return g.Steps.At(id - 1) }

// Scope returns scope number id.
func (g *Graph[L]) Scope(id int) *Scope { return &g.Scopes[id] }

// StepScope returns the scope of a step.
func (g *Graph[L]) StepScope(id int) *Scope { return g.Scope(g.Step(id).Scope) }

// FlowOf returns the workflow that a step belongs to.
func (g *Graph[L]) FlowOf(id int) *plan.Flow { return g.flows[g.StepScope(id).Flow] }

// FlowPlace returns the number of the workflow that a step belongs to: executions of the same
// sub-flow at the same position share a number.
func (g *Graph[L]) FlowPlace(id int) int { return g.Flows.firstLike(g.StepScope(id).Flow) }

// StepNode returns the node of a step.
func (g *Graph[L]) StepNode(id int) *plan.Node { return &g.FlowOf(id).Nodes[g.Step(id).Node] }

// FlowIn returns the workflow that a scope belongs to.
func (g *Graph[L]) FlowIn(scope int) *plan.Flow { return g.flows[g.Scope(scope).Flow] }

// Sleep clears the list of scopes that may have settled.
func (g *Graph[L]) Sleep() { g.wake = g.wake[:0] }

// TakeAwake returns the scopes that may have settled since the last call, in order. The list is
// valid until the next call.
func (g *Graph[L]) TakeAwake() []int {
	g.wake, g.awake = g.awake[:0], g.wake
	slices.Sort(g.awake)
	g.awake = slices.Compact(g.awake)
	return g.awake
}

// NodeID returns the node's id as events show it: a path inside sub-flows.
func (g *Graph[L]) NodeID(id int) string { return g.PathOf(g.StepScope(id).Flow, g.StepNode(id).ID) }

// PathOf returns the id of a node of flow number flow as events show it.
func (g *Graph[L]) PathOf(flow int, node string) string {
	for flow > 0 {
		owner := g.Flows[flow].Step
		node = g.StepNode(owner).ID + "/" + node
		flow = g.StepScope(owner).Flow
	}
	return node
}

// WakeAll marks all scopes for inspection: the past of a forked run may end before the owners of
// settled scopes continued.
func (g *Graph[L]) WakeAll() {
	for id := range g.Scopes {
		g.wake = append(g.wake, id)
	}
}

// ResetUsed restarts the count of the run's steps.
func (g *Graph[L]) ResetUsed() { g.Used = 0 }
