package child

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Driver is what is asked of a driver: see driver.Driver.
type Driver interface {
	Wait(ctx context.Context, run string) (driver.State, error)
	Cancel(ctx context.Context, run, reason string) error
	Interrupt(ctx context.Context, run string) error
	Extend(ctx context.Context, run string, parent *workflow.Budget) error
}

// Journal is what is asked of a store: see journal.Lists.
type Journal interface {
	Head(ctx context.Context, run string) (journal.Head, error)
	List(ctx context.Context, q journal.Query) (heads []journal.Head, next string, err error)
}

// Host knows what runs are.
type Host interface {
	// Inherit gives a run the files that were given to its parent when that was taken up.
	Inherit(run, parent string)
	// Resume continues an interrupted run. Errors: journal.ErrOwned, engine.ErrEnded.
	Resume(ctx context.Context, run string) error
	// WaitUntil waits until a run has ended, or is at rest in a state for which done holds.
	WaitUntil(ctx context.Context, run string, done func(driver.State) bool) (driver.State, error)
	// Usage reads what a run has used. Errors: journal.ErrNotFound.
	Usage(ctx context.Context, run string) (Usage, error)
}

// Usage is what a run has used, with all runs below it.
type Usage struct {
	Status engine.Status
	Used   engine.Used
	// Short is what the parent left for the run, where it ended because it had used that, and Limit what of it was used up; nil and "" otherwise.
	Short *workflow.Budget
	Limit string
}

// Config is what Runs are made of. All fields are needed.
type Config struct {
	Driver  Driver
	Journal Journal
	Host    Host
	Logger  *slog.Logger
}

// Runs drives child runs. Safe for concurrent use.
type Runs struct{ Config }

// Work is what a call of a run starts a child run for.
type Work struct {
	// Parent is the run of the call, Run the id of the child run: see driver.ChildRunID.
	Parent, Run string
	// Caller is the call.
	Caller driver.Caller
	// Shares is in how many parts what the parent's budgets leave is divided, this one included, where calls start runs beside one another; 0 is 1.
	Shares int
	// WaitsForPerson: a child that is paused is waited for. Otherwise Drive returns when it is, and the call says what becomes of it.
	WaitsForPerson bool
	// Start starts the run, within what the parent left for it; nil: no budget bounds it.
	Start func(ctx context.Context, parent *workflow.Budget) error
	// Ended, if not nil, is called where the call is made again and the run has ended by then. It may reopen the run.
	Ended func(ctx context.Context) error
}

// Drive starts a run, or takes it up where the call started it before, and waits until it has ended or is paused. What it used counts in its parent. The call
// holds no slot from then on. Where ctx is cancelled, the run and all runs below it are; where it is interrupted, the run is, and it goes on with its parent.
//
// Errors: *engine.BudgetError where the parent's budgets leave nothing (more) for it: the call is to be made again under a larger one; those of Start and Ended; that of ctx.
func (r *Runs) Drive(ctx context.Context, w Work) error {
	w.Caller.Idle()
	r.Host.Inherit(w.Run, w.Parent)
	err := r.begin(ctx, w)
	for goesOn := true; err == nil && goesOn; {
		var st driver.State
		st, err = r.Host.WaitUntil(ctx, w.Run, func(st driver.State) bool { return st.Interrupted || !w.WaitsForPerson })
		switch {
		case err != nil:
		case st.Interrupted:
			err = r.takeUp(ctx, w) // its owner died
		default:
			goesOn, err = r.settle(ctx, w)
		}
	}
	if err != nil && ctx.Err() != nil {
		r.stop(ctx, w) // also while it begins: it may have been stored
	}
	return err
}

// begin asks for what the run may use, waits while others hold what is left, and starts it.
func (r *Runs) begin(ctx context.Context, w Work) error {
	isNew, err := r.isNew(ctx, w)
	if err != nil {
		return err
	}
	parent, err := w.Caller.Begin(ctx, w.Run, w.Shares, nil)
	switch {
	case err != nil:
		return err
	case !isNew:
		return r.takeUp(ctx, w)
	}
	err = w.Start(ctx, parent)
	if errors.Is(err, journal.ErrExists) { // another process was first
		if _, err := r.isNew(ctx, w); err != nil {
			return err
		}
		return r.takeUp(ctx, w)
	}
	if err != nil && ctx.Err() == nil {
		_, told := r.report(ctx, w.Caller, w.Run) // nothing is kept for it any more
		err = errors.Join(err, told)
	}
	return err
}

// isNew tells whether the run was not started yet. Errors: there is a run with its id that another one started, or a person.
func (r *Runs) isNew(ctx context.Context, w Work) (bool, error) {
	head, err := r.Journal.Head(ctx, w.Run)
	switch {
	case errors.Is(err, journal.ErrNotFound):
		return true, nil
	case err == nil && head.Parent != w.Parent:
		return false, fmt.Errorf("run %s is not a child of run %s", w.Run, w.Parent)
	}
	return false, err
}

// takeUp resumes an interrupted run.
func (r *Runs) takeUp(ctx context.Context, w Work) error {
	err := r.Host.Resume(ctx, w.Run)
	switch {
	case errors.Is(err, journal.ErrOwned):
		return nil
	case errors.Is(err, engine.ErrEnded) && w.Ended != nil:
		return w.Ended(ctx)
	case errors.Is(err, engine.ErrEnded):
		return nil
	}
	if _, ok := errors.AsType[*driver.ElsewhereError](err); ok { // it waits for another process, and this call for it
		select {
		case <-time.After(journal.SafetyPoll):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return err
}

// settle reports what a run used that has ended or is paused. One that ended because it had used what was left for it goes on if there is more by now.
func (r *Runs) settle(ctx context.Context, w Work) (goesOn bool, err error) {
	u, err := r.report(ctx, w.Caller, w.Run)
	if err != nil || u.Short == nil {
		return false, err
	}
	parent, err := w.Caller.Begin(ctx, w.Run, 1, u.Short)
	if err != nil {
		return false, err
	}
	err = r.Driver.Extend(ctx, w.Run, parent)
	return err == nil, err
}

// Report tells the run of the call that ledger belongs to what a child run has used. short, where not "", is what that run left too little of: the child ended because of that.
func (r *Runs) Report(ctx context.Context, ledger driver.Ledger, run string) (short string, err error) {
	u, err := r.report(ctx, ledger, run)
	if err != nil || u.Short == nil {
		return "", err
	}
	return u.Limit, nil
}

func (r *Runs) report(ctx context.Context, ledger driver.Ledger, run string) (Usage, error) {
	u, err := r.Host.Usage(ctx, run)
	switch {
	case errors.Is(err, journal.ErrNotFound): // it was never stored
		return Usage{}, ledger.Use(engine.CallUse{Run: run, Ended: true})
	case err != nil:
		return Usage{}, err
	}
	return u, ledger.Use(engine.CallUse{Run: run, Ended: u.Status.Ended(), Used: u.Used})
}

// stopTime bounds how long a run is told to stop, and how long its end is waited for.
const stopTime = time.Second

// stop ends the run of a call that is over: see Drive.
func (r *Runs) stop(ctx context.Context, w Work) {
	isInterrupted := errors.Is(context.Cause(ctx), driver.ErrInterrupted)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
	defer cancel()
	if isInterrupted {
		_ = r.Driver.Interrupt(ctx, w.Run) // it leaves memory by itself if this takes longer
		return
	}
	err := r.Driver.Cancel(ctx, w.Run, "")
	if err == nil || errors.Is(err, engine.ErrEnded) {
		_, err = r.CancelBelow(ctx, w.Run, "")
	}
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		r.Logger.Warn("run was not cancelled with its parent", "run", w.Run, "parent", w.Parent, "error", err)
	}
	r.leave(ctx, w)
}

// leave reports what a run used that was told to stop, once it has: ctx bounds how long that is waited for. What is not known by then stays unknown.
func (r *Runs) leave(ctx context.Context, w Work) {
	_, err := r.Driver.Wait(ctx, w.Run)
	if err != nil && !errors.Is(err, journal.ErrNotFound) {
		within, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime/2)
		defer cancel()
		ctx = within
	}
	if _, err := r.report(ctx, w.Caller, w.Run); err != nil && !errors.Is(err, engine.ErrCallLate) {
		r.Logger.Debug("usage of a run was not reported to its parent", "run", w.Run, "parent", w.Parent, "error", err)
	}
}

// CancelBelow cancels all runs below a run that have not ended, the outer ones first, and tells whether there were any. Below a run that has ended by itself it
// does not look.
func (r *Runs) CancelBelow(ctx context.Context, run, reason string) (found bool, err error) {
	q := journal.Query{Parent: run, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning, journal.StatusPaused}}
	for {
		heads, next, err := r.Journal.List(ctx, q)
		if err != nil {
			return found, err
		}
		for _, h := range heads {
			err := r.Driver.Cancel(ctx, h.Run, reason)
			if err != nil && !errors.Is(err, engine.ErrEnded) {
				return found, fmt.Errorf("cancel run %s: %w", h.Run, err)
			}
			below, more := r.CancelBelow(ctx, h.Run, reason)
			if found = found || err == nil || below; more != nil {
				return found, more
			}
		}
		if q.Cursor = next; next == "" {
			return found, nil
		}
	}
}
