package engine

import (
	"slices"
	"strconv"

	"github.com/hocket-run/hocket/workflow"
)

// fits tells why a stored event cannot follow the state, nil where it can. Journals come from disk, and a checksum that holds does not make one sane: what
// apply takes for granted of events that the engine has just made is asked here of those that somebody else stored.
func (r *Run) fits(ev *Event) error {
	if ev.Data == nil {
		return &DivergenceError{Seq: ev.Seq, Reason: "an event without data"}
	}
	if r.s.Created == nil {
		return nil // apply takes nothing but RunCreated now
	}
	if why := r.misplaced(ev); why != "" {
		return r.diverge(ev, "%s", why)
	}
	why := ""
	switch d := ev.Data.(type) {
	case *StepStarted:
		why = r.oddStart(ev, d)
	case *EdgeTaken:
		if why = r.oddEdge(ev, d); why == "" {
			why = r.oddState(ev, d)
		}
	case *StepCompleted, *StepFailed, *StepCancelled, *StepSkipped, *StepRetrying:
		why = r.oddStep(ev)
	default:
		if k := kinds[ev.Data.Type()]; k.check != nil {
			why = k.doubt(r, ev)
		} else {
			why = r.oddRun(ev)
		}
	}
	if why != "" {
		return r.diverge(ev, "%s", why)
	}
	return nil
}

// misplaced looks at what is asked of every event: that the run takes events at all, and that its node is that of its step.
func (r *Run) misplaced(ev *Event) string {
	_, started := ev.Data.(*RunStarted)
	_, resumed := ev.Data.(*RunResumed)
	switch {
	case r.s.Status.Ended() && !resumed:
		return "the run has ended"
	case r.s.Status == StatusPending && !started:
		return "the run has not started"
	}
	if _, start := ev.Data.(*StepStarted); start || ev.Step == 0 {
		return ""
	}
	if ev.Step < 0 || ev.Step > r.s.Steps.len() {
		return "step " + strconv.Itoa(ev.Step) + " does not exist"
	}
	if ev.Node != r.nodeID(ev.Step) {
		return "step " + strconv.Itoa(ev.Step) + " is one of node " + strconv.Quote(r.nodeID(ev.Step)) + ", not " + strconv.Quote(ev.Node)
	}
	return ""
}

func (r *Run) oddRun(ev *Event) string {
	switch d := ev.Data.(type) {
	case *RunStarted:
		if r.s.Status != StatusPending {
			return "the run has already started"
		}
	case *RunPaused:
		if w := r.wait(d.Wait); r.s.Status != StatusRunning || w == nil || !w.open() || w.Step != ev.Step {
			return "no open wait"
		}
	case *RunResumed:
		ended := r.s.Status.Ended()
		if ended && (r.s.Status != StatusFailed || r.s.Limit == "") || ended != (d.Limits != nil) {
			return "the run is " + string(r.s.Status)
		}
	case *RunCompleted:
		if d.OutputStep != r.scope(0).Last || len(r.s.Running) > 0 {
			return "steps have not ended"
		}
	case *RunFailed: // drivers fail runs that cannot go on, whatever is at work in them
	case *RunCancelled:
		if len(r.s.Running) > 0 {
			return "steps have not ended"
		}
	case *RunCancelling:
		if r.s.Status != StatusRunning || r.cancelled() {
			return "the run cannot be cancelled now"
		}
	case *LimitReached:
		if d.IsHandoff() && (r.plan.root.w.Rules.Handoff == "" || len(r.s.Running) > 0) {
			return "no handoff is possible"
		}
	}
	return ""
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
