package waits

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/form"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// Errors returned for answers.
var (
	// ErrNotFound is returned when no wait has that id, or no wait is open.
	ErrNotFound = errors.New("no such wait")
	// ErrAmbiguous is returned when several waits are open and none was named (P1, D17).
	ErrAmbiguous = errors.New("several waits are open; name one")
	// ErrAnswered is returned when the wait already has a different answer (P24).
	ErrAnswered = errors.New("wait already has a different answer")
	// ErrClosed is returned when the wait was closed without an answer.
	ErrClosed = errors.New("wait is closed")
	// ErrAnswer is returned when the wait cannot accept the answer (S0-31).
	ErrAnswer = errors.New("answer not understood")
	// ErrRole is returned when the wait has roles and the person who answers has none of them
	//
	ErrRole = errors.New("the wait may be answered by others only")
	// ErrSignalWait is returned when the wait takes a signal, which no answer replaces.
	ErrSignalWait = errors.New("the wait takes a signal, not an answer")
)

// Answer is an incoming answer.
type Answer struct {
	// Wait is the id of the wait. "" means the only open wait, or the oldest open wait if an open
	// wait holds the run (D17), or, if no wait is open, the wait that ended last, so that the same
	// answer may arrive again (P24).
	Wait string
	// Value is parsed by ParseDecision for approvals.
	Value event.Value
	// Arguments, if not empty, replace the arguments of the held call that Value approves.
	Arguments event.Value
	// Note, if not empty, replaces the note in Value.
	Note string
	// Key identifies the request, so that a repeated request never answers another wait. "" means
	// that the request has no key.
	Key   string
	By    event.Actor
	Trace string
	// Signal is the name of a signal: Value is then for the oldest wait that takes it, and Wait and
	// Note are "". If Signal is "", this is an answer.
	Signal string
}

// ParseDecision parses an answer to an approval (S0-31). In an object, only the string `decision`
// counts; a string is a rejection if it contains "reject" or is no, n, deny or false, and an
// approval only if all of it is one of approve, approved, yes, y, ok, true. Anything else is
// ErrAnswer: only a clear answer opens a gate.
func ParseDecision(v event.Value) (decision, note string, err error) {
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

// Larger parses the answer to a question about an exceeded budget. It returns the resulting limits,
// or nil if the run is to end.
type Larger func(met *event.LimitReached, text string) (*workflow.Limits, error)

// Read finds the wait that an answer is for and returns the event that the answer produces. A nil
// wait with a nil error means that the same answer was received before. ended reports that the run
// has ended. Errors: ErrNotFound, ErrAmbiguous, ErrRole, ErrAnswer, ErrAnswered, ErrClosed, and
// those of larger.
func (s *Waits) Read(d Answer, ended bool, larger Larger) (*Wait, *event.WaitAnswered, error) {
	d.Key = event.Clean(d.Key)
	before := s.answeredWith(d.Key)
	if before != nil {
		if d.Wait != "" && d.Wait != before.Wait {
			return nil, nil, fmt.Errorf("%w: the key %q was used for the answer to wait %s", ErrAnswer, d.Key,
				before.Wait)
		}
		d.Wait = before.Wait
	}
	w, err := s.find(d.Wait)
	if err != nil {
		return nil, nil, err
	}
	if w.isSignal() && w.Below == nil {
		return nil, nil, fmt.Errorf("%w: wait %s takes %q", ErrSignalWait, w.Wait, w.Signal)
	}
	if len(w.Roles) > 0 && w.Below == nil && !d.By.HasRole(w.Roles) { // already checked by the run that asks
		return nil, nil, fmt.Errorf("%w: wait %s is for %s, and %s is none of them", ErrRole, w.Wait,
			strings.Join(w.Roles, ", "), d.By)
	}
	ans := &event.WaitAnswered{Wait: w.Wait, Key: d.Key, By: d.By.Clean(), Trace: event.Clean(d.Trace)}
	if w.Kind == workflow.WaitApproval {
		if ans.Decision, ans.Note, err = ParseDecision(d.Value); err != nil {
			return nil, nil, err
		}
		if d.Note != "" {
			ans.Note = event.Clean(d.Note)
		}
		if ans.Arguments, err = w.editedArguments(d.Arguments, ans.Decision); err != nil {
			return nil, nil, err
		}
	} else {
		if len(d.Arguments) > 0 {
			return nil, nil, fmt.Errorf("%w: wait %s is a question; it has no arguments", ErrAnswer, w.Wait)
		}
		if len(d.Value) == 0 {
			return nil, nil, fmt.Errorf("%w: the question %q needs an answer", ErrAnswer, w.Prompt)
		}
		if !json.Valid(d.Value) {
			return nil, nil, fmt.Errorf("%w: it is not JSON", ErrAnswer)
		}
		ans.Answer, ans.Note = event.Compact(d.Value), event.Clean(d.Note)
		if len(w.Schema) > 0 && w.Below == nil { // already checked by the run that asks
			if ans.Answer, err = fitAnswer(w.Schema, ans.Answer); err != nil {
				return nil, nil, err
			}
		}
		if w.Limit != nil && w.Answer == nil {
			if ans.Limits, err = larger(w.Limit, expr.Text(d.Value)); err != nil {
				return nil, nil, err
			}
		}
		if w.Call != "" && w.Binding == "" && !slices.Contains(w.Options, expr.Text(d.Value)) {
			return nil, nil, fmt.Errorf("%w: answer one of %s", ErrAnswer, strings.Join(w.Options, ", "))
		}
	}
	switch {
	case w.Answer != nil && w.Answer.Decision == ans.Decision && bytes.Equal(w.Answer.Answer, ans.Answer) &&
		bytes.Equal(w.Answer.Arguments, ans.Arguments):
		return nil, nil, nil
	case before != nil:
		return nil, nil, fmt.Errorf("%w: the key %q was used for a different answer", ErrAnswer, d.Key)
	case w.Answer != nil:
		return nil, nil, fmt.Errorf("%w: wait %s", ErrAnswered, w.Wait)
	case w.Closed != "" || ended:
		return nil, nil, fmt.Errorf("%w: wait %s", ErrClosed, w.Wait)
	}
	return w, ans, nil
}

// find returns the wait with the given id or, if id is "", the one that the comment on Answer.Wait
// describes.
func (s *Waits) find(id string) (*Wait, error) {
	if id != "" {
		if w := s.Get(id); w != nil {
			return w, nil
		}
		return nil, fmt.Errorf("%w: %q", ErrNotFound, id)
	}
	switch open := s.Open(func(w *Wait) bool { return !w.isSignal() }); {
	case len(open) > 1 && !s.queues:
		return nil, ErrAmbiguous
	case len(open) > 0:
		return open[0], nil
	}
	if open := s.Open(nil); len(open) > 0 {
		return nil, fmt.Errorf("%w: wait %s takes %q", ErrSignalWait, open[0].Wait, open[0].Signal)
	}
	if w := s.lastEnded(); w != nil {
		return w, nil
	}
	return nil, fmt.Errorf("%w: the run has no open wait", ErrNotFound)
}

// fitAnswer returns the answer to a question adapted to a schema: defaults filled in, strings
// converted to the values they stand for.
func fitAnswer(raw, answer event.Value) (event.Value, error) {
	fitted, problems := form.Answer(raw, answer)
	if len(problems) > 0 {
		return nil, fmt.Errorf("%w: it does not match the schema of the question: %s", ErrAnswer,
			form.Describe(problems))
	}
	return event.Compact(fitted), nil
}

// fit returns a value adapted to a schema, or why it does not match. A string that does not match
// is parsed as JSON: a person who types 5 means the number.
func fit(s *schema.Schema, value event.Value) (fitted event.Value, why string) {
	vs := s.Validate(value)
	if len(vs) == 0 {
		return value, ""
	}
	var text string
	if json.Unmarshal(value, &text) == nil {
		if v := bytes.TrimSpace([]byte(text)); json.Valid(v) && len(s.Validate(v)) == 0 {
			return event.Compact(slices.Clone(v)), ""
		}
	}
	return nil, "it does not match the schema of the wait: " + schema.Describe(vs)
}
