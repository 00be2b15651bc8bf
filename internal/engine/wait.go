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

// readAnswer is [waits.Waits.Read].
func (r *Run) readAnswer(d Answer) (*waits.Wait, *WaitAnswered, error) {
	return r.s.Waits.Read(waits.Answer(d), r.s.Status.Ended(), r.budgets.largerBudget)
}

// CheckAnswer tells whether the run takes an answer as it stands, and gives the id of its wait; "" where the same answer was given before. It changes nothing. Errors:
// those of answers (ErrWait…, ErrAnswer).
func (r *Run) CheckAnswer(d Answer) (wait string, err error) {
	w, _, err := r.readAnswer(d)
	if err != nil || w == nil {
		return "", err
	}
	return w.Wait, nil
}

func (r *Run) handleAnswer(d Answer) {
	w, ans, err := r.readAnswer(d)
	if err != nil || w == nil {
		return
	}
	if w.Limit != nil {
		r.answeredBudget(w, ans)
		return
	}
	step, call, held := w.Step, w.Call, w.Binding != ""
	if r.s.Status == StatusPaused {
		r.emit(0, "", &RunResumed{Reason: "answer"})
	}
	r.emitStep(step, ans)
	if held {
		r.decided(call, ans)
		return
	}
	if call != "" {
		if what := expr.Text(ans.Answer); what != "retry" && r.s.Loop.Call(call) != nil {
			r.lost(call, what)
		}
		return
	}
	if ans.Decision != "" {
		r.steps.complete(step, &StepCompleted{Same: true}, ans.Decision)
		return
	}
	r.answeredQuestion(step, ans.Answer, &StepCompleted{Given: true})
}

// answeredQuestion completes a question with its answer, which is the output that done says.
func (r *Run) answeredQuestion(step int, answer Value, done *StepCompleted) {
	n := r.stepNode(step)
	if name := n.Wait.Mapper; name != "" {
		update, err := r.plan.askUpdate(name, func(h Host) (map[string]Value, error) {
			return h.Merge(name, map[string]Value{n.ID: answer}, viewer{&r.s}.view(step, nil))
		})
		if err != nil {
			r.steps.failStep(step, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
		done.Update = update
	}
	if port := workflow.NextPort(expr.Text(answer)); n.Wait.Route && len(n.Ports[port]) > 0 {
		r.steps.complete(step, done, port)
		return
	}
	if (n.Wait.Route || n.ID == r.flowOf(step).Workflow.Rules.Handoff) && len(n.Ports[workflow.PortOut]) == 0 {
		done.Goto = []string{r.flowOf(step).Workflow.Entry}
	}
	r.steps.complete(step, done, r.plan.out...)
}

// openWait asks a person.
func (r *Run) openWait(id int, n *plan.Node) {
	if n.Wait.AutoApprove {
		if n.Wait.Kind == workflow.WaitApproval {
			r.steps.complete(id, &StepCompleted{Same: true}, workflow.PortApprove)
		} else {
			empty := Value(`""`)
			r.answeredQuestion(id, empty, &StepCompleted{Output: empty})
		}
		return
	}
	name := "w" + strconv.Itoa(id)
	if n := r.step(id).Retries; n > 0 {
		name += "." + strconv.Itoa(n+1)
	}
	var data map[string]Value
	d := &WaitOpened{Wait: name, Kind: n.Wait.Kind, Options: n.Wait.Options}
	if n.Wait.Kind == workflow.WaitApproval {
		d.Options = []string{workflow.PortApprove, workflow.PortReject}
	}
	d.Prompt = expr.ExpandTokens(n.Wait.Prompt, plan.PreviousOutput, expr.Text(r.stepInput(id)), approvalNote, r.s.noteAt(id))
	if n.Wait.PromptFunc != "" {
		var err error
		if data, err = r.askPrompt(id, n.Wait.PromptFunc, d); err != nil {
			r.steps.failStep(id, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
	}
	if n.Wait.Deadline > 0 {
		d.Deadline = r.now.Add(time.Duration(n.Wait.Deadline))
	}
	d.Remind = r.remindAt(n.Wait.Remind)
	if !d.Deadline.IsZero() && !d.Remind.Before(d.Deadline) {
		d.Remind = time.Time{} // it would come too late
	}
	r.emitStep(id, d)
	if n.Wait.Signal != "" {
		r.announce(id, n.Wait.Signal, d, data)
	}
}

// remindAt gives the time of the reminder of a wait that is opened now, which is after own, or after what the run says; zero for none.
func (r *Run) remindAt(own workflow.Duration) time.Time {
	after := cmp.Or(own, r.s.Created.Remind)
	if after <= 0 {
		return time.Time{}
	}
	return r.now.Add(time.Duration(after))
}

// announce raises the signal of a question that was opened (S2-53, S2-74). Where the program gave data with the question, an event of its own carries the
// same.
func (r *Run) announce(id int, signal string, d *WaitOpened, data map[string]Value) {
	all := map[string]Value{"nodeId": expr.Quote(r.nodeID(id)), "requestId": expr.Quote(requestID(r.s.id, d.Wait))}
	maps.Copy(all, data)
	if data != nil {
		r.emitStep(id, &SignalRaised{Signal: signal, Message: d.Prompt, Data: all, Event: true})
	}
	r.emitStep(id, &SignalRaised{Signal: signal, Message: d.Prompt, Data: all})
}

// requestID names a question beyond its run, as package program does too.
func requestID(run, wait string) string { return run + "/" + wait }

// askPrompt lets the program word a question. It gives the data that the program wants to go with it.
func (r *Run) askPrompt(id int, name string, d *WaitOpened) (map[string]Value, error) {
	v, err := r.plan.askValue(name, func(h Host) (Value, error) { return h.Value(name, viewer{&r.s}.view(id, nil)) })
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

// handleWaitTimer reminds of a wait, or ends one that was not answered in time.
func (r *Run) handleWaitTimer(t waits.Timer) {
	if r.now.Before(t.At) {
		r.commands.add(startWaitTimer(t))
		return
	}
	r.emitStep(t.Step, &TimerFired{Timer: t.ID})
	if t.IsRemind {
		r.emitStep(t.Step, &WaitReminded{Wait: t.Wait})
		return
	}
	if r.s.Status == StatusPaused {
		r.emit(0, "", &RunResumed{Reason: "deadline"})
	}
	r.emitStep(t.Step, &WaitClosed{Wait: t.Wait, Reason: "deadline", By: Actor{Channel: ChannelClock}})
	if n := r.stepNode(t.Step); len(n.Ports[workflow.PortTimeout]) > 0 {
		r.steps.complete(t.Step, &StepCompleted{Same: true}, workflow.PortTimeout)
		return
	}
	r.steps.failStep(t.Step, Failure{Code: CodeDeadline, Message: "no answer before the deadline"})
}

// closeWaits closes the open waits that match; nil matches all.
func (r *Run) closeWaits(match func(*waits.Wait) bool, reason string) {
	for _, w := range r.s.Waits.Open(match) {
		r.emitStep(w.Step, &WaitClosed{Wait: w.Wait, Reason: reason})
	}
}

// releases tells whether the first entry of the queue may start: its turn has come, or nothing holds any more.
func (s *state) releases() bool {
	group, on := s.Waits.Turn()
	if !on {
		return !s.Waits.IsOpen()
	}
	for _, t := range s.graph.Ready {
		if t.Group == group && !plan.IsFreeJoin(&s.graph.FlowIn(t.Scope).Nodes[t.Node]) { // a join waits for what may be queued itself
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
