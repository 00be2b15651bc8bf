package engine

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Names of limits and details that are not failure codes of their own.
const (
	limitRounds = "max_rounds"
)

// startToken starts the step of a token, or meets a limit and leaves the token where it is.
func (r *Run) startToken(t graph.Token) {
	sc := r.scope(t.Scope)
	f := r.graph.FlowIn(t.Scope)
	n := &f.Nodes[t.Node]
	path := r.graph.PathOf(sc.Flow, n.ID)
	if r.s.Limits.MaxRounds > 0 && sc.Flow == 0 && r.graph.Seen[t.Node] {
		r.emit(0, path, &LimitReached{Limit: limitRounds, Max: int64(r.s.Limits.MaxRounds), Detail: strconv.Itoa(r.graph.Round + 1)})
		if r.graph.Round >= r.s.Limits.MaxRounds {
			r.finish(&RunCompleted{OutputStep: r.scope(0).Last})
			return
		}
	}
	// After the rounds: a run whose last round is over needs no further step. A person who takes over is no step too many: under a limit of none the
	// run would be handed over for ever.
	if !n.Hidden && r.graph.Used >= r.s.Limits.Steps() && (sc.Flow != 0 || n.ID != r.plan.root.Workflow.Rules.Handoff) {
		r.limitAt(CodeMaxSteps, int64(r.s.Limits.Steps()), path, t.From)
		return
	}
	if !(viewer{&r.s}).roomFor(n, t) {
		r.emit(0, path, &LimitReached{Limit: CodeMaxBytes, Max: r.s.Limits.MaxBytes}) // nobody takes over: there is no room for him either
		return
	}
	id := r.graph.Steps.Len() + 1
	d := r.mem.started.put(StepStarted{
		Tokens: r.mem.tokens.one(t.ID), Kind: n.Kind, Iteration: r.graph.Flows.Counts(sc.Flow).Of(t.Node) + 1, Scope: t.Scope, From: t.From,
	})
	if most := r.s.Limits.LoopIterations(); n.Header && sc.Loops.Of(t.Node) >= most {
		r.emit(id, path, d)
		r.emit(id, path, &LimitReached{Limit: CodeMaxLoopIterations, Max: int64(most)})
		r.failStep(id, Failure{Code: CodeMaxLoopIterations, Message: fmt.Sprintf("workflow: max loop iterations exceeded (step: %s, limit: %d)", plan.LocalID(n.ID), most)})
		return
	}
	var failure *Failure
	switch n.Kind {
	case workflow.KindAgent:
		d.Agent = n.Agent.Agent
		failure = viewer{&r.s}.prompt(n, t, d)
	case workflow.KindTool:
		failure = viewer{&r.s}.toolArguments(n, t, d)
	}
	r.emit(id, path, d)
	if failure != nil {
		r.failStep(id, *failure)
		return
	}
	r.begin(id, n)
}

// begin does what a step does first.
func (r *Run) begin(id int, n *plan.Node) {
	switch n.Kind {
	case workflow.KindStart:
		r.complete(id, r.completed(StepCompleted{Same: true}), r.plan.out...)
	case workflow.KindEnd:
		r.complete(id, &StepCompleted{Same: true})
		r.endAll(id)
	case workflow.KindAgent:
		r.agents.ask(id, r.step(id).Loop.Agent.Root)
	case workflow.KindTool:
		if !r.budgets.mayCallTool(id, "") {
			return
		}
		r.emitStep(id, &ToolCalled{Call: r.names.call(id, 0, 1), Attempt: r.step(id).Loop.Tries + 1, Tool: n.Tool.Tool})
	case workflow.KindFunc:
		call := r.mem.asked.put(FuncCalled{Call: r.names.call(id, 0, 1), Attempt: r.step(id).Loop.Tries + 1, Func: n.Func.Func})
		r.emitStep(id, call)
		if n.Counter != nil {
			r.counted(id, call.Call, n.Counter)
		}
	case workflow.KindDecide:
		r.decide(id, n)
	case workflow.KindWait:
		r.openWait(id, n)
	case workflow.KindJoin:
		r.failStep(id, Failure{Code: CodeNoRoute, Message: fmt.Sprintf("%q was reached from outside the branches that it joins", n.ID)})
	case workflow.KindFork:
		r.fork(id, n)
	case workflow.KindExec:
		r.agents.exec(id)
	case workflow.KindSubflow:
		r.beginFlow(id, n)
	}
}

// decide evaluates the cases of a decide node.
func (r *Run) decide(id int, n *plan.Node) {
	for i := range n.Decide.Cases {
		c := &n.Decide.Cases[i]
		ok, err := r.holds(id, &c.When, n.Conditions[i], nil)
		if err != nil {
			r.failStep(id, Failure{Code: CodeCondition, Message: err.Error()})
			return
		}
		r.emitStep(id, r.mem.checked.put(ConditionChecked{Index: i, Op: c.When.Op, Text: c.When.Text + c.When.Func, Result: ok}))
		if ok {
			r.complete(id, r.completed(StepCompleted{Same: true}), n.CasePorts[i]...)
			return
		}
	}
	if n.Decide.Else == "" {
		r.failStep(id, Failure{Code: CodeNoRoute, Message: fmt.Sprintf("no condition of %s holds for %s", n.Title(), loop.Brief(r.stepInput(id)))})
		return
	}
	r.complete(id, r.completed(StepCompleted{Same: true}), n.ElsePort...)
}

// holds evaluates one condition as step id sees it: before it completes where done is nil, else as completed by done.
func (r *Run) holds(id int, c *workflow.Condition, compiled *expr.Condition, done *StepCompleted) (bool, error) {
	switch c.Language {
	case workflow.LangMatch:
		if done != nil {
			return expr.Match(c.Op, c.Text, r.s.outputOf(id, done).Value()), nil
		}
		return expr.Match(c.Op, c.Text, r.stepInput(id)), nil
	case workflow.LangExpr:
		return compiled.Eval(env{viewer{&r.s}, r.step(id).Scope, id, done})
	default:
		var ok bool
		err := r.plan.ask(c.Func, func(h Host) (err error) {
			ok, err = h.Condition(c.Func, viewer{&r.s}.view(id, done))
			return err
		})
		return ok, err
	}
}

func (r *Run) completed(d StepCompleted) *StepCompleted { return r.mem.completed.put(d) }

// complete ends a step with success and takes every edge of the fired ports whose guard holds.
func (r *Run) complete(id int, d *StepCompleted, ports ...string) {
	if d != r.plan.given {
		d.Ports = ports
	}
	f, n, gotos := r.flowOf(id), r.stepNode(id), r.step(id).GotoOf(d)
	r.graph.ShortenUpdate(id, d)
	if n.Kind == workflow.KindFork {
		n = &f.Nodes[n.JoinIndex]
	}
	if len(gotos) > 0 {
		d.Ports, ports = nil, nil
	}
	for _, to := range gotos {
		if failure := unreachable(f, r.stepNode(id), to); failure != nil {
			r.giveUp(id, *failure)
			return
		}
	}
	edges, failure := r.passable(id, n, ports, d)
	if failure != nil {
		r.failStep(id, *failure)
		return
	}
	r.emitStep(id, d)
	if r.s.Ending != nil && !r.s.Ending.Limit {
		return
	}
	held := r.s.Waits.Holds(r.step(id).Group)
	for _, e := range edges {
		if !r.takeEdge(id, e, f.Workflow.Edges[e].To, held) {
			return
		}
	}
	for i, to := range gotos {
		if !slices.Contains(gotos[:i], to) && !r.takeEdge(id, -1, to, held) {
			return
		}
	}
}

// unreachable tells why a step of node n cannot go to the node named to: there is none, or it stands in another branch. Nil where it can.
func unreachable(f *plan.Flow, n *plan.Node, to string) *Failure {
	idx, ok := f.Index[to]
	if !ok {
		return &Failure{Code: CodeNodeNotFound, Message: fmt.Sprintf("Node %q not found in graph", to)}
	}
	parent := f.Nodes[idx].Parent
	if fork := f.Nodes[idx].ForkIndex; fork >= 0 {
		parent = f.Nodes[fork].ID // a join is reached from inside
	}
	if parent != n.Parent {
		return &Failure{Code: CodeNoRoute, Message: fmt.Sprintf("goto from %q to %q crosses the border of a branch", n.ID, to)}
	}
	return nil
}

// passable gives the edges of the ports whose guards hold, until it is called again. Guards see the step as completed.
func (r *Run) passable(id int, n *plan.Node, ports []string, d *StepCompleted) ([]int, *Failure) {
	f := r.flowOf(id)
	out := r.passing[:0]
	for _, port := range ports {
		for i, e := range n.Ports[port] {
			if w := f.Workflow.Edges[e].When; w != nil {
				ok, err := r.holds(id, w, f.Guards[e], d)
				if err != nil {
					return nil, &Failure{Code: CodeCondition, Message: err.Error()}
				}
				r.emitStep(id, r.mem.checked.put(ConditionChecked{Index: i, Op: w.Op, Text: w.Text + w.Func, Result: ok}))
				if !ok {
					continue
				}
			}
			out = append(out, e)
			if n.First {
				break
			}
		}
	}
	r.passing = out
	return out, nil
}

// takeEdge takes one edge, or goes to a node where edge is -1, inside the scope of the step. False: the run was handed over to a person, because the
// same was said on the same way too often (S3-15).
func (r *Run) takeEdge(id, edge int, to string, held bool) bool {
	if key := r.s.trip(id, to); key != "" && r.s.Trips[key] >= maxTrips {
		r.limitAt(CodeOscillation, maxTrips, r.nodeID(id), id)
		return false
	}
	d := r.mem.edges.put(EdgeTaken{Edge: edge, To: to, Scope: r.step(id).Scope})
	f := r.flowOf(id)
	n := &f.Nodes[f.Index[to]]
	sc := r.stepScope(id)
	if n.ForkIndex < 0 || sc.Owner == 0 || r.stepNode(sc.Owner).Index != n.ForkIndex {
		d.Token = r.graph.Tokens + 1
		d.Held = held && n.Kind != workflow.KindWait && !plan.IsFreeJoin(n)
	}
	r.emitStep(id, d)
	return true
}
