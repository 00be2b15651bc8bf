package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// people decides what follows from people's answers: questions and approvals of nodes, held tool
// calls, and exhausted budgets. It reads the state and changes it only through events.
type people struct {
	*recorder
	commands *commander
	steps    peopleSteps
	agents   interface{ turnAnswered(step, frame int) }
	calls    peopleCalls
	budgets  peopleBudgets
}

// peopleSteps ends steps.
type peopleSteps interface {
	complete(step int, d *StepCompleted, ports ...string)
	failStep(step int, f Failure)
	failForGood(step int, f Failure)
	cancelStep(step int, reason string)
}

// peopleCalls continues calls that a person has decided about.
type peopleCalls interface {
	// settleLost settles a call with unknown outcome.
	settleLost(key, what string)
	// handledByProgram applies the decision of the node's error handler. It returns false if there
	// is no handler or the handler leaves the failure to others.
	handledByProgram(step int, key string, f *Failure, cause error) bool
}

// peopleBudgets parses an answer to the request for a larger budget.
type peopleBudgets interface {
	largerBudget(met *LimitReached, text string) (*workflow.Limits, error)
}

// readAnswer is [waits.Waits.Read] for an answer that is not a signal.
func (p *people) readAnswer(d Answer) (*waits.Wait, *WaitAnswered, error) {
	return p.state.Waits.Read(waits.Answer(d), p.state.Status.Ended(), p.budgets.largerBudget)
}

func (p *people) handleAnswer(d Answer) {
	if d.Signal != "" {
		p.handleSignal(d)
		return
	}
	w, ans, err := p.readAnswer(d)
	if err != nil || w == nil {
		return
	}
	if w.Limit != nil {
		p.answeredBudget(w, ans)
		return
	}
	step, call, held := w.Step, w.Call, w.Binding != ""
	done := &StepCompleted{Given: true}
	if p.graph.StepNode(step).Kind == workflow.KindFunc {
		done.Goto = p.graph.Step(step).GotoOf(done) // of the function's result, which the answer replaces
	}
	if p.state.Status == StatusPaused {
		p.emit(0, "", &RunResumed{Reason: "answer"})
	}
	p.emitStep(step, ans)
	if held {
		p.continueHeld(call, ans)
		return
	}
	if call != "" {
		if what := expr.Text(ans.Answer); what != "retry" && p.state.Loop.Call(call) != nil {
			p.calls.settleLost(call, what)
		}
		return
	}
	if ans.Decision != "" {
		p.decideApproval(step, ans.Decision, ans.Note)
		return
	}
	if p.graph.StepNode(step).Kind == workflow.KindFunc {
		p.steps.complete(step, done, p.state.plan.out...)
		return
	}
	p.answeredQuestion(step, ans.Answer, done)
}

// decideApproval ends the step of an approval according to the decision of a person or of its
// deadline.
func (p *people) decideApproval(step int, decision, note string) {
	if n := p.graph.StepNode(step); decision == workflow.PortReject && n.Wait.FailReject &&
		len(n.Ports[workflow.PortReject]) == 0 {
		// no retry policy applies: a person rejected it
		p.steps.failForGood(step, Failure{Code: CodeRejected, Message: refused(n.Title(), note)})
		return
	}
	p.steps.complete(step, &StepCompleted{Same: true}, decision)
}

// answeredQuestion completes a question with its answer; done determines the output.
func (p *people) answeredQuestion(step int, answer Value, done *StepCompleted) {
	n := p.graph.StepNode(step)
	if name := n.Wait.Mapper; name != "" {
		update, err := p.state.plan.askUpdate(name, func(h Host) (map[string]Value, error) {
			return h.Merge(name, map[string]Value{n.ID: answer}, viewer{&p.state}.view(step, nil))
		})
		if err != nil {
			p.steps.failStep(step, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
		done.Update = update
	}
	if port := workflow.NextPort(workflow.Named(expr.Text(answer), n.Wait.Options...)); n.Wait.Route && len(n.Ports[port]) > 0 {
		p.steps.complete(step, done, port)
		return
	}
	if (n.Wait.Route || n.ID == p.graph.FlowOf(step).Workflow.Rules.Handoff) && len(n.Ports[workflow.PortOut]) == 0 {
		done.Goto = []string{p.graph.FlowOf(step).Workflow.Entry}
	}
	p.steps.complete(step, done, p.state.plan.out...)
}

// openWait opens a wait for a person.
func (p *people) openWait(id int, n *plan.Node) {
	if n.Wait.AutoApprove {
		if n.Wait.Kind == workflow.WaitApproval {
			p.steps.complete(id, &StepCompleted{Same: true}, workflow.PortApprove)
		} else {
			empty := Value(`""`)
			p.answeredQuestion(id, empty, &StepCompleted{Output: empty})
		}
		return
	}
	var data map[string]Value
	d := &WaitOpened{Wait: p.newWait(id), Kind: n.Wait.Kind, Options: n.Wait.Options}
	if n.Wait.Kind == workflow.WaitApproval {
		d.Options = []string{workflow.PortApprove, workflow.PortReject}
	}
	d.Schema, d.Roles = n.Wait.Schema, n.Wait.Roles
	if n.Wait.Kind == workflow.WaitSignal {
		d.Signal = n.Wait.Await
		if f := n.Wait.Filter; f != nil {
			d.Filter = f.Text + f.Func
		}
	}
	if n.Wait.Template {
		var f *Failure
		if d.Prompt, f = (viewer{&p.state}).expand("prompt", n.Text, viewer{&p.state}.envOf(id)); f != nil {
			p.steps.failStep(id, *f)
			return
		}
	} else {
		d.Prompt = expr.ExpandTokens(n.Wait.Prompt, plan.PreviousOutput, expr.Text(p.graph.StepInput(id)), approvalNote,
			p.state.noteAt(id))
	}
	if n.Wait.PromptFunc != "" {
		var err error
		if data, err = p.askPrompt(id, n.Wait.PromptFunc, d); err != nil {
			p.steps.failStep(id, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
	}
	if n.Wait.Deadline > 0 {
		d.Deadline = p.now.Add(time.Duration(n.Wait.Deadline))
	}
	if d.Signal == "" || n.Wait.Remind > 0 { // the run's own reminder is only for people
		d.Remind = p.state.remindAt(p.now, n.Wait.Remind)
	}
	if !d.Deadline.IsZero() && !d.Remind.Before(d.Deadline) {
		d.Remind = time.Time{} // it would come too late
	}
	p.emitStep(id, d)
	if n.Wait.Signal != "" {
		p.announce(id, n.Wait.Signal, d, data)
	}
	if d.Signal != "" {
		p.takeKept(id, d.Wait)
	}
}

// newWait returns the id of the next wait of a step.
func (p *people) newWait(id int) string {
	name := "w" + strconv.Itoa(id)
	if n := p.graph.Step(id).Retries; n > 0 {
		name += "." + strconv.Itoa(n+1)
	}
	return name
}

// ask asks the question of a function (S2-52): the message of its signal, or else the question in
// its data, with the options in its data. update is as for mergeConcurrent.
func (p *people) ask(id int, question *SignalRaised, update map[string]Value) {
	done := &StepCompleted{Given: true, Update: update}
	p.graph.ShortenUpdate(id, done)
	d := &WaitOpened{Wait: p.newWait(id), Kind: workflow.WaitQuestion, Options: optionsIn(question.Data["options"]),
		Prompt: cmp.Or(question.Message, expr.Text(question.Data["question"]), p.graph.StepNode(id).Title()),
		Remind: p.state.remindAt(p.now, 0), Update: done.Update, Edits: done.Edits}
	raised := *question
	raised.Message, raised.Data = d.Prompt, p.dataOf(id, d, question.Data)
	p.emitStep(id, &raised)
	p.emitStep(id, d)
}

// optionsIn returns the options in the data of a question: a list of texts, or of objects with a
// label. It returns nil for anything else.
func optionsIn(v Value) []string {
	var options []string
	if json.Unmarshal(v, &options) == nil {
		return options
	}
	var labelled []struct {
		Label string `json:"label"`
	}
	if json.Unmarshal(v, &labelled) != nil {
		return nil
	}
	options = nil
	for _, o := range labelled {
		if o.Label != "" {
			options = append(options, o.Label)
		}
	}
	return options
}

// dataOf returns the data of the signal that announces a question; the program's own data takes
// precedence.
func (p *people) dataOf(id int, d *WaitOpened, own map[string]Value) map[string]Value {
	all := map[string]Value{"nodeId": expr.Quote(p.graph.NodeID(id)),
		"requestId": expr.Quote(requestID(p.state.id, d.Wait))}
	maps.Copy(all, own)
	return all
}

// announce raises the signal of a question that was opened (S2-53, S2-74). If the program provided
// data with the question, a separate event carries the same data.
func (p *people) announce(id int, signal string, d *WaitOpened, data map[string]Value) {
	all := p.dataOf(id, d, data)
	if data != nil {
		p.emitStep(id, &SignalRaised{Signal: signal, Message: d.Prompt, Data: all, Event: true})
	}
	p.emitStep(id, &SignalRaised{Signal: signal, Message: d.Prompt, Data: all})
}

// requestID returns the id that identifies a question across runs, built as in package program.
func requestID(run, wait string) string { return run + "/" + wait }

// askPrompt lets the program word a question. It returns the data that the program attaches to it.
func (p *people) askPrompt(id int, name string, d *WaitOpened) (map[string]Value, error) {
	v, err := p.state.plan.askValue(name, func(h Host) (Value, error) {
		return h.Value(name, viewer{&p.state}.view(id, nil))
	})
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(v, &d.Prompt) == nil {
		return nil, nil
	}
	var q struct {
		Prompt  string           `json:"prompt"`
		Options []string         `json:"options"`
		Data    map[string]Value `json:"data"`
	}
	if err := json.Unmarshal(v, &q); err != nil {
		return nil, fmt.Errorf("function %q returned no question: %w", name, err)
	}
	d.Prompt = q.Prompt
	if d.Kind == workflow.WaitQuestion {
		d.Options = q.Options
	}
	return q.Data, nil
}

// timerDue sends the reminder of a wait, or ends a wait that was not answered in time.
func (p *people) timerDue(t waits.Timer) {
	if p.now.Before(t.At) {
		p.commands.add(startWaitTimer(t))
		return
	}
	p.emitStep(t.Step, &TimerFired{Timer: t.ID})
	if t.IsRemind {
		p.emitStep(t.Step, &WaitReminded{Wait: t.Wait})
		return
	}
	if p.state.Status == StatusPaused {
		p.emit(0, "", &RunResumed{Reason: "deadline"})
	}
	p.emitStep(t.Step, &WaitClosed{Wait: t.Wait, Reason: "deadline", By: Actor{Channel: ChannelClock}})
	n := p.graph.StepNode(t.Step)
	switch {
	case len(n.Ports[workflow.PortTimeout]) > 0:
		p.steps.complete(t.Step, &StepCompleted{Same: true}, workflow.PortTimeout)
		return
	case n.Wait.OnDeadline != "":
		p.decideApproval(t.Step, n.Wait.OnDeadline, "")
		return
	case n.Wait.DefaultFunc != "":
		name := n.Wait.DefaultFunc
		v, err := p.state.plan.askValue(name, func(h Host) (Value, error) {
			return h.Value(name, viewer{&p.state}.view(t.Step, nil))
		})
		if err != nil {
			p.steps.failStep(t.Step, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
		p.answeredQuestion(t.Step, v, &StepCompleted{Output: v})
		return
	case n.Value != nil:
		seen := viewer{&p.state}.envOf(t.Step)
		v, f := seen.evaluate("default", n.Value, seen)
		if f != nil {
			p.steps.failStep(t.Step, *f)
			return
		}
		p.steps.complete(t.Step, &StepCompleted{Output: v}, p.state.plan.out...)
		return
	}
	what := "no answer"
	if n.Wait.Kind == workflow.WaitSignal {
		what = "no signal " + strconv.Quote(n.Wait.Await)
	}
	p.steps.failStep(t.Step, Failure{Code: CodeDeadline, Message: what + " before the deadline"})
}

// closeWaits closes the open waits that match; nil matches all.
func (p *people) closeWaits(match func(*waits.Wait) bool, reason string) {
	for _, w := range p.state.Waits.Open(match) {
		p.emitStep(w.Step, &WaitClosed{Wait: w.Wait, Reason: reason})
	}
}

// queueMayStart reports whether the first entry of the queue may start: its turn has come, or
// nothing is holding it any more.
func (s *state) queueMayStart() bool {
	group, on := s.Waits.Turn()
	if !on {
		return !s.Waits.IsOpen()
	}
	for _, t := range s.graph.Ready {
		// a join waits for entries that may be queued themselves
		if t.Group == group && !plan.IsFreeJoin(&s.graph.FlowIn(t.Scope).Nodes[t.Node]) {
			return false
		}
	}
	for _, id := range s.graph.Running {
		if st := s.graph.Step(id); st.Group == group && st.Wait == "" {
			return false
		}
	}
	return true
}

// remindAt returns the time of the reminder of a wait opened at opened: after own, or after the
// run's setting; zero means none.
func (s *state) remindAt(opened time.Time, own workflow.Duration) time.Time {
	after := cmp.Or(own, s.Created.Remind)
	if after <= 0 {
		return time.Time{}
	}
	return opened.Add(time.Duration(after))
}
