package engine

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

func (r *Run) checkStepStarted(ev *Event, d *StepStarted) string {
	if len(d.Tokens) == 0 {
		return "the step has no token"
	}
	first, from := token{}, false
	for i, id := range d.Tokens {
		t, ok := r.waiting(id)
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
	sc := r.scope(first.Scope)
	n := &r.flows[sc.Flow].nodes[first.Node]
	switch {
	case !from:
		return "its input comes from another step"
	case len(d.Tokens) > 1 && !isFreeJoin(n):
		return "the step has several tokens"
	case ev.Node != r.pathOf(sc.Flow, n.ID):
		return "the token is at node " + strconv.Quote(r.pathOf(sc.Flow, n.ID))
	case d.Scope != first.Scope:
		return "token " + strconv.Itoa(first.ID) + " is in scope " + strconv.Itoa(first.Scope)
	case d.Kind != n.Kind:
		return "the node is one of kind " + string(n.Kind)
	case d.Iteration != r.counts(sc.Flow).of(first.Node)+1:
		return "it is another execution of the node"
	}
	return r.checkPrompt(ev.Step, d)
}

// waiting gives a token that waits.
func (r *Run) waiting(id int) (token, bool) {
	for _, list := range [2][]token{r.s.Ready, r.s.Held} {
		if i := slices.IndexFunc(list, func(t token) bool { return t.ID == id }); i >= 0 {
			return list[i], true
		}
	}
	return token{}, false
}

func (r *Run) applyStepStarted(ev *Event, d *StepStarted) {
	sc := r.scope(d.Scope)
	f := r.flows[sc.Flow]
	st := step{Scope: d.Scope, Iter: d.Iteration, From: d.From, Input: d.Input}
	for _, id := range d.Tokens {
		t := r.take(id)
		st.Node, st.Group = t.Node, t.Group
		st.Approval = r.s.Waits.Later(st.Approval, r.approvalAt(t.From))
	}
	n := &f.nodes[st.Node]
	sc.Live += 1 - len(d.Tokens)
	sc.Started = true
	ran := r.counts(sc.Flow)
	ran.set(st.Node, ran.of(st.Node)+1, len(f.nodes))
	if n.header {
		sc.Loops.set(st.Node, sc.Loops.of(st.Node)+1, len(f.nodes))
	}
	if !n.Hidden {
		r.s.Used++
	}
	if r.s.Limits.MaxRounds > 0 && sc.Flow == 0 {
		if r.s.Seen == nil {
			r.s.Seen = map[int]bool{}
		}
		r.s.Seen[st.Node] = true
	}
	r.applyPrompt(ev.Step, n, d)
	r.s.Steps.add(st)
	r.s.Running = append(r.s.Running, ev.Step)
	p := r.step(ev.Step)
	switch n.Kind {
	case workflow.KindAgent:
		r.openFrame(ev.Step, n.Agent.Agent, d.System, -1)
		if n.Agent.Prompt.Mode != workflow.PromptShared {
			r.conv(p.Agent.Frames[0].Conv, chat.Message{Role: chat.RoleUser, Text: r.stepText(ev.Step)})
		}
	case workflow.KindExec:
		r.openExec(ev.Step, d.From)
	case workflow.KindFunc:
		p.Seen, p.View = r.seen(d.Scope), r.stateAt(d.Scope)
	case workflow.KindFork:
		p.Block = &block{Base: r.seen(d.Scope), View: r.stateAt(d.Scope)}
	case workflow.KindSubflow:
		p.Block = &block{}
		r.openFlow(ev.Step)
	}
}

// take removes a token from the list in which it waits. The first token taken from the queue of a draining run begins that entry's turn (D18).
func (r *Run) take(id int) token {
	for i, t := range r.s.Ready {
		if t.ID != id {
			continue
		}
		if isFreeJoin(&r.flows[r.scope(t.Scope).Flow].nodes[t.Node]) {
			r.s.Parked--
		}
		switch {
		case len(r.s.Ready) == 1:
			r.s.Ready = r.s.Ready[:0]
		case i == 0:
			r.s.Ready = r.s.Ready[1:]
		default:
			r.s.Ready = slices.Delete(r.s.Ready, i, i+1)
		}
		return t
	}
	i := slices.IndexFunc(r.s.Held, func(t token) bool { return t.ID == id })
	t := r.s.Held[i]
	r.s.Held = slices.Delete(r.s.Held, i, i+1)
	t.Group = id
	r.s.Waits.Take(id)
	return t
}
