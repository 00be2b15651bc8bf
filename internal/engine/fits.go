package engine

import (
	"slices"
	"strconv"
	"strings"

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
	case *ModelCalled, *ToolCalled, *FuncCalled:
		why = r.oddCall(ev)
	case *ModelReplied:
		why = r.oddResult(ev, callModel, d.Call, d.Attempt, d.Late)
	case *ModelFailed:
		why = r.oddResult(ev, callModel, d.Call, d.Attempt, d.Late)
	case *ToolReturned:
		if d.Call != "" {
			why = r.oddResult(ev, callTool, d.Call, d.Attempt, d.Late)
		}
	case *ToolFailed:
		why = r.oddResult(ev, callTool, d.Call, d.Attempt, d.Late)
	case *FuncReturned:
		if why = r.oddResult(ev, callFunc, d.Call, d.Attempt, d.Late); why == "" {
			why = r.oddEdits(ev, d)
		}
	case *SubagentStarted:
		why = r.oddSubagent(ev, d)
	case *AgentHanded:
		why = r.oddHanded(ev, d)
	case *WaitOpened, *WaitAnswered, *WaitReminded, *WaitClosed, *FuncNoted, *ChildStarted, *CallUsed, *CallReserved, *TimerFired:
		why = kinds[ev.Data.Type()].check(r, ev)
	default:
		why = r.oddRun(ev)
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
		if err := r.stateAt(st.Scope).Check(d.Edits); err != nil {
			return err.Error()
		}
	case *StepRetrying:
		if c := r.s.Calls[d.Call]; d.Call != "" && (c == nil || c.Step != ev.Step || c.State != callFailed) {
			return "call " + d.Call + " has not failed"
		}
	}
	return ""
}

// oddCall looks at a call that begins: its name says where it belongs, and its attempts count up.
func (r *Run) oddCall(ev *Event) string {
	if ev.Step == 0 {
		return "" // apply says what is wrong
	}
	st, n := r.step(ev.Step), r.stepNode(ev.Step)
	var c call
	key, agent, odd := "", true, ""
	switch d := ev.Data.(type) {
	case *ModelCalled:
		key, c = d.Call, call{Kind: callModel, Frame: d.Frame, Attempt: d.Attempt}
		if n.Kind != workflow.KindAgent {
			odd = "the step calls no model"
		}
	case *ToolCalled:
		key, c = d.Call, call{Kind: callTool, Frame: d.Frame, Attempt: d.Attempt}
		if agent = d.ToolCallID != ""; !agent && n.Kind != workflow.KindTool {
			odd = "the step calls no tool"
		}
	case *FuncCalled:
		key, c, agent = d.Call, call{Kind: callFunc, Attempt: d.Attempt}, false
		if n.Kind != workflow.KindFunc {
			odd = "the step calls no function"
		}
	}
	if odd != "" {
		return odd
	}
	next := st.Tries + 1
	if agent {
		if st.Agent == nil || c.Frame < 0 || c.Frame >= len(st.Agent.Frames) || st.Agent.Frames[c.Frame].Done {
			return "frame " + strconv.Itoa(c.Frame) + " is not active"
		}
		next = 1
	}
	old := r.s.Calls[key]
	if old != nil && (old.Kind != c.Kind || old.Step != ev.Step || old.Frame != c.Frame || old.State == callOpen || agent && old.State == callCancelled) {
		return "call " + key + " has a different step, kind or state"
	}
	if old != nil && agent {
		next = old.Attempt + 1
	}
	number, ok := strings.CutPrefix(key, convID(ev.Step, c.Frame)+".")
	if nth, err := strconv.Atoi(number); !ok || err != nil || nth < 1 || nth > st.Calls+1 {
		return "call " + strconv.Quote(key) + " is not one of the step"
	}
	if c.Attempt != next {
		return "expected attempt " + strconv.Itoa(next)
	}
	return r.oddFrame(ev, old)
}

// oddFrame looks at what a call of an agent loop says about it.
func (r *Run) oddFrame(ev *Event, old *call) string {
	switch d := ev.Data.(type) {
	case *ModelCalled:
		fr := r.frame(ev.Step, d.Frame)
		if v := d.Reserved; v != nil && (v.Input < 0 || v.Output < 1) {
			return "it reserves nothing"
		}
		if d.Conversation != fr.Conv || d.Agent != fr.Agent {
			return "frame " + strconv.Itoa(d.Frame) + " belongs to another agent"
		}
		if len(fr.Turn) > 0 && fr.Conv != sharedConv {
			return "tool calls are open"
		}
	case *ToolCalled:
		if d.ToolCallID == "" {
			return ""
		}
		if old != nil && old.ToolID != d.ToolCallID || !r.asked(ev.Step, d.Frame, d.ToolCallID) {
			return "tool call " + d.ToolCallID + " is not open"
		}
	}
	return ""
}

// asked tells whether the model of a frame waits for the result of a tool call.
func (r *Run) asked(step, fr int, toolCall string) bool {
	return slices.ContainsFunc(r.frame(step, fr).Turn, func(t turnCall) bool { return t.ID == toolCall && !t.Done })
}

// oddResult looks at the end of a call: it must be out, or, where it comes late, cancelled.
func (r *Run) oddResult(ev *Event, kind callKind, key string, attempt int, late bool) string {
	c := r.s.Calls[key]
	switch {
	case c == nil || c.Kind != kind || c.Step != ev.Step:
		return "call " + key + " does not exist"
	case c.Attempt != attempt:
		return "call " + key + " is at attempt " + strconv.Itoa(c.Attempt)
	case late != (c.State == callCancelled), !late && c.State != callOpen && c.State != callAsking && (kind != callTool || c.State != callFailed):
		return "call " + key + " is in another state"
	}
	return ""
}

// oddEdits looks at the changes of a stored result: they apply to what the function was given, which only a result in time changes.
func (r *Run) oddEdits(ev *Event, d *FuncReturned) string {
	if len(d.Edits) == 0 {
		return ""
	}
	if d.Late || d.Error != nil {
		return "the result does not count"
	}
	if err := r.step(ev.Step).View.Check(d.Edits); err != nil {
		return err.Error()
	}
	return ""
}

func (r *Run) oddSubagent(ev *Event, d *SubagentStarted) string {
	if ev.Step == 0 || r.step(ev.Step).Agent == nil {
		return "the step runs no agent"
	}
	if d.Parent < 0 || d.Parent >= len(r.step(ev.Step).Agent.Frames) || !r.asked(ev.Step, d.Parent, d.ToolCallID) {
		return "tool call " + d.ToolCallID + " is not open"
	}
	return ""
}
