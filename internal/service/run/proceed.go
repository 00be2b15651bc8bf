package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Proceed specifies how a run continues. The zero Proceed continues an interrupted run, or a run
// that ended at a budget of its workflow.
type Proceed struct {
	// Answer, if not nil, answers a wait.
	Answer *AnswerRequest
	// Limits, if not nil, reopen a run that ended at a limit (D20), or answer its question for a
	// larger budget (P20).
	Limits *workflow.Limits
	// Wait or Node identify the question that Limits answer, as in AnswerRequest; "" means the open
	// one, if any. Key identifies the request, as in AnswerRequest. They must be empty if Answer is
	// set.
	Wait, Node, Key string
	// By is the actor, who is recorded with the answer and with new limits; both need one.
	By Actor
	// MayApprove returns an error unless the caller may answer what only a person decides
	// (NeedsPerson): Proceed returns the error, and nothing has changed. Nil means that the caller
	// may.
	MayApprove func() error
}

// NeedsPerson reports whether no model may answer the wait, through any transport (SEC12, D32):
// approvals, the outcome of a call whose outcome is unknown (P12, D24), and more money for a run
// that reached its budget (P20).
func NeedsPerson(w *event.WaitOpened) bool {
	return w.Kind == workflow.WaitApproval || w.Limit != nil || w.Call != "" && w.Binding == "" || w.Below != nil &&
		w.Below.Person
}

// Decide returns the value of a decision such as approve.
func Decide(decision string) event.Value { return expr.Quote(decision) }

// Proceed continues a run as p specifies, and returns when that is durable; the run is then driven
// here, unless another process drives it. An answer to a run of a Go graph whose program is not
// driving it is stored for that program ([Runner.Left]).
//
// If it returns an error, nothing has changed: an error of [Recorded.Addressed]; waits.ErrAnswer,
// waits.ErrAnswered, waits.ErrClosed, engine.ErrNotReopenable, *InvalidError for limits
// that are not higher.
func (s *Runner) Proceed(ctx context.Context, rec Recorded, p Proceed) error {
	p, err := rec.Addressed(p)
	if err != nil {
		return err
	}
	switch {
	case p.Answer != nil:
		if err := s.Answer(ctx, rec.Head.Run, *p.Answer); err != nil {
			return err
		}
	case p.Limits != nil:
		return s.Reopen(ctx, rec.Head.Run, *p.Limits, p.By)
	}
	if p.Answer != nil {
		return s.TakeUpAnswered(ctx, rec.Head.Run)
	}
	return s.TakeUp(ctx, rec.Head.Run)
}

// TakeUpAnswered is TakeUp for a run that was just answered: a run whose functions belong to
// another program is left to that program, for which the answer is stored.
func (s *Runner) TakeUpAnswered(ctx context.Context, run string) error {
	if foreign, err := s.driver.IsForeign(ctx, run); foreign || err != nil {
		return err
	}
	return s.TakeUp(ctx, run)
}

// TakeUp drives a run that has no owner; it does nothing for a run that another process drives, or
// that has ended since.
func (s *Runner) TakeUp(ctx context.Context, run string) error {
	err := s.Resume(ctx, run)
	if errors.Is(err, journal.ErrOwned) || errors.Is(err, engine.ErrEnded) {
		return nil
	}
	return err
}

// Addressed completes p with the wait that is addressed, and with zero limits if a budget of the
// workflow ended the run. It changes nothing.
//
// Errors: *EndedError; waits.ErrNotFound, waits.ErrAmbiguous (D17); *NoApprovalError; the
// error of MayApprove; *InvalidError.
func (r Recorded) Addressed(p Proceed) (Proceed, error) {
	if p.Limits != nil && p.Answer == nil {
		var err error
		if p, err = r.answered(p); err != nil {
			return p, err
		}
	}
	switch {
	case p.Answer != nil && p.Limits != nil:
		return p, failure.Refuse(errcode.AnswerAndLimits, nil, nil)
	case p.Answer != nil:
		w, err := r.Asked(*p.Answer)
		if err == nil && NeedsPerson(w.WaitOpened) && p.MayApprove != nil {
			err = p.MayApprove()
		}
		switch {
		case err != nil:
			return p, err
		case !w.IsOpen() && r.Head.Status.Ended() && !w.accepts(*p.Answer):
			return p, &failure.EndedError{Run: r.Head.Run, Status: r.Head.Status}
		case w.Kind == workflow.WaitSignal:
			return p, noAnswer(w)
		case !w.accepts(*p.Answer):
			return p, &failure.NoApprovalError{Run: r.Head.Run, Node: w.Node}
		}
		a := *p.Answer
		a.Wait, a.Node, a.By = w.Wait, "", p.By
		p.Answer = &a
	case p.Limits == nil:
		if o := r.Object(); o.Error != nil && o.Error.Code == event.CodeWorkflowBudget {
			p.Limits = &workflow.Limits{} // it continues when the operator's budget has room again
		} else if r.Head.Status.Ended() {
			return p, &failure.EndedError{Run: r.Head.Run, Status: r.Head.Status}
		}
	}
	return p, nil
}

// answered returns p with its limits turned into the answer to the question for a larger budget
// that p names, that its key answered before, or that is open; it returns p unchanged if there is
// none. Errors: those of Asked; waits.ErrAnswer if the wait does not accept limits, or not these.
func (r Recorded) answered(p Proceed) (Proceed, error) {
	q := AnswerRequest{Wait: p.Wait, Node: p.Node, Key: p.Key}
	if q.Wait == "" && q.Node == "" && (q.Key == "" || r.answeredWith(q.Key, nil) == "") {
		w := r.askedForBudget()
		if w == nil {
			return p, nil
		}
		q.Wait = w.Wait
	}
	w, err := r.Asked(q)
	if err != nil {
		return p, err
	}
	if q.Value, err = budgetAnswer(w.WaitOpened, *p.Limits); err != nil {
		return p, err
	}
	q.Wait, q.Node = w.Wait, ""
	p.Answer, p.Limits, p.Wait, p.Node, p.Key = &q, nil, "", "", ""
	return p, nil
}

// budgetAnswer returns limits as the answer to a question for a larger budget. It returns
// waits.ErrAnswer if the wait asks something else, or if there are limits that such an answer
// cannot raise.
func budgetAnswer(w *event.WaitOpened, l workflow.Limits) (event.Value, error) {
	if w.Limit == nil {
		return nil, fmt.Errorf("%w: wait %s does not ask for a larger budget, and limits answer no other question",
			waits.ErrAnswer, w.Wait)
	}
	text := l.BudgetText()
	one, err := workflow.ParseBudget(text)
	// otherwise a number of tokens could be taken for a number of whatever the question asks about
	if err != nil || one != l || ledger.Limit(l.Budget(), w.Limit.Detail) == 0 {
		return nil, fmt.Errorf("%w: wait %s asks for a larger budget of %s; give that limit alone", waits.ErrAnswer,
			w.Wait, w.Limit.Detail)
	}
	return expr.Quote(text), nil
}

// Asked is a wait that can be answered.
type Asked struct {
	*event.WaitOpened
	Node string
	// Ended is the position of the event that answered or closed it; 0 means that it is open.
	Ended uint64
	// Answer is the answer to the wait; nil for a wait that is open or was closed.
	Answer *event.WaitAnswered
}

// IsOpen reports whether the wait is open for its first answer.
func (a Asked) IsOpen() bool { return a.Ended == 0 }

// accepts reports whether the wait accepts an answer of that kind: a signal wait accepts none, and
// a question accepts a decision only if it is one of the options.
func (a Asked) accepts(q AnswerRequest) bool {
	switch a.Kind {
	case workflow.WaitSignal:
		return false
	case workflow.WaitQuestion:
		return !q.Decision || slices.ContainsFunc(a.Options, func(o string) bool {
			return string(Decide(o)) == string(q.Value)
		})
	}
	return true
}

// Asked returns the wait that an answer addresses: by its id, by its node, or the only open one;
// the oldest if the workflow uses hold while paused (D17). An answer with a known key addresses the
// wait that it answered before. If no wait of the run or of the node is open, it is the wait that
// ended last: repeating the same answer is not an error, and the wait rejects a different one
// (P24).
//
// Errors: waits.ErrNotFound, waits.ErrAmbiguous.
func (r Recorded) Asked(q AnswerRequest) (Asked, error) {
	isAt := func(node string) bool { return q.Node == "" || node == q.Node || strings.HasSuffix(node, "/"+q.Node) }
	wait := q.Wait
	if wait == "" && q.Key != "" {
		wait = r.answeredWith(q.Key, isAt)
	}
	for _, w := range slices.Backward(r.Waits) {
		if w.Wait == wait {
			return *w, nil
		}
	}
	if wait != "" {
		return Asked{}, fmt.Errorf("%w: %q", waits.ErrNotFound, wait)
	}
	here := slices.DeleteFunc(slices.Clone(r.Waits), func(w *Asked) bool { return !isAt(w.Node) })
	open := slices.DeleteFunc(slices.Clone(here), func(w *Asked) bool { return !w.IsOpen() })
	isSignal := func(w *Asked) bool { return w.Kind == workflow.WaitSignal } // not addressed by answers
	if people := slices.DeleteFunc(slices.Clone(open), isSignal); len(people) > 0 {
		open = people
	}
	if people := slices.DeleteFunc(slices.Clone(here), isSignal); len(people) > 0 {
		here = people
	}
	switch {
	case len(open) == 1, len(open) > 1 && q.Node == "" && r.Workflow.Rules.HoldWhilePaused:
		return *open[0], nil
	case len(open) > 1 && q.Node == "":
		return Asked{}, waits.ErrAmbiguous
	case len(open) > 1:
		return Asked{}, fmt.Errorf("node %q: %w", q.Node, waits.ErrAmbiguous)
	case len(here) > 0:
		return *slices.MaxFunc(here, func(a, b *Asked) int { return cmp.Compare(a.Ended, b.Ended) }), nil
	case q.Node == "":
		return Asked{}, fmt.Errorf("%w: the run is not waiting", waits.ErrNotFound)
	}
	return Asked{}, fmt.Errorf("%w: the run does not wait at node %q", waits.ErrNotFound, q.Node)
}
