package run

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Resume continues an interrupted run. On a paused one it fires deadlines that are due.
// Errors: *AllowedElsewhereError besides those of the driver.
func (s *Runner) Resume(ctx context.Context, run string) error {
	if err := s.mayDrive(ctx, run); err != nil {
		return err
	}
	return s.resume(ctx, run)
}

// TakeOver takes a run, and the active ones below it, from a process that still lives and hangs, as the caller says: the run has no owner then. If that process goes on
// after all, it is fenced: nothing that it does is stored. It gives the former owner; the zero Owner where there was none.
//
// Errors: journal.ErrNotFound, *journal.OwnedError where yet another process took it.
func (s *Runner) TakeOver(ctx context.Context, run string) (journal.Owner, error) {
	return s.driver.TakeOver(ctx, run)
}

// Adopt gives a run, and the runs below it that have not ended, to the driver of this process: to Temporal, or away from it. It goes on when it is resumed. Calls in progress on Temporal are stopped.
//
// Errors: journal.ErrNotFound; *journal.OwnedError where a living process drives one of them.
func (s *Runner) Adopt(ctx context.Context, run string) error {
	q := journal.Query{Parent: run, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning, journal.StatusPaused}, Limit: 1000}
	for {
		heads, next, err := s.store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if err := s.Adopt(ctx, h.Run); err != nil {
				return err
			}
		}
		if q.Cursor = next; next == "" {
			return s.driver.Adopt(ctx, run)
		}
	}
}

// Driven tells which living process drives a run; false where none does, or this one.
func (s *Runner) Driven(ctx context.Context, run string) (journal.Owner, bool, error) {
	head, err := s.store.Head(ctx, run)
	if err != nil || head.Owner == "" || head.Interrupted || head.Owner == s.store.Owner().ID {
		return journal.Owner{}, false, err
	}
	alive, err := s.store.Alive(ctx, head.Owner)
	return head.By, alive, err
}

// Answer answers a wait: by its id, by its node, or the only open one where both are "" (D17). It returns when the answer is durable.
func (s *Runner) Answer(ctx context.Context, run string, a AnswerRequest) error {
	if err := checkKey("the idempotency key", a.Key); err != nil {
		return err
	}
	if !a.By.IsKnown() {
		return errNoActor
	}
	if err := s.mayDrive(ctx, run); err != nil {
		return err
	}
	outer := run
	run, a, err := s.innermost(ctx, run, a)
	if err != nil {
		return err
	}
	if err := s.mayDrive(ctx, run); err != nil {
		return err
	}
	err = s.driver.Answer(ctx, run, engine.Answer{Wait: a.Wait, Value: a.Value, Arguments: a.Arguments, Note: a.Note, Key: a.Key, By: a.By})
	if err != nil {
		if isOver(err) && outer != run {
			err = errors.Join(err, s.catchUp(ctx, outer, 0))
		}
		return err
	}
	return s.answerAbove(ctx, run, a)
}

// errNoActor is a defect of a transport: no answer is taken without its actor.
var errNoActor = errors.New("answer without an actor")

// Actor says who gives an answer and by which way in. It is recorded with the answer.
type Actor = engine.Actor

// Channel is a way in by which answers come.
type Channel = engine.Channel

// AnswerRequest is an answer to a wait.
type AnswerRequest struct {
	Wait, Node string
	Value      engine.Value
	// Arguments, where not empty, take the place of those of the held call that Value approves.
	Arguments engine.Value
	// By is who answers. It must be known.
	By Actor
	// Decision tells that Value is a decision, such as approve, and not what a person says: a question must have it among its options.
	Decision bool
	Note     string
	// Key names the request, in at most MaxKey bytes that can be printed, so that it can be made again: once the answer is taken, it never answers another wait of
	// the run, and the same key with another answer is engine.ErrAnswer. "": a request that is made again and names no wait answers the next one.
	Key string
}

// Cancel stops a run, driven by any process, and all runs below it: those also where it has ended itself.
func (s *Runner) Cancel(ctx context.Context, run, reason string) error {
	err := s.driver.Cancel(ctx, run, reason)
	if err != nil && !errors.Is(err, engine.ErrEnded) {
		return err
	}
	found, more := s.children.CancelBelow(ctx, run, reason)
	if more != nil || found {
		return more
	}
	return err
}

// Reopen lets a run that ended by a limit go on under new limits (D20). Errors: engine.ErrNotReopenable; *InvalidError where the limits are not
// those that ended it, or no higher; the run is then unchanged. A run that waits for a larger budget has not ended: see Proceed. by is recorded and must be
// known.
func (s *Runner) Reopen(ctx context.Context, run string, limits workflow.Limits, by Actor) error {
	if !by.IsKnown() {
		return errNoActor
	}
	if err := s.mayDrive(ctx, run); err != nil {
		return err
	}
	rec, err := s.ReadShort(ctx, run)
	if err != nil {
		return err
	}
	if o := rec.Object(); o.Status == engine.StatusFailed {
		if err := raises(rec.met, o.Error.Code, limits); err != nil {
			return err
		}
	}
	done, err := s.reopened(ctx, run)
	if err != nil {
		return err
	}
	err = s.driver.Reopen(ctx, run, limits, by)
	done(err)
	if errors.Is(err, engine.ErrNotReopenable) {
		return errcode.New(errcode.RunNotReopenable, errcode.Fields{"run": run, "status": string(rec.Head.Status)}, err)
	}
	return err
}

// askedForBudget gives the open question for a larger budget, nil where there is none.
func (r Recorded) askedForBudget() *engine.WaitOpened {
	for _, w := range slices.Backward(r.Waits) {
		if w.Limit != nil {
			if w.IsOpen() {
				return w.WaitOpened
			}
			return nil
		}
	}
	return nil
}

// raises tells whether new limits let a run go on that failed with this code.
func raises(met *engine.LimitReached, code string, l workflow.Limits) error {
	switch {
	case met == nil || met.Limit != code:
	case met.Limit == engine.CodeMaxSteps && (l.MaxSteps == nil || int64(*l.MaxSteps) <= met.Max):
		return failure.Refuse(errcode.LimitSteps, errcode.Fields{"max": met.Max}, nil)
	case met.Limit == engine.CodeMaxBytes:
		return failure.Refuse(errcode.LimitBytes, errcode.Fields{"max": met.Max}, nil)
	case met.Limit == engine.CodeTimeout && time.Duration(l.Timeout).Milliseconds() <= met.Max:
		return failure.Refuse(errcode.LimitTime, errcode.Fields{"max": (time.Duration(met.Max) * time.Millisecond).String()}, nil)
	case met.Limit == engine.CodeBudget && ledger.Limit(l.Budget(), met.Detail) <= met.Max:
		switch met.Detail {
		case ledger.DetailTokens:
			return failure.Refuse(errcode.LimitTokens, errcode.Fields{"max": met.Max}, nil)
		case ledger.DetailCalls:
			return failure.Refuse(errcode.LimitCalls, errcode.Fields{"max": met.Max}, nil)
		case ledger.DetailMoney:
			return failure.Refuse(errcode.LimitCost, errcode.Fields{"max": fmt.Sprintf("%.2f", ledger.USD(met.Max))}, nil)
		}
	}
	return nil
}

// Wait waits until the run has ended, is paused with no call in flight, or has no living owner.
func (s *Runner) Wait(ctx context.Context, run string) (driver.State, error) {
	defer s.Hold(run)()
	return s.driver.Wait(ctx, run)
}

// WaitUntil is Wait, and again with each change of the run, until done holds of its state or the run has ended.
func (s *Runner) WaitUntil(ctx context.Context, run string, done func(driver.State) bool) (driver.State, error) {
	changed := make(chan struct{}, 1)
	defer s.store.Subscribe(changed, journal.OfRun(run))()
	for {
		st, err := s.Wait(ctx, run)
		if err != nil || st.Status.Ended() || done(st) {
			return st, err
		}
		poll := time.NewTimer(journal.SafetyPoll)
		select {
		case <-changed:
		case <-poll.C:
		case <-ctx.Done():
			err = ctx.Err()
		}
		poll.Stop()
		if err != nil {
			return st, err
		}
	}
}

// Stopped is Wait for a run that was cancelled: it waits for the runs that it started, too, which may have been left without it.
func (s *Runner) Stopped(ctx context.Context, run string) (driver.State, error) {
	defer s.Hold(run)()
	st, err := s.driver.Wait(ctx, run)
	if err != nil {
		return st, err
	}
	q := journal.Query{Parent: run, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning}}
	for {
		heads, next, err := s.store.List(ctx, q)
		if err != nil {
			return st, err
		}
		for _, h := range heads {
			if _, err := s.driver.Wait(ctx, h.Run); err != nil {
				return st, err
			}
		}
		if q.Cursor = next; next == "" {
			return st, nil
		}
	}
}

// Follow is Wait that gives the events of the run meanwhile, all of them, in order.
func (s *Runner) Follow(ctx context.Context, run string, take func(*engine.Event) error) (driver.State, error) {
	defer s.Hold(run)()
	return s.driver.Follow(ctx, run, take)
}

// Drive drives what is due in this process until ctx is done: it recovers interrupted runs of this process's kind, and fires deadlines and reminders (D15, D21).
func (s *Runner) Drive(ctx context.Context) { s.driver.Tend(ctx) }

// IsHung tells whether an owner lives and has given no sign for so long that its runs are taken over.
func (s *Runner) IsHung(owner string) bool { return s.driver.IsHung(owner) }

// Interrupt stops driving a run, so that it can be resumed.
func (s *Runner) Interrupt(ctx context.Context, run string) error {
	return s.driver.Interrupt(ctx, run)
}

// Watch gives the events after from and then what happens, until the run ends or the consumer leaves.
func (s *Runner) Watch(ctx context.Context, run string, from uint64) iter.Seq2[driver.Update, error] {
	return func(yield func(driver.Update, error) bool) {
		defer s.Hold(run)()
		s.driver.Watch(ctx, run, from)(yield)
	}
}

// Prune deletes runs as q says.
func (s *Runner) Prune(ctx context.Context, q journal.PruneQuery) (journal.PruneResult, error) {
	return s.store.Prune(ctx, q)
}

// mayDrive is askAgain for a run that this process is about to drive; one that another living process drives stays with that one.
func (s *Runner) mayDrive(ctx context.Context, run string) error {
	head, err := s.store.Head(ctx, run)
	if err != nil || head.Owner != "" && !head.Interrupted {
		return nil //nolint:nilerr // what is asked of the run says so
	}
	return s.opener.AskAgain(run, head.Meta)
}

// Health tells whether the store takes what a process that tends writes, by its signs of life, which it writes every 5 s: nil, or why not.
func (s *Runner) Health() error { return s.driver.Health() }
