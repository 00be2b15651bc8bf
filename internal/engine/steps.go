package engine

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/workflow"
)

// completeStep ends a step with success and takes every edge of the fired ports whose guard holds.
func (m *machine) completeStep(id int, d *event.StepCompleted, ports ...string) {
	if d != m.state.plan.completed {
		d.Ports = ports
	}
	f, n := m.graph.FlowOf(id), m.graph.StepNode(id)
	m.graph.ShortenUpdate(id, d)
	if n.Kind == workflow.KindFork {
		n = &f.Nodes[n.JoinIndex]
	}
	gotos, failure := m.targets(id, d)
	if failure != nil {
		m.failForGood(id, *failure)
		return
	}
	if len(gotos) > 0 {
		d.Ports, ports = nil, nil
	}
	edges, failure := m.passable(id, n, ports, d)
	if failure != nil {
		m.failStep(id, *failure)
		return
	}
	m.emitStep(id, d)
	if m.state.Ending != nil && !m.state.Ending.Limit {
		return
	}
	queued := m.state.Waits.Queues(m.graph.Step(id).Group)
	for _, e := range edges {
		if !m.takeEdge(id, e, f.Workflow.Edges[e].To, queued) {
			return
		}
	}
	for i, to := range gotos {
		if !slices.Contains(gotos[:i], to) && !m.takeEdge(id, -1, to, queued) {
			return
		}
	}
}

// targets returns the nodes that a step goes to with done; nil if its edges decide. It returns a
// failure if the step cannot go to one of them.
func (m *machine) targets(id int, done *event.StepCompleted) ([]string, *event.Failure) {
	f, gotos := m.graph.FlowOf(id), m.graph.Step(id).GotoOf(done)
	if len(gotos) == 0 {
		return nil, nil
	}
	gotos = m.known(f, done, gotos)
	for _, to := range gotos {
		if failure := unreachable(f, m.graph.StepNode(id), to); failure != nil {
			return nil, failure
		}
	}
	return gotos, nil
}

// known returns those of the nodes named gotos that the graph has, and records the others in d. If
// it has none of them, all are returned.
func (m *machine) known(f *plan.Flow, d *event.StepCompleted, gotos []string) []string {
	var known, missing []string
	for i, to := range gotos {
		if _, ok := f.Index[to]; ok {
			known = append(known, to)
		} else if !slices.Contains(gotos[:i], to) {
			missing = append(missing, to)
		}
	}
	if len(known) == 0 || len(missing) == 0 {
		return gotos
	}
	d.Goto, d.Missing = known, missing
	return known
}

// unreachable returns why a step of node n cannot go to the node named to: there is no such node,
// or it is in another branch. It returns nil if it can.
func unreachable(f *plan.Flow, n *plan.Node, to string) *event.Failure {
	idx, ok := f.Index[to]
	if !ok {
		return &event.Failure{Code: event.CodeNodeNotFound, Message: event.NotFound(to)}
	}
	parent := f.Nodes[idx].Parent
	if fork := f.Nodes[idx].ForkIndex; fork >= 0 {
		parent = f.Nodes[fork].ID // a join is reached from inside
	}
	if parent != n.Parent {
		return &event.Failure{Code: event.CodeNoRoute,
			Message: fmt.Sprintf("goto from %q to %q crosses the border of a branch",
				n.ID, to)}
	}
	return nil
}

// passable returns the edges of the ports whose guards hold. The result is valid until the next
// call. Guards see the step as completed.
func (m *machine) passable(id int, n *plan.Node, ports []string, d *event.StepCompleted) ([]int, *event.Failure) {
	f := m.graph.FlowOf(id)
	out := m.edgeBuf[:0]
	for _, port := range ports {
		for i, e := range n.Ports[port] {
			if w := f.Workflow.Edges[e].When; w != nil {
				ok, err := m.state.isTrue(id, w, f.Guards[e], d)
				if err != nil {
					return nil, &event.Failure{Code: event.CodeCondition, Message: err.Error()}
				}
				m.emitStep(id,
					m.mem.checked.alloc(event.ConditionChecked{Index: i, Op: w.Op, Text: w.Text + w.Func, Result: ok}))
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
	m.edgeBuf = out
	return out, nil
}

// takeEdge takes one edge, or goes to a node if edge is -1, inside the scope of the step. It
// returns false if the run was handed over to a person because the same transition with the same
// output occurred too often (S3-15).
func (m *machine) takeEdge(id, edge int, to string, queued bool) bool {
	if key := m.state.transitionKey(id, to); key != "" && m.state.Transitions[key] >= maxTransitions {
		m.limitAt(event.CodeOscillation, maxTransitions, m.graph.NodeID(id), id)
		return false
	}
	d := m.mem.edges.alloc(event.EdgeTaken{Edge: edge, To: to, Scope: m.graph.Step(id).Scope})
	f := m.graph.FlowOf(id)
	n := &f.Nodes[f.Index[to]]
	sc := m.graph.StepScope(id)
	if n.ForkIndex < 0 || sc.Owner == 0 || m.graph.StepNode(sc.Owner).Index != n.ForkIndex {
		d.Token = m.graph.Tokens + 1
		d.Queued = queued && n.Kind != workflow.KindWait && !plan.IsFreeJoin(n)
	}
	m.emitStep(id, d)
	return true
}

// endAll cancels whatever else runs in the scope of step id, whose end ends the scope.
func (m *machine) endAll(id int) {
	m.cancelScope(m.graph.Step(id).Scope, "the workflow ended at "+m.graph.StepNode(id).ID)
}

// failStep fails a step as a whole: its retry policy restarts it from the beginning (S4-23).
func (m *machine) failStep(id int, f event.Failure) {
	if m.graph.Step(id).Status == stepRunning && !m.handled(id, "", &f, nil, event.OfLimit) {
		m.failForGood(id, f)
	}
}

// failStart fails a step whose condition or input could not be evaluated. It is not retried: both
// are evaluated once, when a step starts, and an attempt without them would not follow the
// workflow.
func (m *machine) failStart(id int, f event.Failure) {
	if f.Node == "" {
		f.Node = m.graph.NodeID(id)
	}
	if !m.handledByProgram(id, "", &f, nil) {
		m.failForGood(id, f)
	}
}

// skip ends a step whose condition does not hold; its input is passed on.
func (m *machine) skip(id int) {
	m.emitStep(id, &event.StepSkipped{Reason: "its condition does not hold", Ports: m.state.plan.out})
	m.takePort(id, workflow.PortOut)
}

// takePort takes all edges of a port of a step that has ended without a result.
func (m *machine) takePort(id int, port string) {
	f, n := m.graph.FlowOf(id), m.graph.StepNode(id)
	if n.Kind == workflow.KindFork && port == workflow.PortOut {
		n = &f.Nodes[n.JoinIndex]
	}
	queued := m.state.Waits.Queues(m.graph.Step(id).Group)
	for _, e := range n.Ports[port] {
		if !m.takeEdge(id, e, f.Workflow.Edges[e].To, queued) {
			return
		}
	}
}

// errorPort returns the port through which the run continues after a final failure, or "" if it
// does not, and the default that replaces the output. A default that cannot be evaluated replaces
// the failure.
func (m *machine) errorPort(id int, f *event.Failure) (port string, value event.Value) {
	n := m.graph.StepNode(id)
	switch c := n.Catch; {
	case event.CodeIs(f.Code, event.OfLimit) && len(n.Ports[workflow.PortLimit]) > 0 &&
		(!n.Header || f.Code == event.CodeMaxLoopIterations && f.Node == m.graph.NodeID(id)):
		// a loop's first step: the port is for that loop's limit, not an inner one's
		return workflow.PortLimit, nil
	case c != nil && event.CodeIs(f.Code, event.OfRun):
		return "", nil
	case c != nil && c.Port == workflow.PortOut:
		if n.Default == nil {
			return workflow.PortOut, nil
		}
		seen := m.state.envOf(id)
		seen.failed = f
		v, failure := seen.evaluate("default", n.Default, seen)
		if failure != nil {
			failure.Message += " (after: " + f.Message + ")"
			failure.Node, *f = f.Node, *failure
			return "", nil
		}
		return workflow.PortOut, v
	case len(n.Ports[workflow.PortError]) > 0:
		return workflow.PortError, nil
	}
	return "", nil
}

// failForGood fails a step for good: as its node specifies, along its error edge, else by
// propagating the failure outward.
func (m *machine) failForGood(id int, f event.Failure) {
	if f.Node == "" {
		f.Node = m.graph.NodeID(id)
	}
	m.unwind(id, -1, f)
	port, value := m.errorPort(id, &f)
	m.emitStep(id, &event.StepFailed{Error: f, Port: port, Output: value})
	if m.state.cancelled() || (m.state.Ending != nil && port != "" && !m.state.Ending.Limit) {
		return
	}
	if port == "" {
		m.propagate(id, f)
		return
	}
	m.takePort(id, port)
}

// propagate propagates an unhandled failure outward: to the fork whose branch it ends, to the map
// whose item it ends, to the sub-flow's step, or to the run.
func (m *machine) propagate(id int, f event.Failure) {
	sc := m.graph.StepScope(id)
	if sc.Owner == 0 {
		if m.state.plan.root.Workflow.Rules.OnFailure != workflow.FailDrain {
			m.cancelScope(0, "the run failed")
		}
		return
	}
	m.cancelScope(m.graph.Step(id).Scope, "the branch failed")
	owner := sc.Owner
	switch m.graph.StepNode(owner).Kind {
	case workflow.KindSubflow:
		m.failStep(owner, f)
	case workflow.KindMap:
		m.failItem(owner, sc.Branch-1, f)
	default:
		m.settleBlock(owner)
	}
}

// unwind ends everything running inside frame outer of a step, or the whole step if outer is
// negative: calls are cancelled, questions about calls are closed, and every sub-agent inside
// fails, innermost first (S0-54).
func (m *machine) unwind(id, outer int, f event.Failure) {
	within := func(fr int) bool { return outer < 0 || m.graph.Step(id).Loop.Agent.Inside(fr, outer) }
	m.closeWaits(func(w *waits.Wait) bool {
		if w.Step != id {
			return false
		}
		c := m.state.Loop.Call(w.Call)
		return outer < 0 || c != nil && within(c.Frame)
	}, "cancelled")
	m.cancelCalls(func(c *loop.Call) bool { return c.Step == id && within(c.Frame) })
	m.failInside(id, outer, f)
}

// cancelBranches cancels every running step inside a fork or subflow step.
func (m *machine) cancelBranches(owner int, reason string) {
	for _, id := range m.graph.Step(owner).Block.Scopes {
		m.cancelScope(id, reason)
	}
}

func (m *machine) cancelScope(scopeID int, reason string) {
	for i := len(m.graph.Running) - 1; i >= 0; i-- { //nolint:modernize // cancelling takes steps out of the list
		if i >= len(m.graph.Running) {
			continue
		}
		if id := m.graph.Running[i]; m.graph.Step(id).Scope == scopeID {
			m.cancelStep(id, reason)
		}
	}
}

// cancelStep cancels a running step and everything that runs inside it.
func (m *machine) cancelStep(id int, reason string) {
	if m.graph.Step(id).Status != stepRunning {
		return
	}
	if m.graph.Step(id).Block != nil {
		m.cancelBranches(id, reason)
	}
	m.closeWaits(func(w *waits.Wait) bool { return w.Step == id }, "cancelled")
	m.cancelCalls(func(c *loop.Call) bool { return c.Step == id })
	m.emitStep(id, &event.StepCancelled{Reason: reason, Run: m.cancelling})
	m.cancelling = nil
}

// cancelRun cancels all steps, the first one with end, the event that cancels the run. It returns
// false if no step was running.
func (m *machine) cancelRun(end *event.RunCancelled) bool {
	m.cancelling = end
	m.cancelScope(0, "the run was cancelled")
	cancelled := m.cancelling == nil
	m.cancelling = nil
	return cancelled
}
