package engine

import (
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// graph is what a run knows of its graph: flows, scopes, steps and tokens, what they gave and what scopes see. It follows from the events step.*, edge.taken and run.created, and only
// the functions that apply them change it.
type graph struct {
	Flows   flowList
	Scopes  []scope
	Steps   stepList // step n is at n-1
	Running []int    // steps that have not ended, in order of start
	Ready   []token
	Held    []token // the queue of a paused run (D18)
	Tokens  int     // tokens made so far
	Parked  int     // tokens of Ready that are at a free join
	Used    int     // steps that count against MaxSteps
	Round   int
	// Seen are the nodes run in this round, where rounds are counted; nil: they are not.
	Seen map[int]bool
	// Input is what the run was given.
	Input Value

	// What follows from the rest: the compiled workflows beside Flows, the texts of the recipes of steps, and Input as an output.
	flows []*plan.Flow
	texts prompt.Texts
	input output
	// wake are the scopes that may have settled, awake those that closeScopes looks at.
	wake, awake []int
	works       works
	// completing is the completion whose changes of the state are made already: those of its step.
	completing *StepCompleted
	// native is what the result that is handled says of the state after it.
	native native
}

// begin makes the graph of a new run: one flow and one scope. state is its first typed state.
func (g *graph) begin(root *plan.Flow, input Value, state typed.State) {
	g.Flows, g.Scopes, g.flows, g.Input = flowList{{}}, []scope{{State: state}}, append(g.flows[:0], root), input
}

// nextRound begins a round: no node has run in it.
func (g *graph) nextRound() {
	g.Round++
	clear(g.Seen)
}

// handOver drops the ready tokens, and counts steps from now on: a person takes over (S3-15).
func (g *graph) handOver() {
	for _, t := range g.Ready {
		g.scope(t.Scope).Live--
	}
	g.Used, g.Ready, g.Parked = 0, nil, 0
}

// flowRun is one execution of a workflow's graph: the run itself (0) or a sub-flow.
type flowRun struct {
	// Step is the subflow step; 0 for the run.
	Step   int
	Counts counts // executions by node
	// Like is the first execution of the same sub-flow at the same place, which counts for all of them; 0: this one is.
	Like int
}

// flowList are the flows of a run; the first is that of the run itself.
type flowList []flowRun

// scope is what one branch, one sub-flow or the run (0) may see, and what it counts.
type scope struct {
	Flow  int
	Owner int // the fork or subflow step; 0 for the run
	// Branch counts the branches of the owner from 1; 0 for flows.
	Branch int
	// Live counts tokens and steps in the scope itself. Steps that own scopes live as long as those.
	Live    int
	Started bool
	Dead    bool // cancelled or settled: nothing may happen in it any more
	// Arrived is the step whose output reached the join last; Last the step that completed last.
	Arrived int
	Last    int
	Failed  *Failure
	// Base are the outputs seen at the fork, Entries those since (D5). One entry a node, at the place of its first execution (S4-4).
	Base    []entry
	Entries []entry
	Loops   counts
	// State is the typed state as the scope sees it: that at the fork, or the one with which the sub-flow or the run began, with what was written since (D5).
	State  typed.State
	Writes map[string]write
	// shared: Entries were handed out, so they are copied before one of them changes.
	shared bool
	// context is what the scope's last prompt of prior outputs showed.
	context prompt.Context
}

type entry struct {
	Node int
	Step int
}

// write is a change of one field of the typed state and who made it.
type write struct {
	Value *typed.Value
	Node  string
}

type token struct {
	ID    int
	Node  int
	Scope int
	From  int // step whose output it carries; 0: the run's input
	Edge  int
	Group int
}

type stepStatus uint8

const (
	stepRunning stepStatus = iota
	stepCompleted
	stepFailed
	stepCancelled
	stepSkipped
)

// block is a fork at work: Scopes are those of its branches, in declared order, of the present attempt.
type block struct {
	Scopes []int
	Base   []entry
	View   typed.State
	// settled counts the branches, from the first on, that are known to have settled.
	settled int
}

func (g *graph) step(id int) *step          { return g.Steps.at(id - 1) }
func (g *graph) scope(id int) *scope        { return &g.Scopes[id] }
func (g *graph) stepScope(id int) *scope    { return g.scope(g.step(id).Scope) }
func (g *graph) flowOf(id int) *plan.Flow   { return g.flows[g.stepScope(id).Flow] }
func (g *graph) stepNode(id int) *plan.Node { return &g.flowOf(id).Nodes[g.step(id).Node] }
func (g *graph) nodeOf(t token) *plan.Node  { return &g.flows[g.scope(t.Scope).Flow].Nodes[t.Node] }
func (g *graph) idle(scope int)             { g.wake = append(g.wake, scope) }

// nodeID is the node's id as events show it: inside sub-flows a path.
func (g *graph) nodeID(id int) string { return g.pathOf(g.stepScope(id).Flow, g.stepNode(id).ID) }

func (g *graph) pathOf(flow int, node string) string {
	for flow > 0 {
		owner := g.Flows[flow].Step
		node = g.stepNode(owner).ID + "/" + node
		flow = g.stepScope(owner).Flow
	}
	return node
}
