package engine

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// ParseDecision reads an answer to an approval (S0-31). An object counts by its string `decision`; a text is a rejection if it contains
// "reject" or is no, n, deny or false, and an approval only if the whole of it is one of approve, approved, yes, y, ok, true. Everything else is
// ErrAnswer: a gate does not open on what nobody meant.
func ParseDecision(v Value) (decision, note string, err error) {
	var obj map[string]json.RawMessage
	if json.Unmarshal(v, &obj) == nil && obj != nil {
		var text string
		if json.Unmarshal(obj["note"], &note) != nil {
			note = ""
		}
		if json.Unmarshal(obj["decision"], &text) == nil {
			switch strings.ToLower(strings.TrimSpace(text)) {
			case workflow.PortApprove:
				return workflow.PortApprove, note, nil
			case workflow.PortReject:
				return workflow.PortReject, note, nil
			}
		}
		return "", "", fmt.Errorf(`%w: "decision" must be "approve" or "reject"`, ErrAnswer)
	}
	var text string
	if json.Unmarshal(v, &text) != nil || len(bytes.TrimSpace(v)) == 0 {
		return "", "", fmt.Errorf(`%w: answer "approve" or "reject"`, ErrAnswer)
	}
	word := strings.ToLower(strings.Trim(strings.TrimSpace(text), " \t\r\n.,;:!?"))
	switch word {
	case "no", "n", "deny", "false":
		return workflow.PortReject, "", nil
	case "approve", "approved", "yes", "y", "ok", "true":
		return workflow.PortApprove, "", nil
	}
	if strings.Contains(strings.ToLower(text), "reject") {
		return workflow.PortReject, "", nil
	}
	return "", "", fmt.Errorf(`%w: %q is neither approve nor reject`, ErrAnswer, text)
}

// checkAnswer finds the wait that an answer is for and reads the answer. A nil wait with a nil error means that the same answer was given before.
func (r *Run) checkAnswer(d Answer) (*wait, *WaitAnswered, error) {
	d.Key = event.Clean(d.Key)
	before := r.answeredWith(d.Key)
	if before != nil {
		if d.Wait != "" && d.Wait != before.ID {
			return nil, nil, fmt.Errorf("%w: the key %q was used for the answer to wait %s", ErrAnswer, d.Key, before.ID)
		}
		d.Wait = before.ID
	}
	w, err := r.findWait(d.Wait)
	if err != nil {
		return nil, nil, err
	}
	ans := &WaitAnswered{Wait: w.ID, Key: d.Key, By: d.By.Clean(), Trace: event.Clean(d.Trace)}
	if w.Kind == workflow.WaitApproval {
		if ans.Decision, ans.Note, err = ParseDecision(d.Value); err != nil {
			return nil, nil, err
		}
		if d.Note != "" {
			ans.Note = event.Clean(d.Note)
		}
	} else {
		if len(d.Value) == 0 {
			return nil, nil, fmt.Errorf("%w: the question %q needs an answer", ErrAnswer, w.Prompt)
		}
		if checkValues(w.ID, d.Value) != nil {
			return nil, nil, fmt.Errorf("%w: it is not JSON", ErrAnswer)
		}
		ans.Answer, ans.Note = event.Compact(d.Value), event.Clean(d.Note)
		if len(w.Schema) > 0 && w.Below == nil { // the run that asks has taken it
			if ans.Answer, err = fitAnswer(w.Schema, ans.Answer); err != nil {
				return nil, nil, err
			}
		}
		if w.Limit != nil && w.Answer == nil {
			if ans.Limits, err = r.largerBudget(w.Limit, expr.Text(d.Value)); err != nil {
				return nil, nil, err
			}
		}
		if w.Call != "" && w.Binding == "" && !slices.Contains(w.Options, expr.Text(d.Value)) {
			return nil, nil, fmt.Errorf("%w: answer one of %s", ErrAnswer, strings.Join(w.Options, ", "))
		}
	}
	switch {
	case w.Answer != nil && w.Answer.Decision == ans.Decision && bytes.Equal(w.Answer.Answer, ans.Answer):
		return nil, nil, nil
	case before != nil:
		return nil, nil, fmt.Errorf("%w: the key %q was used for a different answer", ErrAnswer, d.Key)
	case w.Answer != nil:
		return nil, nil, fmt.Errorf("%w: wait %s", ErrWaitAnswered, w.ID)
	case w.Closed != "" || r.s.Status.Ended():
		return nil, nil, fmt.Errorf("%w: wait %s", ErrWaitClosed, w.ID)
	}
	return w, ans, nil
}

// CheckAnswer tells whether the run takes an answer as it stands, and gives the id of its wait; "" where the same answer was given before. It changes nothing. Errors:
// those of answers (ErrWait…, ErrAnswer).
func (r *Run) CheckAnswer(d Answer) (wait string, err error) {
	w, _, err := r.checkAnswer(d)
	if err != nil || w == nil {
		return "", err
	}
	return w.ID, nil
}

// answeredWith gives the wait whose answer came with a key; nil where none did, and for "".
func (r *Run) answeredWith(key string) *wait {
	if key == "" {
		return nil
	}
	for i := range r.s.Waits {
		if w := &r.s.Waits[i]; w.Answer != nil && w.Answer.Key == key {
			return w
		}
	}
	return nil
}

// findWait gives the wait with that id; without id the only open one, or the oldest where the workflow holds while paused (D17). Where none is open it is the
// one that ended last: a caller that repeats an answer need not know its wait (P24).
func (r *Run) findWait(id string) (*wait, error) {
	if id != "" {
		if w := r.wait(id); w != nil {
			return w, nil
		}
		return nil, fmt.Errorf("%w: %q", ErrWaitNotFound, id)
	}
	if r.s.Open == 0 {
		return r.lastEnded()
	}
	if r.s.Open > 1 && !r.plan.root.w.Rules.HoldWhilePaused {
		return nil, ErrWaitAmbiguous
	}
	for i := range r.s.Waits {
		if r.s.Waits[i].open() {
			return &r.s.Waits[i], nil
		}
	}
	return nil, ErrWaitNotFound
}

// lastEnded gives the wait that was answered or closed last.
func (r *Run) lastEnded() (*wait, error) {
	var last *wait
	for i := range r.s.Waits {
		if w := &r.s.Waits[i]; last == nil || w.Ended > last.Ended {
			last = w
		}
	}
	if last == nil {
		return nil, fmt.Errorf("%w: the run has no open wait", ErrWaitNotFound)
	}
	return last, nil
}

func (r *Run) handleAnswer(d Answer) {
	w, ans, err := r.checkAnswer(d)
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
		if what := expr.Text(ans.Answer); what != "retry" && r.s.Calls[call] != nil {
			r.lost(call, what)
		}
		return
	}
	if ans.Decision != "" {
		r.complete(step, &StepCompleted{Same: true}, ans.Decision)
		return
	}
	r.answeredQuestion(step, ans.Answer, &StepCompleted{Given: true})
}

// answeredQuestion completes a question with its answer, which is the output that done says.
func (r *Run) answeredQuestion(step int, answer Value, done *StepCompleted) {
	n := r.stepNode(step)
	if name := n.Wait.Mapper; name != "" {
		update, err := r.plan.askUpdate(name, func(h Host) (map[string]Value, error) {
			return h.Merge(name, map[string]Value{n.ID: answer}, r.view(step, nil))
		})
		if err != nil {
			r.failStep(step, Failure{Code: CodeFunc, Message: err.Error()})
			return
		}
		done.Update = update
	}
	if port := workflow.NextPort(expr.Text(answer)); n.Wait.Route && len(n.ports[port]) > 0 {
		r.complete(step, done, port)
		return
	}
	if (n.Wait.Route || n.ID == r.flowOf(step).w.Rules.Handoff) && len(n.ports[workflow.PortOut]) == 0 {
		done.Goto = []string{r.flowOf(step).w.Entry}
	}
	r.complete(step, done, r.plan.out...)
}

// openWait asks a person.
func (r *Run) openWait(id int, n *node) {
	if n.Wait.AutoApprove {
		if n.Wait.Kind == workflow.WaitApproval {
			r.complete(id, &StepCompleted{Same: true}, workflow.PortApprove)
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
	d.Prompt = expr.ExpandTokens(n.Wait.Prompt, previousOutput, expr.Text(r.stepInput(id)), approvalNote, r.noteAt(id))
	if n.Wait.PromptFunc != "" {
		var err error
		if data, err = r.askPrompt(id, n.Wait.PromptFunc, d); err != nil {
			r.failStep(id, Failure{Code: CodeFunc, Message: err.Error()})
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
	all := map[string]Value{"nodeId": expr.Quote(r.nodeID(id)), "requestId": expr.Quote(requestID(r.id, d.Wait))}
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
	v, err := r.plan.askValue(name, func(h Host) (Value, error) { return h.Value(name, r.view(id, nil)) })
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

// deadline ends a wait that nobody answered in time.
func (r *Run) deadline(id string) {
	w := r.wait(id)
	if w == nil || !w.open() {
		return
	}
	step := w.Step
	if r.s.Status == StatusPaused {
		r.emit(0, "", &RunResumed{Reason: "deadline"})
	}
	r.emitStep(step, &WaitClosed{Wait: id, Reason: "deadline", By: Actor{Channel: ChannelClock}})
	if n := r.stepNode(step); len(n.ports[workflow.PortTimeout]) > 0 {
		r.complete(step, &StepCompleted{Same: true}, workflow.PortTimeout)
		return
	}
	r.failStep(step, Failure{Code: CodeDeadline, Message: "no answer before the deadline"})
}

// closeWaits closes the open waits that match.
func (r *Run) closeWaits(match func(*wait) bool, reason string) {
	if r.s.Open == 0 {
		return
	}
	for i := range r.s.Waits {
		if w := &r.s.Waits[i]; w.open() && match(w) {
			r.emitStep(w.Step, &WaitClosed{Wait: w.ID, Reason: reason})
		}
	}
}

func anyWait(*wait) bool { return true }

// holding tells whether steps that become ready through step id are queued (D18): an open wait holds everything but the branch whose turn it is.
func (r *Run) holding(id int) bool {
	if !r.plan.root.w.Rules.HoldWhilePaused || r.s.Open == 0 && !r.s.Drain.On {
		return false
	}
	if r.s.Drain.On {
		return r.step(id).Group != r.s.Drain.Group
	}
	return true
}

// releases tells whether the first entry of the queue may start: its turn has come, or nothing holds any more.
func (r *Run) releases() bool {
	if !r.s.Drain.On {
		return r.s.Open == 0
	}
	for _, t := range r.s.Ready {
		if t.Group == r.s.Drain.Group && !isFreeJoin(&r.flows[r.scope(t.Scope).Flow].nodes[t.Node]) { // a join waits for what may be queued itself
			return false
		}
	}
	for _, id := range r.s.Running {
		if st := r.step(id); st.Group == r.s.Drain.Group && st.Wait == "" {
			return false
		}
	}
	return true
}
