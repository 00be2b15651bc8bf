package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/timer"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// readAnswer is [waits.Waits.Read] for an answer that is not a signal.
func (m *machine) readAnswer(d Answer) (*waits.Wait, *event.WaitAnswered, error) {
	return m.state.Waits.Read(waits.Answer(d), m.state.Status.Ended(), m.largerBudget)
}

func (m *machine) handleAnswer(d Answer) error {
	if d.Signal != "" {
		return m.handleSignal(d)
	}
	w, ans, err := m.readAnswer(d)
	if w != nil {
		m.answered(w, ans)
	}
	return err
}

// answered continues with what waited for an answer.
func (m *machine) answered(w *waits.Wait, ans *event.WaitAnswered) {
	if w.Limit != nil {
		m.answeredBudget(w, ans)
		return
	}
	step, call, held := w.Step, w.Call, w.Binding != ""
	done := &event.StepCompleted{Given: true}
	if m.graph.StepNode(step).Kind == workflow.KindFunc {
		done.Goto = m.graph.Step(step).GotoOf(done) // of the function's result, which the answer replaces
	}
	if m.state.Status == event.StatusPaused {
		m.emit(0, "", &event.RunResumed{Reason: "answer"})
	}
	m.emitStep(step, ans)
	if held {
		m.continueHeld(call, ans)
		return
	}
	if call != "" {
		if what := expr.Text(ans.Answer); what != "retry" && m.state.Loop.Call(call) != nil {
			m.settleLost(call, what)
		}
		return
	}
	if ans.Decision != "" {
		m.decideApproval(step, ans.Decision, ans.Note)
		return
	}
	if m.graph.StepNode(step).Kind == workflow.KindFunc {
		m.completeStep(step, done, m.state.plan.out...)
		return
	}
	m.answeredQuestion(step, ans.Answer, done)
}

// decideApproval ends the step of an approval according to the decision of a person or of its
// deadline.
func (m *machine) decideApproval(step int, decision, note string) {
	if n := m.graph.StepNode(step); decision == workflow.PortReject && n.Wait.FailReject &&
		len(n.Ports[workflow.PortReject]) == 0 {
		// no retry policy applies: a person rejected it
		m.failForGood(step, event.Failure{Code: event.CodeRejected, Message: refused(n.Title(), note)})
		return
	}
	m.completeStep(step, &event.StepCompleted{Same: true}, decision)
}

// answeredQuestion completes a question with its answer; done determines the output.
func (m *machine) answeredQuestion(step int, answer event.Value, done *event.StepCompleted) {
	n := m.graph.StepNode(step)
	if name := n.Wait.Mapper; name != "" {
		update, err := m.state.plan.askUpdate(name, func(h Host) (map[string]event.Value, error) {
			return h.Merge(name, map[string]event.Value{n.ID: answer}, m.state.view(step, nil))
		})
		if err != nil {
			m.failStep(step, event.Failure{Code: event.CodeFunc, Message: err.Error()})
			return
		}
		done.Update = update
	}
	port := workflow.NextPort(workflow.Named(expr.Text(answer), n.Wait.Options...))
	if n.Wait.Route && len(n.Ports[port]) > 0 {
		m.completeStep(step, done, port)
		return
	}
	if (n.Wait.Route || n.ID == m.graph.FlowOf(step).Workflow.Rules.Handoff) && len(n.Ports[workflow.PortOut]) == 0 {
		done.Goto = []string{m.graph.FlowOf(step).Workflow.Entry}
	}
	m.completeStep(step, done, m.state.plan.out...)
}

// openWait opens a wait for a person.
func (m *machine) openWait(id int, n *plan.Node) {
	if n.Wait.AutoApprove {
		if n.Wait.Kind == workflow.WaitApproval {
			m.completeStep(id, &event.StepCompleted{Same: true}, workflow.PortApprove)
		} else {
			empty := event.Value(`""`)
			m.answeredQuestion(id, empty, &event.StepCompleted{Output: empty})
		}
		return
	}
	var data map[string]event.Value
	d := &event.WaitOpened{Wait: m.newWait(id), Kind: n.Wait.Kind, Options: n.Wait.Options}
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
		var f *event.Failure
		if d.Prompt, f = m.state.expand("prompt", n.Text, m.state.envOf(id)); f != nil {
			m.failStep(id, *f)
			return
		}
	} else {
		d.Prompt = expr.ExpandTokens(n.Wait.Prompt, plan.PreviousOutput, expr.Text(m.graph.StepInput(id)),
			plan.ApprovalNote, m.state.noteAt(id))
	}
	if n.Wait.PromptFunc != "" {
		var err error
		if data, err = m.askPrompt(id, n.Wait.PromptFunc, d); err != nil {
			m.failStep(id, event.Failure{Code: event.CodeFunc, Message: err.Error()})
			return
		}
	}
	if n.Wait.Deadline > 0 {
		d.Deadline = m.now.Add(time.Duration(n.Wait.Deadline))
	}
	if d.Signal == "" || n.Wait.Remind > 0 { // the run's own reminder is only for people
		d.Remind = m.state.remindAt(m.now, n.Wait.Remind)
	}
	if !d.Deadline.IsZero() && !d.Remind.Before(d.Deadline) {
		d.Remind = time.Time{} // it would come too late
	}
	m.emitStep(id, d)
	if n.Wait.Signal != "" {
		m.announce(id, n.Wait.Signal, d, data)
	}
	if d.Signal != "" {
		m.takeKept(id, d.Wait)
	}
}

// newWait returns the id of the next wait of a step.
func (m *machine) newWait(id int) string {
	name := "w" + strconv.Itoa(id)
	if n := m.graph.Step(id).Retries; n > 0 {
		name += "." + strconv.Itoa(n+1)
	}
	return name
}

// askPerson asks the question of a function (S2-52): the message of its signal, or else the
// question in its data, with the options in its data. update is as for mergeConcurrent. The step
// fails at once if it could not continue after the answer.
func (m *machine) askPerson(id int, question *event.SignalRaised, update map[string]event.Value) {
	if _, failure := m.targets(id, &event.StepCompleted{Given: true}); failure != nil {
		m.failForGood(id, *failure)
		return
	}
	changes, edits := m.graph.Scope(m.graph.Step(id).Scope).State.Shorten(update)
	d := &event.WaitOpened{Wait: m.newWait(id), Kind: workflow.WaitQuestion,
		Options: optionsIn(question.Data["options"]),
		Prompt:  cmp.Or(question.Message, expr.Text(question.Data["question"]), m.graph.StepNode(id).Title()),
		Remind:  m.state.remindAt(m.now, 0), Update: changes, Edits: edits}
	raised := *question
	raised.Message, raised.Data = d.Prompt, m.dataOf(id, d, question.Data)
	m.emitStep(id, &raised)
	m.emitStep(id, d)
}

// optionsIn returns the options in the data of a question: a list of texts, or of objects with a
// label. It returns nil for anything else.
func optionsIn(v event.Value) []string {
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
func (m *machine) dataOf(id int, d *event.WaitOpened, own map[string]event.Value) map[string]event.Value {
	all := map[string]event.Value{"nodeId": expr.Quote(m.graph.NodeID(id)),
		"requestId": expr.Quote(requestID(m.state.id, d.Wait))}
	maps.Copy(all, own)
	return all
}

// announce raises the signal of a question that was opened (S2-53, S2-74). If the program provided
// data with the question, a separate event carries the same data.
func (m *machine) announce(id int, signal string, d *event.WaitOpened, data map[string]event.Value) {
	all := m.dataOf(id, d, data)
	if data != nil {
		m.emitStep(id, &event.SignalRaised{Signal: signal, Message: d.Prompt, Data: all, Event: true})
	}
	m.emitStep(id, &event.SignalRaised{Signal: signal, Message: d.Prompt, Data: all})
}

// requestID returns the id that identifies a question across runs, built as in package program.
func requestID(run, wait string) string { return run + "/" + wait }

// askPrompt lets the program word a question. It returns the data that the program attaches to it.
func (m *machine) askPrompt(id int, name string, d *event.WaitOpened) (map[string]event.Value, error) {
	v, err := m.state.plan.askValue(name, func(h Host) (event.Value, error) {
		return h.Value(name, m.state.view(id, nil))
	})
	if err != nil {
		return nil, err
	}
	if json.Unmarshal(v, &d.Prompt) == nil {
		return nil, nil
	}
	var q struct {
		Prompt  string                 `json:"prompt"`
		Options []string               `json:"options"`
		Data    map[string]event.Value `json:"data"`
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

// waitTimerDue sends the reminder of a wait, or ends a wait that was not answered in time.
func (m *machine) waitTimerDue(step int, k timer.Key) {
	if k.Kind == timer.Remind {
		m.emitStep(step, &event.WaitReminded{Wait: k.Wait})
		return
	}
	if m.state.Status == event.StatusPaused {
		m.emit(0, "", &event.RunResumed{Reason: "deadline"})
	}
	m.emitStep(step, &event.WaitClosed{Wait: k.Wait, Reason: "deadline", By: event.Actor{Channel: event.ChannelClock}})
	n := m.graph.StepNode(step)
	switch {
	case len(n.Ports[workflow.PortTimeout]) > 0:
		m.completeStep(step, &event.StepCompleted{Same: true}, workflow.PortTimeout)
		return
	case n.Wait.OnDeadline != "":
		m.decideApproval(step, n.Wait.OnDeadline, "")
		return
	case n.Wait.DefaultFunc != "":
		name := n.Wait.DefaultFunc
		v, err := m.state.plan.askValue(name, func(h Host) (event.Value, error) {
			return h.Value(name, m.state.view(step, nil))
		})
		if err != nil {
			m.failStep(step, event.Failure{Code: event.CodeFunc, Message: err.Error()})
			return
		}
		m.answeredQuestion(step, v, &event.StepCompleted{Output: v})
		return
	case n.Value != nil:
		seen := m.state.envOf(step)
		v, f := seen.evaluate("default", n.Value, seen)
		if f != nil {
			m.failStep(step, *f)
			return
		}
		m.completeStep(step, &event.StepCompleted{Output: v}, m.state.plan.out...)
		return
	}
	what := "no answer"
	if n.Wait.Kind == workflow.WaitSignal {
		what = "no signal " + strconv.Quote(n.Wait.Await)
	}
	m.failStep(step, event.Failure{Code: event.CodeDeadline, Message: what + " before the deadline"})
}

// closeWaits closes the open waits that match; nil matches all.
func (m *machine) closeWaits(match func(*waits.Wait) bool, reason string) {
	for _, w := range m.state.Waits.Open(match) {
		m.emitStep(w.Step, &event.WaitClosed{Wait: w.Wait, Reason: reason})
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
