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

// steps decides what follows from the end of a step: which edges are taken, how a failure
// propagates, and what is cancelled.
type steps struct {
	*recorder
	commands *commander
	// end ends the run because of a limit.
	end interface {
		limitAt(code string, most int64, path string, from int)
	}
	// people closes the open waits that match.
	people interface {
		closeWaits(match func(*waits.Wait) bool, reason string)
	}
	retries stepRetries
	// agents ends the sub-agents inside a frame of a step.
	agents interface {
		failInside(step, outer int, f Failure)
	}
	// blocks ends a fork whose branch has failed, if that settles it.
	blocks interface {
		settleBlock(step int)
		// failItem ends a map whose item has failed, if that settles it.
		failItem(step, item int, f Failure)
	}
	// edgeBuf is the last result of passable.
	edgeBuf []int
	// cancelling is the cancellation of the whole run that the next cancelled step records.
	cancelling *RunCancelled
}

// stepRetries decides whether a failed step is retried.
type stepRetries interface {
	// handled applies the node's error handler or its retry policy, which does not apply to codes
	// of the class final. It returns false if the step fails. key is empty.
	handled(step int, key string, f *Failure, cause error, final event.Class) bool
	handledByProgram(step int, key string, f *Failure, cause error) bool
}

// complete ends a step with success and takes every edge of the fired ports whose guard holds.
func (s *steps) complete(id int, d *StepCompleted, ports ...string) {
	if d != s.state.plan.completed {
		d.Ports = ports
	}
	f, n, gotos := s.graph.FlowOf(id), s.graph.StepNode(id), s.graph.Step(id).GotoOf(d)
	s.graph.ShortenUpdate(id, d)
	if n.Kind == workflow.KindFork {
		n = &f.Nodes[n.JoinIndex]
	}
	if len(gotos) > 0 {
		d.Ports, ports = nil, nil
		gotos = s.known(f, d, gotos)
	}
	for _, to := range gotos {
		if failure := unreachable(f, s.graph.StepNode(id), to); failure != nil {
			s.failForGood(id, *failure)
			return
		}
	}
	edges, failure := s.passable(id, n, ports, d)
	if failure != nil {
		s.failStep(id, *failure)
		return
	}
	s.emitStep(id, d)
	if s.state.Ending != nil && !s.state.Ending.Limit {
		return
	}
	queued := s.state.Waits.Queues(s.graph.Step(id).Group)
	for _, e := range edges {
		if !s.takeEdge(id, e, f.Workflow.Edges[e].To, queued) {
			return
		}
	}
	for i, to := range gotos {
		if !slices.Contains(gotos[:i], to) && !s.takeEdge(id, -1, to, queued) {
			return
		}
	}
}

// known returns those of the nodes named gotos that the graph has, and records the others in d. If it
// has none of them, all are returned.
func (s *steps) known(f *plan.Flow, d *StepCompleted, gotos []string) []string {
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
func unreachable(f *plan.Flow, n *plan.Node, to string) *Failure {
	idx, ok := f.Index[to]
	if !ok {
		return &Failure{Code: CodeNodeNotFound, Message: event.NotFound(to)}
	}
	parent := f.Nodes[idx].Parent
	if fork := f.Nodes[idx].ForkIndex; fork >= 0 {
		parent = f.Nodes[fork].ID // a join is reached from inside
	}
	if parent != n.Parent {
		return &Failure{Code: CodeNoRoute, Message: fmt.Sprintf("goto from %q to %q crosses the border of a branch",
			n.ID, to)}
	}
	return nil
}

// passable returns the edges of the ports whose guards hold. The result is valid until the next
// call. Guards see the step as completed.
func (s *steps) passable(id int, n *plan.Node, ports []string, d *StepCompleted) ([]int, *Failure) {
	f := s.graph.FlowOf(id)
	out := s.edgeBuf[:0]
	for _, port := range ports {
		for i, e := range n.Ports[port] {
			if w := f.Workflow.Edges[e].When; w != nil {
				ok, err := viewer{&s.state}.isTrue(id, w, f.Guards[e], d)
				if err != nil {
					return nil, &Failure{Code: CodeCondition, Message: err.Error()}
				}
				s.emitStep(id,
					s.mem.checked.alloc(ConditionChecked{Index: i, Op: w.Op, Text: w.Text + w.Func, Result: ok}))
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
	s.edgeBuf = out
	return out, nil
}

// takeEdge takes one edge, or goes to a node if edge is -1, inside the scope of the step. It
// returns false if the run was handed over to a person because the same transition with the same
// output occurred too often (S3-15).
func (s *steps) takeEdge(id, edge int, to string, queued bool) bool {
	if key := s.state.transitionKey(id, to); key != "" && s.state.Transitions[key] >= maxTransitions {
		s.end.limitAt(CodeOscillation, maxTransitions, s.graph.NodeID(id), id)
		return false
	}
	d := s.mem.edges.alloc(EdgeTaken{Edge: edge, To: to, Scope: s.graph.Step(id).Scope})
	f := s.graph.FlowOf(id)
	n := &f.Nodes[f.Index[to]]
	sc := s.graph.StepScope(id)
	if n.ForkIndex < 0 || sc.Owner == 0 || s.graph.StepNode(sc.Owner).Index != n.ForkIndex {
		d.Token = s.graph.Tokens + 1
		d.Queued = queued && n.Kind != workflow.KindWait && !plan.IsFreeJoin(n)
	}
	s.emitStep(id, d)
	return true
}

// endAll cancels whatever else runs in the scope of step id, whose end ends the scope.
func (s *steps) endAll(id int) {
	s.cancelScope(s.graph.Step(id).Scope, "the workflow ended at "+s.graph.StepNode(id).ID)
}

// failStep fails a step as a whole: its retry policy restarts it from the beginning (S4-23).
func (s *steps) failStep(id int, f Failure) {
	if s.graph.Step(id).Status == stepRunning && !s.retries.handled(id, "", &f, nil, event.OfLimit) {
		s.failForGood(id, f)
	}
}

// failStart fails a step whose condition or input could not be evaluated. It is not retried: both
// are evaluated once, when a step starts, and an attempt without them would not follow the
// workflow.
func (s *steps) failStart(id int, f Failure) {
	if f.Node == "" {
		f.Node = s.graph.NodeID(id)
	}
	if !s.retries.handledByProgram(id, "", &f, nil) {
		s.failForGood(id, f)
	}
}

// skip ends a step whose condition does not hold; its input is passed on.
func (s *steps) skip(id int) {
	s.emitStep(id, &StepSkipped{Reason: "its condition does not hold", Ports: s.state.plan.out})
	s.takePort(id, workflow.PortOut)
}

// takePort takes all edges of a port of a step that has ended without a result.
func (s *steps) takePort(id int, port string) {
	f, n := s.graph.FlowOf(id), s.graph.StepNode(id)
	if n.Kind == workflow.KindFork && port == workflow.PortOut {
		n = &f.Nodes[n.JoinIndex]
	}
	queued := s.state.Waits.Queues(s.graph.Step(id).Group)
	for _, e := range n.Ports[port] {
		if !s.takeEdge(id, e, f.Workflow.Edges[e].To, queued) {
			return
		}
	}
}

// errorPort returns the port through which the run continues after a final failure, or "" if it
// does not, and the default that replaces the output. A default that cannot be evaluated replaces
// the failure.
func (s *steps) errorPort(id int, f *Failure) (port string, value Value) {
	n := s.graph.StepNode(id)
	switch c := n.Catch; {
	case event.CodeIs(f.Code, event.OfLimit) && len(n.Ports[workflow.PortLimit]) > 0 && (!n.Header || f.Code == CodeMaxLoopIterations &&
		f.Node == s.graph.NodeID(id)):
		// a loop's first step: the port is for that loop's limit, not an inner one's
		return workflow.PortLimit, nil
	case c != nil && event.CodeIs(f.Code, event.OfRun):
		return "", nil
	case c != nil && c.Port == workflow.PortOut:
		if n.Default == nil {
			return workflow.PortOut, nil
		}
		seen := viewer{&s.state}.envOf(id)
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
func (s *steps) failForGood(id int, f Failure) {
	if f.Node == "" {
		f.Node = s.graph.NodeID(id)
	}
	s.unwind(id, -1, f)
	port, value := s.errorPort(id, &f)
	s.emitStep(id, &StepFailed{Error: f, Port: port, Output: value})
	if s.state.cancelled() || (s.state.Ending != nil && port != "" && !s.state.Ending.Limit) {
		return
	}
	if port == "" {
		s.propagate(id, f)
		return
	}
	s.takePort(id, port)
}

// propagate propagates an unhandled failure outward: to the fork whose branch it ends, to the map
// whose item it ends, to the sub-flow's step, or to the run.
func (s *steps) propagate(id int, f Failure) {
	sc := s.graph.StepScope(id)
	if sc.Owner == 0 {
		if s.state.plan.root.Workflow.Rules.OnFailure != workflow.FailDrain {
			s.cancelScope(0, "the run failed")
		}
		return
	}
	s.cancelScope(s.graph.Step(id).Scope, "the branch failed")
	owner := sc.Owner
	switch s.graph.StepNode(owner).Kind {
	case workflow.KindSubflow:
		s.failStep(owner, f)
	case workflow.KindMap:
		s.blocks.failItem(owner, sc.Branch-1, f)
	default:
		s.blocks.settleBlock(owner)
	}
}

// unwind ends everything running inside frame outer of a step, or the whole step if outer is
// negative: calls are cancelled, questions about calls are closed, and every sub-agent inside
// fails, innermost first (S0-54).
func (s *steps) unwind(id, outer int, f Failure) {
	within := func(fr int) bool { return outer < 0 || s.graph.Step(id).Loop.Agent.Inside(fr, outer) }
	s.people.closeWaits(func(w *waits.Wait) bool {
		if w.Step != id {
			return false
		}
		c := s.state.Loop.Call(w.Call)
		return outer < 0 || c != nil && within(c.Frame)
	}, "cancelled")
	s.commands.cancelCalls(func(c *loop.Call) bool { return c.Step == id && within(c.Frame) })
	s.agents.failInside(id, outer, f)
}

// cancelBranches cancels every running step inside a fork or subflow step.
func (s *steps) cancelBranches(owner int, reason string) {
	for _, id := range s.graph.Step(owner).Block.Scopes {
		s.cancelScope(id, reason)
	}
}

func (s *steps) cancelScope(scopeID int, reason string) {
	for i := len(s.graph.Running) - 1; i >= 0; i-- { //nolint:modernize // cancelling takes steps out of the list
		if i >= len(s.graph.Running) {
			continue
		}
		if id := s.graph.Running[i]; s.graph.Step(id).Scope == scopeID {
			s.cancelStep(id, reason)
		}
	}
}

// cancelStep cancels a running step and everything that runs inside it.
func (s *steps) cancelStep(id int, reason string) {
	if s.graph.Step(id).Status != stepRunning {
		return
	}
	if s.graph.Step(id).Block != nil {
		s.cancelBranches(id, reason)
	}
	s.people.closeWaits(func(w *waits.Wait) bool { return w.Step == id }, "cancelled")
	s.commands.cancelCalls(func(c *loop.Call) bool { return c.Step == id })
	s.emitStep(id, &StepCancelled{Reason: reason, Run: s.cancelling})
	s.cancelling = nil
}

// cancelRun cancels all steps, the first one with end, the event that cancels the run. It returns
// false if no step was running.
func (s *steps) cancelRun(end *RunCancelled) bool {
	s.cancelling = end
	s.cancelScope(0, "the run was cancelled")
	cancelled := s.cancelling == nil
	s.cancelling = nil
	return cancelled
}
