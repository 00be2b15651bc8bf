package child

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Driver is the part of driver.Driver that Runs uses.
type Driver interface {
	Wait(ctx context.Context, run string) (driver.State, error)
	Cancel(ctx context.Context, run, reason string) error
	Interrupt(ctx context.Context, run string) error
	Extend(ctx context.Context, run string, parent *workflow.Budget) error
}

// Journal is the part of a store that Runs uses; see journal.Lists.
type Journal interface {
	Head(ctx context.Context, run string) (journal.Head, error)
	List(ctx context.Context, q journal.Query) (heads []journal.Head, next string, err error)
}

// Host provides information about runs.
type Host interface {
	// Inherit passes on to a run the files that its parent received when it was resumed.
	Inherit(run, parent string)
	// Resume continues an interrupted run. It returns journal.ErrOwned or engine.ErrEnded.
	Resume(ctx context.Context, run string) error
	// WaitUntil waits until a run has ended, or is at rest in a state for which done returns true.
	WaitUntil(ctx context.Context, run string, done func(driver.State) bool) (driver.State, error)
	// Usage returns the usage of a run. It returns journal.ErrNotFound if there is no such run.
	Usage(ctx context.Context, run string) (Usage, error)
}

// Usage is the usage of a run, including its child runs.
type Usage struct {
	Status event.Status
	Used   event.Used
	// Short is the budget that the parent had left for the run, if the run ended because it used
	// that up, and Limit is the limit that was reached; otherwise they are nil and "".
	Short *workflow.Budget
	Limit string
}

// Config configures Runs. All fields are required.
type Config struct {
	Driver  Driver
	Journal Journal
	Host    Host
	Logger  *slog.Logger
}

// Runs drives child runs. It is safe for concurrent use.
type Runs struct{ Config }

// Work describes a child run that a call of a run starts.
type Work struct {
	// Parent is the run of the call, Run the id of the child run; see driver.ChildRunID.
	Parent, Run string
	// Caller is the call.
	Caller driver.Caller
	// Shares is the number of parts into which the rest of the parent's budgets is divided,
	// including this one, if calls start runs concurrently; 0 means 1.
	Shares int
	// WaitsForPerson means that Drive waits while a child is paused. Otherwise Drive returns when
	// the child pauses, and the call decides what happens.
	WaitsForPerson bool
	// Start starts the run, within what the parent has left for it; nil means that no budget limits
	// it.
	Start func(ctx context.Context, parent *workflow.Budget) error
	// Ended, if not nil, is called if the call is repeated and the run has ended by then. It may
	// reopen the run.
	Ended func(ctx context.Context) error
}

// Drive starts a run, or resumes it if the call started it before, and waits until it has ended or
// is paused. Its usage counts toward its parent's. The call holds no slot meanwhile. If ctx is
// cancelled, the run and all its child runs are cancelled; if ctx is interrupted, the run is
// interrupted and continues with its parent.
//
// It returns a *engine.BudgetError if the parent's budgets leave nothing (more) for the run: the
// call must be repeated under a larger budget. It also returns the errors of Start and Ended, and
// that of ctx.
func (r *Runs) Drive(ctx context.Context, w Work) error {
	w.Caller.Idle()
	r.Host.Inherit(w.Run, w.Parent)
	err := r.begin(ctx, w)
	for continues := true; err == nil && continues; {
		var st driver.State
		st, err = r.Host.WaitUntil(ctx, w.Run, func(st driver.State) bool {
			return st.Interrupted || !w.WaitsForPerson
		})
		switch {
		case err != nil:
		case st.Interrupted:
			err = r.resume(ctx, w) // its owner died
		default:
			continues, err = r.settle(ctx, w)
		}
	}
	if err != nil && ctx.Err() != nil {
		r.stop(ctx, w) // even while it begins: it may have been stored
	}
	return err
}

// begin reserves the run's share of the budget, waits while others hold the rest, and starts the
// run.
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
		return r.resume(ctx, w)
	}
	err = w.Start(ctx, parent)
	if errors.Is(err, journal.ErrExists) { // another process was first
		if _, err := r.isNew(ctx, w); err != nil {
			return err
		}
		return r.resume(ctx, w)
	}
	if err != nil && ctx.Err() == nil {
		_, told := r.report(ctx, w.Caller, w.Run) // its reservation is released
		err = errors.Join(err, told)
	}
	return err
}

// isNew reports whether the run has not been started yet. It returns an error if a run with its id
// was started by another run or by a person.
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

// resume resumes an interrupted run.
func (r *Runs) resume(ctx context.Context, w Work) error {
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

// settle reports the usage of a run that has ended or is paused. A run that ended because it used
// up its share continues if more is available by now.
func (r *Runs) settle(ctx context.Context, w Work) (continues bool, err error) {
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

// Report reports the usage of a child run to the run of the call that ledger belongs to. short, if
// not "", is the limit of which the parent had too little left for the child run, which ended
// because of it.
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

// stopTime is the timeout for telling a run to stop, and for waiting for its end.
const stopTime = time.Second

// stop ends the run of a call that has ended; see Drive.
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
	r.reportStopped(ctx, w)
}

// reportStopped reports the usage of a run that was told to stop, once it has stopped; ctx limits
// the wait. Usage that is unknown by then remains unknown.
func (r *Runs) reportStopped(ctx context.Context, w Work) {
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

// CancelBelow cancels all unfinished descendants of a run, the outer ones first, and reports
// whether there were any. It does not look at the child runs of a run that has ended by itself.
func (r *Runs) CancelBelow(ctx context.Context, run, reason string) (found bool, err error) {
	q := journal.Query{Parent: run, Statuses: []journal.Status{journal.StatusPending, journal.StatusRunning,
		journal.StatusPaused}}
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
