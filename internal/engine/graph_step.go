package engine

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/workflow"
)

func (g *graph) checkStepStarted(ev *Event, d *StepStarted) string {
	if len(d.Tokens) == 0 {
		return "the step has no token"
	}
	first, from := token{}, false
	for i, id := range d.Tokens {
		t, ok := g.waiting(id)
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
	sc := g.scope(first.Scope)
	n := &g.flows[sc.Flow].Nodes[first.Node]
	switch {
	case !from:
		return "its input comes from another step"
	case len(d.Tokens) > 1 && !plan.IsFreeJoin(n):
		return "the step has several tokens"
	case ev.Node != g.pathOf(sc.Flow, n.ID):
		return "the token is at node " + strconv.Quote(g.pathOf(sc.Flow, n.ID))
	case d.Scope != first.Scope:
		return "token " + strconv.Itoa(first.ID) + " is in scope " + strconv.Itoa(first.Scope)
	case d.Kind != n.Kind:
		return "the node is one of kind " + string(n.Kind)
	case d.Iteration != g.Flows.counts(sc.Flow).of(first.Node)+1:
		return "it is another execution of the node"
	}
	return g.checkPrompt(ev.Step, d)
}

// waiting gives a token that waits.
func (g *graph) waiting(id int) (token, bool) {
	for _, list := range [2][]token{g.Ready, g.Held} {
		if i := slices.IndexFunc(list, func(t token) bool { return t.ID == id }); i >= 0 {
			return list[i], true
		}
	}
	return token{}, false
}

// mayStart tells whether its graph lets a token start: not at a free join, not beside another step of a serial flow, and not in one branch more than its fork lets run.
func (g *graph) mayStart(t token) bool {
	sc := g.scope(t.Scope)
	if plan.IsFreeJoin(g.nodeOf(t)) {
		return false
	}
	if g.flows[sc.Flow].Workflow.Rules.Serial && slices.ContainsFunc(g.Running, func(id int) bool { return g.step(id).Scope == t.Scope }) {
		return false
	}
	if sc.Started || sc.Branch == 0 {
		return true
	}
	limit := g.stepNode(sc.Owner).Fork.MaxConcurrency
	if limit <= 0 {
		return true
	}
	at := 0
	for _, id := range g.step(sc.Owner).Block.Scopes {
		if b := g.scope(id); b.Started && b.Live > 0 {
			at++
		}
	}
	return at < limit
}

// start begins the step of tokens; counted tells whether rounds are counted. It gives the token that was queued, whose turn begins (D18); 0: none was.
func (g *graph) start(id int, d *StepStarted, counted bool) (turn int) {
	sc := g.scope(d.Scope)
	f := g.flows[sc.Flow]
	st := step{Scope: d.Scope, From: d.From, work: g.works.begin(work{Iter: d.Iteration, Input: d.Input})}
	for _, id := range d.Tokens {
		t, queued := g.take(id)
		st.Node, st.Group = t.Node, t.Group
		if queued {
			turn = id
		}
	}
	n := &f.Nodes[st.Node]
	sc.Live += 1 - len(d.Tokens)
	sc.Started = true
	ran := g.Flows.counts(sc.Flow)
	ran.set(st.Node, ran.of(st.Node)+1, len(f.Nodes))
	if n.Header {
		sc.Loops.set(st.Node, sc.Loops.of(st.Node)+1, len(f.Nodes))
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
	p := g.step(id)
	switch n.Kind {
	case workflow.KindFunc:
		p.Seen, p.View = g.seen(d.Scope), g.stateAt(d.Scope)
	case workflow.KindFork:
		p.Block = &block{Base: g.seen(d.Scope), View: g.stateAt(d.Scope)}
	case workflow.KindSubflow:
		p.Block = &block{}
		g.openFlow(id)
	}
	return turn
}

// take removes a token from the list in which it waits. One of the queue begins a group of its own (D18).
func (g *graph) take(id int) (t token, queued bool) {
	for i, t := range g.Ready {
		if t.ID != id {
			continue
		}
		if plan.IsFreeJoin(g.nodeOf(t)) {
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
	i := slices.IndexFunc(g.Held, func(t token) bool { return t.ID == id })
	t = g.Held[i]
	g.Held = slices.Delete(g.Held, i, i+1)
	t.Group = id
	return t, true
}

// checkEnds tells why a step cannot end: what runs inside ends first.
func (g *graph) checkEnds(id int) string {
	st := g.step(id)
	if st.Block == nil {
		return ""
	}
	inside := func(id int) bool { return slices.Contains(st.Block.Scopes, g.step(id).Scope) }
	if i := slices.IndexFunc(g.Running, inside); i >= 0 {
		return "step " + strconv.Itoa(g.Running[i]) + " inside of it has not ended"
	}
	return ""
}

// complete notes what a step gave, and what it changed in the state of its scope.
func (g *graph) complete(id int, d *StepCompleted, out output) {
	st, sc, n := g.step(id), g.stepScope(id), g.stepNode(id)
	if n.Agent != nil && g.speaker(id) != n.Agent.Agent {
		st.By = g.speaker(id)
	}
	changes := g.changesOf(id, d)
	st.Output, sc.Last = out, id
	if n.Kind == workflow.KindEnd {
		g.dropTokens([]int{st.Scope})
	}
	if plan.HasOutput(n.Kind) {
		sc.record(n.Index, id, g.Flows.counts(sc.Flow).of(n.Index) == 1)
	}
	sc.State = g.stateAfter(id, d, changes)
	for _, c := range changes {
		if sc.Writes == nil {
			sc.Writes = map[string]write{}
		}
		sc.Writes[c.Field] = write{Value: c.Value, Node: g.writer(id, c.Field)}
	}
}

// fail notes the failure of a step, which is its output where an edge handles it. Else it is that of its scope: nothing new starts in a branch that failed. It tells whether
// the failure is the first of the run itself.
func (g *graph) fail(id int, f *Failure, handled bool) bool {
	st, sc := g.step(id), g.stepScope(id)
	switch {
	case handled:
		st.Output = outputFrom(f.Value())
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

// end takes a step out of what is alive, with its branches.
func (g *graph) end(id int, status stepStatus) {
	st := g.step(id)
	st.Status = status
	if i := slices.Index(g.Running, id); i >= 0 {
		g.Running = slices.Delete(g.Running, i, i+1)
	}
	if st.Block != nil {
		g.killScopes(st.Block.Scopes)
		st.Block.Base, st.Block.View = nil, typed.State{}
	}
	st.Calls = st.Loop.Numbered
	st.work = g.works.end(st.work)
	g.scope(st.Scope).Live--
	g.idle(st.Scope)
}

// reopen forgets the branches of a step that begins anew.
func (g *graph) reopen(id int) {
	b := g.step(id).Block
	if b == nil {
		return
	}
	g.killScopes(b.Scopes)
	b.Scopes, b.settled = nil, 0
	if g.stepNode(id).Kind == workflow.KindSubflow {
		g.openFlow(id)
	}
}

// killScopes drops the tokens of scopes in which nothing may happen any more, and what they saw: a loop around them would keep the state once for each of
// its passes (P6).
func (g *graph) killScopes(ids []int) {
	g.dropTokens(ids)
	for _, id := range ids {
		sc := g.scope(id)
		sc.Dead, sc.Live = true, 0
		sc.Base, sc.Writes, sc.State, sc.context = nil, nil, typed.State{}, prompt.Context{}
	}
}

func (g *graph) dropTokens(scopes []int) {
	dead := func(t token) bool {
		if !slices.Contains(scopes, t.Scope) {
			return false
		}
		sc := g.scope(t.Scope)
		sc.Live--
		if plan.IsFreeJoin(g.nodeOf(t)) {
			g.Parked--
		}
		return true
	}
	g.Ready = slices.DeleteFunc(g.Ready, dead)
	g.Held = slices.DeleteFunc(g.Held, dead)
}
