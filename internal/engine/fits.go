package engine

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/workflow"
)

// fits checks a stored event: a *DivergenceError where it cannot follow the state.
func (r *Run) fits(ev *Event) error {
	if ev.Data == nil {
		return &DivergenceError{Seq: ev.Seq, Reason: "an event without data"}
	}
	why := r.validate(ev)
	if why == "" {
		switch d := ev.Data.(type) {
		case *StepStarted:
			why = r.oddStart(ev, d)
		case *EdgeTaken:
			if why = r.oddEdge(ev, d); why == "" {
				why = r.oddState(ev, d)
			}
		case *StepCompleted, *StepFailed, *StepCancelled, *StepSkipped, *StepRetrying:
			why = r.oddStep(ev)
		}
	}
	if why != "" {
		return r.diverge(ev, "%s", why)
	}
	return nil
}

func (r *Run) oddStart(ev *Event, d *StepStarted) string {
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
	case d.Iteration != r.counts(sc.Flow).of(first.Node)+1:
		return "it is another execution of the node"
	}
	return ""
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

func (r *Run) oddEdge(ev *Event, d *EdgeTaken) string {
	handoff := r.plan.root.w.Rules.Handoff
	if ev.Step == 0 {
		if d.Edge != -1 || d.Scope != 0 || d.Branch != 0 {
			return "the run starts at another node"
		}
		return ""
	}
	st, n, f := r.step(ev.Step), r.stepNode(ev.Step), r.flowOf(ev.Step)
	if d.Edge < -1 || d.Edge >= len(f.w.Edges) {
		return "edge does not exist"
	}
	if d.Edge >= 0 {
		e := &f.w.Edges[d.Edge]
		if e.To != d.To || e.From != n.ID && (n.join < 0 || e.From != f.nodes[n.join].ID) {
			return "the edge does not belong to the step"
		}
	}
	switch {
	case d.Branch != 0:
		known := d.Scope >= 0 && d.Scope < len(r.s.Scopes)
		if n.Kind != workflow.KindFork || st.Status != stepRunning || d.Branch < 1 || d.Branch > len(n.Fork.Branches) || d.Edge < 0 ||
			!known && d.Scope != len(r.s.Scopes) || known && (r.scope(d.Scope).Owner != ev.Step || r.scope(d.Scope).Branch != d.Branch || r.scope(d.Scope).Dead) {
			return "branch does not exist"
		}
	case d.Edge < 0 && d.Scope == 0 && handoff != "" && d.To == handoff:
	case n.Kind == workflow.KindSubflow && st.Status == stepRunning:
		if d.Edge != -1 || !slices.Contains(st.Block.Scopes, d.Scope) {
			return "the sub-flow starts at another node"
		}
	case d.Scope != st.Scope || st.Status != stepCompleted && st.Status != stepFailed || r.stepScope(ev.Step).Dead:
		return "the step does not lead to that node"
	}
	return ""
}

func (r *Run) oddStep(ev *Event) string {
	if ev.Step == 0 {
		return "" // apply says what is wrong
	}
	st := r.step(ev.Step)
	if st.Wait != "" {
		if w := r.wait(st.Wait); w != nil && w.open() {
			return "wait " + st.Wait + " is open"
		}
	}
	if st.Block != nil {
		inside := func(id int) bool { return slices.Contains(st.Block.Scopes, r.step(id).Scope) }
		if i := slices.IndexFunc(r.s.Running, inside); i >= 0 {
			return "step " + strconv.Itoa(r.s.Running[i]) + " inside of it has not ended"
		}
	}
	switch d := ev.Data.(type) {
	case *StepCompleted:
		if (d.Reply || d.JSON) && st.Agent == nil {
			return "the step runs no agent"
		}
		if d.Given && st.given == nil {
			return "the step has no result"
		}
		if err := r.stateAt(st.Scope).Check(d.Update, d.Edits); err != nil {
			return err.Error()
		}
	case *StepRetrying:
		if c := r.s.Calls[d.Call]; d.Call != "" && (c == nil || c.Step != ev.Step || c.State != callFailed) {
			return "call " + d.Call + " has not failed"
		}
	}
	return ""
}
