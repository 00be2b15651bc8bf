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
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/ledger"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Resume continues an interrupted run. For a paused run it fires deadlines that are due. In
// addition to the driver's errors it returns *AllowedElsewhereError.
func (s *Runner) Resume(ctx context.Context, run string) error {
	if err := s.mayDrive(ctx, run); err != nil {
		return err
	}
	return s.resume(ctx, run)
}

// TakeOver takes a run, and its active child runs, from a process that is still alive but hangs,
// according to the caller: the run then has no owner. If that process continues after all, it is
// fenced: nothing that it does is stored. TakeOver returns the former owner, or the zero Owner if
// there was none.
//
// It returns journal.ErrNotFound, or *journal.OwnedError if yet another process took the run.
func (s *Runner) TakeOver(ctx context.Context, run string) (journal.Owner, error) {
	return s.driver.TakeOver(ctx, run)
}

// Adopt assigns a run, and its unfinished child runs, to the driver of this process: to Temporal,
// or away from it. The run continues when it is resumed. Calls in progress on Temporal are stopped.
//
// It returns journal.ErrNotFound, or *journal.OwnedError if a living process drives one of the
// runs.
func (s *Runner) Adopt(ctx context.Context, run string) error {
	q := journal.Query{Parent: run, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning,
		journal.StatusPaused}, Limit: 1000}
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

// Driven returns the living process that drives a run, or false if none does or this process does.
func (s *Runner) Driven(ctx context.Context, run string) (journal.Owner, bool, error) {
	head, err := s.store.Head(ctx, run)
	if err != nil || head.Owner == "" || head.Interrupted || head.Owner == s.store.Owner().ID {
		return journal.Owner{}, false, err
	}
	alive, err := s.store.Alive(ctx, head.Owner)
	return head.By, alive, err
}

// Answer answers a wait: by its id, by its node, or the only open one if both are "" (D17). It
// returns when the answer is durable.
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
	err = s.driver.Answer(ctx, run, engine.Answer{Wait: a.Wait, Value: a.Value, Arguments: a.Arguments, Note: a.Note,
		Key: a.Key, By: a.By})
	if err != nil {
		if isWaitClosed(err) && outer != run {
			err = errors.Join(err, s.resumeSettledCalls(ctx, outer, 0))
		}
		return err
	}
	return s.answerAbove(ctx, run, a)
}

// errNoActor indicates a bug in a transport: an answer is not accepted without its actor.
var errNoActor = errors.New("answer without an actor")

// Actor identifies who answers and through which channel. It is recorded with the answer.
type Actor = event.Actor

// Channel is the channel through which an answer arrives.
type Channel = event.Channel

// AnswerRequest is an answer to a wait.
type AnswerRequest struct {
	Wait, Node string
	Value      event.Value
	// Arguments, if not empty, replace the arguments of the held call that Value approves.
	Arguments event.Value
	// By is the actor who answers. It must be known.
	By Actor
	// Decision means that Value is a decision, such as approve, rather than free text: a question
	// must have it among its options.
	Decision bool
	Note     string
	// Key identifies the request, in at most MaxKey printable bytes, so that it can be retried:
	// once the answer is accepted, it never answers another wait of the run, and the same key with
	// a different answer results in waits.ErrAnswer. If Key is "", a retried request that names no
	// wait answers the next one.
	Key string
}

// Cancel cancels a run, driven by any process, and all its child runs, even if the run itself has
// ended.
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

// Reopen continues a run that ended at a limit, under new limits (D20). It returns
// engine.ErrNotReopenable, or *InvalidError if the limits are not the ones that ended the run, or
// are not higher; the run is then unchanged. A run that waits for a larger budget has not ended;
// see Proceed. by is recorded and must be known.
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
	if o := rec.Object(); o.Status == event.StatusFailed {
		if err := raises(rec.met, o.Error.Code, limits); err != nil {
			return err
		}
	}
	done, err := s.slotForReopened(ctx, run)
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

// askedForBudget returns the open question for a larger budget, or nil if there is none.
func (r Recorded) askedForBudget() *event.WaitOpened {
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

// raises returns an error unless the new limits let a run continue that failed with the given code.
func raises(met *event.LimitReached, code string, l workflow.Limits) error {
	switch {
	case met == nil || met.Limit != code:
	case met.Limit == event.CodeMaxSteps && (l.MaxSteps == nil || int64(*l.MaxSteps) <= met.Max):
		return failure.Refuse(errcode.LimitSteps, errcode.Fields{"max": met.Max}, nil)
	case met.Limit == event.CodeMaxBytes:
		return failure.Refuse(errcode.LimitBytes, errcode.Fields{"max": met.Max}, nil)
	case met.Limit == event.CodeTimeout && time.Duration(l.Timeout).Milliseconds() <= met.Max:
		return failure.Refuse(errcode.LimitTime,
			errcode.Fields{"max": (time.Duration(met.Max) * time.Millisecond).String()}, nil)
	case met.Limit == event.CodeBudget && ledger.Limit(l.Budget(), met.Detail) <= met.Max:
		switch met.Detail {
		case ledger.DetailTokens:
			return failure.Refuse(errcode.LimitTokens, errcode.Fields{"max": met.Max}, nil)
		case ledger.DetailCalls:
			return failure.Refuse(errcode.LimitCalls, errcode.Fields{"max": met.Max}, nil)
		case ledger.DetailMoney:
			return failure.Refuse(errcode.LimitCost, errcode.Fields{"max": fmt.Sprintf("%.2f", ledger.USD(met.Max))},
				nil)
		}
	}
	return nil
}

// Wait waits until the run has ended, is paused with no call in flight, or has no living owner.
func (s *Runner) Wait(ctx context.Context, run string) (driver.State, error) {
	defer s.Hold(run)()
	return s.driver.Wait(ctx, run)
}

// WaitUntil is like Wait, but waits again with each change of the run until done returns true for
// its state or the run has ended.
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

// Stopped is Wait for a cancelled run: it also waits for the runs that it started, which may have
// been left behind.
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

// Follow is like Wait, but also passes all events of the run to take, in order.
func (s *Runner) Follow(ctx context.Context, run string, take func(*event.Event) error) (driver.State, error) {
	defer s.Hold(run)()
	return s.driver.Follow(ctx, run, take)
}

// Drive performs the due work of this process until ctx is done: it recovers interrupted runs of
// this process's kind, and fires deadlines and reminders (D15, D21).
func (s *Runner) Drive(ctx context.Context) { s.driver.Maintain(ctx) }

// IsHung reports whether an owner is alive but has sent no heartbeat for so long that its runs are
// taken over.
func (s *Runner) IsHung(owner string) bool { return s.driver.IsHung(owner) }

// Interrupt stops driving a run, so that it can be resumed.
func (s *Runner) Interrupt(ctx context.Context, run string) error {
	return s.driver.Interrupt(ctx, run)
}

// Watch yields the events after from and then new events as they occur, until the run ends or the
// consumer stops.
func (s *Runner) Watch(ctx context.Context, run string, from uint64) iter.Seq2[driver.Update, error] {
	return func(yield func(driver.Update, error) bool) {
		defer s.Hold(run)()
		s.driver.Watch(ctx, run, from)(yield)
	}
}

// Prune deletes the runs that q selects.
func (s *Runner) Prune(ctx context.Context, q journal.PruneQuery) (journal.PruneResult, error) {
	return s.store.Prune(ctx, q)
}

// mayDrive is askAgain for a run that this process is about to drive; a run that another living
// process drives stays with that process.
func (s *Runner) mayDrive(ctx context.Context, run string) error {
	head, err := s.store.Head(ctx, run)
	if err != nil || head.Owner != "" && !head.Interrupted {
		return nil //nolint:nilerr // what is asked of the run says so
	}
	return s.opener.AskAgain(run, head.Meta)
}

// Health returns nil if the store accepts the heartbeats that a tending process writes every 5 s,
// or else the reason.
func (s *Runner) Health() error { return s.driver.Health() }
