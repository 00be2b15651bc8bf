package graph

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

// CheckStepStarted returns the reason why a step cannot start, or "" if it can.
func (g *Graph[L]) CheckStepStarted(ev *event.Event, d *event.StepStarted) string {
	if len(d.Tokens) == 0 {
		return "the step has no token"
	}
	first, from := Token{}, false
	for i, id := range d.Tokens {
		t, ok := g.Waiting(id)
		if !ok || slices.Contains(d.Tokens[:i], id) {
			return "token " + strconv.Itoa(id) + " does not exist"
		}
		if i == 0 {
			first = t
		}
		if t.Node != first.Node || t.Scope != first.Scope {
			return "its tokens belong to different nodes or scopes"
		}
		from = from || t.From == d.From
	}
	sc := g.Scope(first.Scope)
	n := &g.flows[sc.Flow].Nodes[first.Node]
	switch {
	case !from:
		return "its input comes from another step"
	case len(d.Tokens) > 1 && !plan.IsFreeJoin(n):
		return "the step has several tokens"
	case ev.Node != g.PathOf(sc.Flow, n.ID):
		return "the token is at node " + strconv.Quote(g.PathOf(sc.Flow, n.ID))
	case d.Scope != first.Scope:
		return "token " + strconv.Itoa(first.ID) + " is in scope " + strconv.Itoa(first.Scope)
	case d.Kind != n.Kind:
		return "the node is one of kind " + string(n.Kind)
	case d.Iteration != g.Flows.Counts(sc.Flow).Of(first.Node)+1:
		return "it is another execution of the node"
	}
	return g.checkPrompt(ev.Step, d)
}

// Waiting returns a waiting token, or false if there is none with this id.
func (g *Graph[L]) Waiting(id int) (Token, bool) {
	for _, list := range [2][]Token{g.Ready, g.Queued} {
		if i := slices.IndexFunc(list, func(t Token) bool { return t.ID == id }); i >= 0 {
			return list[i], true
		}
	}
	return Token{}, false
}

// MayStart reports whether the graph lets a token start: not at a free join, not while another step
// of a serial flow runs, and not in a branch beyond its fork's concurrency limit.
func (g *Graph[L]) MayStart(t Token) bool {
	sc := g.Scope(t.Scope)
	if plan.IsFreeJoin((&g.FlowIn(t.Scope).Nodes[t.Node])) {
		return false
	}
	if g.flows[sc.Flow].Workflow.Rules.Serial && slices.ContainsFunc(g.Running, func(id int) bool {
		return g.Step(id).Scope == t.Scope
	}) {
		return false
	}
	if sc.Started || sc.Branch == 0 || g.StepNode(sc.Owner).Kind == workflow.KindMap {
		return true
	}
	limit := g.StepNode(sc.Owner).Fork.MaxConcurrency
	if limit <= 0 {
		return true
	}
	at := 0
	for _, id := range g.Step(sc.Owner).Block.Scopes {
		if b := g.Scope(id); b.Started && b.Live > 0 {
			at++
		}
	}
	return at < limit
}

// Start starts step id, which consumes d.Tokens; counted means that rounds are counted. It returns
// the queued token whose turn starts (D18), or 0 if none was queued.
func (g *Graph[L]) Start(id int, d *event.StepStarted, counted bool) (turn int) {
	sc := g.Scope(d.Scope)
	f := g.flows[sc.Flow]
	st := Step[L]{Scope: d.Scope, From: d.From, work: g.works.begin(work[L]{Iter: d.Iteration, Input: d.Input})}
	for _, id := range d.Tokens {
		t, queued := g.takeToken(id)
		st.Node, st.Group = t.Node, t.Group
		if queued {
			turn = id
		}
	}
	n := &f.Nodes[st.Node]
	sc.Live += 1 - len(d.Tokens)
	sc.Started = true
	ran := g.Flows.Counts(sc.Flow)
	ran.set(st.Node, ran.Of(st.Node)+1, len(f.Nodes))
	if n.Header {
		sc.Loops.set(st.Node, sc.Loops.Of(st.Node)+1, len(f.Nodes))
	}
	if !n.Hidden {
		g.Used++
	}
	if counted && sc.Flow == 0 {
		if g.Seen == nil {
			g.Seen = map[int]bool{}
		}
		g.Seen[st.Node] = true
	}
	g.keepPrompt(id, n, d)
	g.Steps.add(st)
	g.Running = append(g.Running, id)
	p := g.Step(id)
	switch n.Kind {
	case workflow.KindFunc:
		p.Seen, p.View = g.seen(d.Scope), g.Scope(d.Scope).State
	case workflow.KindFork:
		p.Block = &block{Base: g.seen(d.Scope), View: g.Scope(d.Scope).State}
	case workflow.KindMap:
		p.Block = &block{Base: g.seen(d.Scope), View: g.Scope(d.Scope).State}
		g.openItems(id)
	case workflow.KindSubflow:
		p.Block = &block{}
		g.openFlow(id)
	}
	return turn
}

// takeToken removes a token from the list in which it waits. A token from the queue starts its own
// group (D18).
func (g *Graph[L]) takeToken(id int) (t Token, queued bool) {
	for i, t := range g.Ready {
		if t.ID != id {
			continue
		}
		if plan.IsFreeJoin((&g.FlowIn(t.Scope).Nodes[t.Node])) {
			g.Parked--
		}
		switch {
		case len(g.Ready) == 1:
			g.Ready = g.Ready[:0]
		case i == 0:
			g.Ready = g.Ready[1:]
		default:
			g.Ready = slices.Delete(g.Ready, i, i+1)
		}
		return t, false
	}
	i := slices.IndexFunc(g.Queued, func(t Token) bool { return t.ID == id })
	t = g.Queued[i]
	g.Queued = slices.Delete(g.Queued, i, i+1)
	t.Group = id
	return t, true
}

// CheckEnds returns the reason why a step cannot end: everything that runs inside must end first.
func (g *Graph[L]) CheckEnds(id int) string {
	st := g.Step(id)
	if st.Block == nil {
		return ""
	}
	inside := func(id int) bool { return slices.Contains(st.Block.Scopes, g.Step(id).Scope) }
	if i := slices.IndexFunc(g.Running, inside); i >= 0 {
		return "step " + strconv.Itoa(g.Running[i]) + " inside of it has not ended"
	}
	return ""
}

// Complete records the output of a step, the agent that produced it, if any, why its reply ended,
// and the step's changes to the state of its scope.
func (g *Graph[L]) Complete(id int, d *event.StepCompleted, out Output, agent, stop string) {
	st, sc, n := g.Step(id), g.StepScope(id), g.StepNode(id)
	if stop != "" {
		st.Stop = stop
	}
	if n.Agent != nil && agent != n.Agent.Agent {
		st.By = agent
	}
	st.Output, sc.Last = out, id
	if n.Kind == workflow.KindEnd {
		g.dropTokens([]int{st.Scope})
	}
	delete(sc.Caught, n.Index)
	// an unanswered wait has no output
	if late := n.Kind == workflow.KindWait && slices.Contains(d.Ports, workflow.PortTimeout); plan.HasOutput(n.Kind) &&
		!late {
		sc.record(n.Index, id, g.Flows.Counts(sc.Flow).Of(n.Index) == 1)
	}
	g.Change(id, d)
}

// Change makes the changes of a step to the state of its scope: those that it would make if it
// completed with d.
func (g *Graph[L]) Change(id int, d *event.StepCompleted) {
	sc, changes := g.StepScope(id), g.ChangesOf(id, d)
	sc.State = g.StateAfter(id, d, changes)
	for _, c := range changes {
		if sc.Writes == nil {
			sc.Writes = map[string]write{}
		}
		sc.Writes[c.Field] = write{Value: c.Value, Node: writer(g, id, c.Field)}
	}
}

// Skip records that a step did nothing: its input is passed on.
func (g *Graph[L]) Skip(id int) {
	st := g.Step(id)
	st.Output, g.StepScope(id).Last = g.output(st.From), id
}

// Caught is a step after whose failure the run continued, with the failure as expressions read it.
type Caught struct {
	Step    int
	Failure event.Value
}

// recordCaught records a failure after which the run continues, with the default that replaces the
// output, or with the step's input.
func (g *Graph[L]) recordCaught(id int, d *event.StepFailed) {
	st, sc, n := g.Step(id), g.StepScope(id), g.StepNode(id)
	if sc.Caught == nil {
		sc.Caught = map[int]Caught{}
	}
	sc.Caught[n.Index], sc.Last = Caught{Step: id, Failure: d.Error.Brief()}, id
	switch {
	case d.Output != nil:
		st.Output = OutputOf(d.Output)
	case d.Error.Code == event.CodeItemsFailed && n.Kind == workflow.KindMap &&
		n.Map.OnItemError == workflow.FailCollect && st.Block.Items != nil:
		st.Output = g.itemList(id, true)
	default:
		st.Output = g.output(st.From)
		return
	}
	if plan.HasOutput(n.Kind) {
		sc.record(n.Index, id, false)
	}
}

// Fail records the failure of a step. The failure is the step's output if an edge handles it and
// the node does not say otherwise; the limit of a loop passes on the input of its first step.
// Otherwise it is the failure of the step's scope: nothing new starts in a failed branch. Fail
// reports whether the failure is the first of the run itself.
func (g *Graph[L]) Fail(id int, d *event.StepFailed) bool {
	st, sc, f := g.Step(id), g.StepScope(id), &d.Error
	switch {
	case d.Port != "" && g.StepNode(id).Catch != nil, d.Port == workflow.PortLimit &&
		f.Code == event.CodeMaxLoopIterations:
		g.recordCaught(id, d)
		return false
	case d.Port != "":
		st.Output = OutputOf(f.Value())
		return false
	case sc.Failed != nil:
		return false
	}
	sc.Failed = f
	if sc.Owner > 0 {
		g.dropTokens([]int{st.Scope})
	}
	return sc.Owner == 0
}

// End removes a step and its branches from the live set. calls is the number of calls that it has
// numbered; awaited reports whether the loop still needs the state that it keeps for the step.
func (g *Graph[L]) End(id int, status event.StepStatus, calls int, awaited bool) {
	st := g.Step(id)
	st.Status = status
	if i := slices.Index(g.Running, id); i >= 0 {
		g.Running = slices.Delete(g.Running, i, i+1)
	}
	if st.Block != nil {
		if g.StepNode(id).Kind == workflow.KindMap {
			g.dropItems(st.Block.Scopes)
			st.Block.dropInactive()
		} else {
			g.killScopes(st.Block.Scopes)
		}
		st.Block.Base, st.Block.View = nil, typed.State{}
	}
	st.Calls = calls
	st.work = g.works.end(st.work, awaited)
	g.Scope(st.Scope).Live--
	g.wake = append(g.wake, st.Scope)
}

// Retry records the failure of an attempt. If whole, the step restarts from the beginning and its
// branches are discarded.
func (g *Graph[L]) Retry(id int, f *event.Failure, whole bool) {
	st := g.Step(id)
	st.Retries, st.Last = st.Retries+1, f
	b := st.Block
	if b == nil || !whole {
		return
	}
	if b.Items != nil {
		g.dropItems(b.Scopes)
		b.Items.resetFailed()
	} else {
		g.killScopes(b.Scopes)
	}
	b.Scopes, b.settled = nil, 0
	if g.StepNode(id).Kind == workflow.KindSubflow {
		g.openFlow(id)
	}
}

// killScopes drops the tokens of scopes in which nothing can happen any more, together with the
// state they saw; otherwise a surrounding loop would keep one copy of the state for each iteration
// (P6).
func (g *Graph[L]) killScopes(ids []int) {
	g.dropTokens(ids)
	for _, id := range ids {
		sc := g.Scope(id)
		sc.Dead, sc.Live = true, 0
		sc.Base, sc.Writes, sc.State, sc.context = nil, nil, typed.State{}, prompt.Context{}
	}
}

func (g *Graph[L]) dropTokens(scopes []int) {
	dead := func(t Token) bool {
		if !slices.Contains(scopes, t.Scope) {
			return false
		}
		sc := g.Scope(t.Scope)
		sc.Live--
		if plan.IsFreeJoin((&g.FlowIn(t.Scope).Nodes[t.Node])) {
			g.Parked--
		}
		return true
	}
	g.Ready = slices.DeleteFunc(g.Ready, dead)
	g.Queued = slices.DeleteFunc(g.Queued, dead)
}
