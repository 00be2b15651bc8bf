package temporaldriver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
)

// grace is how long a call may continue after it was told to stop, or after its timeout, before it
// is abandoned (P11).
const grace = 2 * time.Second

// inspectRun is the activity that reports what is open in a run.
func (d *Driver) inspectRun(ctx context.Context, run, _ string) (Report, error) {
	c, done := d.commons.Use(run)
	defer done()
	var r Report
	if err := c.Continue(ctx); err != nil {
		return d.report(r, err)
	}
	err := c.Look(ctx, func(run *engine.Run, head journal.Head) { r = wholeReport(run, head.Place) })
	return d.report(r, err)
}

// due is the activity that fires a timer.
func (d *Driver) due(ctx context.Context, run, id string) (Report, error) {
	return d.applyAndReport(ctx, run, func(t *held.Turn) error {
		at := t.At()
		for _, c := range t.Run.Open() {
			if timer, ok := c.(*engine.StartTimer); ok && timer.ID == id && timer.At.After(at) {
				at = timer.At // the engine ignores early timers, and clock skew may make this one early
			}
		}
		return t.DoAt(engine.TimerDue{ID: id}, at)
	})
}

// settle is the activity that records that a call was stopped before it began.
func (d *Driver) settle(ctx context.Context, run, id string) (Report, error) {
	return d.applyAndReport(ctx, run, func(t *held.Turn) error {
		for _, c := range t.Run.Stopped() {
			if engine.CallID(c) == id {
				return t.Do(driver.Cancelled(c))
			}
		}
		return nil
	})
}

// applyAndReport applies fn to the run and reports what is open afterwards. A rejected input is not
// an error for the workflow: what it would have recorded is already known.
func (d *Driver) applyAndReport(ctx context.Context, run string, fn func(t *held.Turn) error) (Report, error) {
	return d.report(d.decide(ctx, run, fn))
}

// decide applies fn to the run and reports what is open afterwards, like applyAndReport, but
// returns the store's errors unchanged.
func (d *Driver) decide(ctx context.Context, run string, fn func(t *held.Turn) error) (r Report, err error) {
	c, done := d.commons.Use(run)
	defer done()
	_, err = c.DecideThen(ctx, fn, func(run *engine.Run, head journal.Head, dec engine.Decision) {
		r = reportOf(run, dec.Commands, head.Place)
	})
	if err != nil && held.IsRefusal(err) {
		err = nil
	}
	return r, err
}

// retryStore retries ask until the store responds, or ctx is done: a live worker keeps what it has
// while the store is unavailable.
func (d *Driver) retryStore(ctx context.Context, ask func() error) error {
	for pause := 20 * time.Millisecond; ; pause = min(2*pause, longestPause) {
		err := ask()
		if err == nil || !errors.Is(err, journal.ErrUnavailable) || ctx.Err() != nil {
			return err
		}
		wait(ctx, pause)
	}
}

// longestPause is the longest delay between two attempts of retryStore.
const longestPause = 5 * time.Second

// find returns the open call with an ID, or nil if there is none, because it has a result or was
// told to stop.
func find(run *engine.Run, id string) engine.Command {
	for _, c := range run.Open() {
		if engine.CallID(c) == id {
			return c
		}
	}
	return nil
}

// report completes the report for a workflow. To the workflow, a run that was deleted or now
// belongs to another driver counts as ended; a run that cannot be driven ends the workflow with an
// error.
func (d *Driver) report(r Report, err error) (Report, error) {
	_, moved := errors.AsType[*held.NotCommonError](err)
	bad, isBad := errors.AsType[*driver.QuarantineError](err)
	switch {
	case moved, errors.Is(err, journal.ErrNotFound):
		return Report{End: true, Status: statusGone}, nil
	case isBad:
		return r, temporal.NewNonRetryableApplicationError("the run cannot be driven; the log of the worker says why",
			"quarantine", nil, bad.Run)
	case err != nil:
		d.cfg.Logger.Warn("cannot read or write a run; Temporal tries again", "err", err)
		// no error text of the store in Temporal
		return r, errors.New("the store or the run cannot be used now; the log of the worker says why")
	}
	if !r.End {
		r.Host, r.Takes = d.host, d.takes
		if d.cfg.HeartbeatTimeout != DefaultHeartbeatTimeout {
			r.Beat = d.cfg.HeartbeatTimeout.Milliseconds()
		}
	}
	return r, nil
}

// call is the activity that makes a call of a run. If it returns an error, the call is made again
// on any worker; the store distinguishes a call that may have been made from one that was not.
func (d *Driver) call(ctx context.Context, run, id string) (Report, error) {
	d.busy.Add(1)
	defer d.busy.Done()
	c, done := d.commons.Use(run)
	defer done()
	activity := ctx
	ctx, cancel := context.WithCancelCause(context.WithoutCancel(activity))
	defer cancel(nil)
	defer context.AfterFunc(d.work, func() { cancel(driver.ErrInterrupted) })()
	defer context.AfterFunc(activity, func() { cancel(d.abandonCause(c, id)) })()
	var cmd engine.Command
	var r Report
	if err := c.Look(ctx, func(run *engine.Run, head journal.Head) {
		if cmd = find(run, id); cmd == nil {
			r = wholeReport(run, head.Place)
		}
	}); err != nil {
		return d.report(Report{}, err)
	}
	switch {
	case cmd == nil && containsID(r.Stop, id):
		return d.settle(ctx, run, id)
	case cmd == nil:
		return d.report(r, nil)
	}
	kit, info, release, err := c.Kit(ctx, id)
	if err != nil {
		d.cfg.Logger.Error("cannot open what a call needs; another worker may", "run", run, "call", id, "err", err)
		return Report{}, errUnusable
	}
	defer release()
	by := &caller{ctx: ctx, d: d, c: c, run: run, id: id, info: info}
	data, err := d.executeCall(ctx, kit, by, cmd)
	if err != nil {
		return d.report(Report{}, err)
	}
	d.Said(run)
	left := ctx.Err() != nil && !isGood(data) // says only that it was cut off
	store, stop := d.storeContext(ctx)
	defer stop()
	err = d.retryStore(d.work, func() error {
		r, err = d.decide(store, run, func(t *held.Turn) error {
			if left && find(t.Run, id) != nil {
				return errAbandoned
			}
			return t.Do(data)
		})
		return err
	})
	if err == nil {
		by.clearBegun(store)
	}
	return d.report(r, err)
}

// abandonCause returns the cause with which a call that Temporal abandoned is cancelled:
// ErrInterrupted while the run needs its result, because another worker then makes the call and
// whatever it started must not be cancelled.
func (d *Driver) abandonCause(c *held.Common, id string) error {
	isOpen := true
	err := c.LookSince(d.work, time.Now(), func(run *engine.Run, _ journal.Head) { isOpen = find(run, id) != nil })
	if err != nil || isOpen {
		return driver.ErrInterrupted
	}
	return context.Canceled
}

// Errors of calls that are retried. Temporal stores them, so they contain no text from elsewhere.
var (
	errAbandoned = errors.New("the worker was stopped, or Temporal gave the call up")
	errUnusable  = errors.New("what the call needs cannot be opened on this worker; its log says why")
)

func containsID(list []Open, id string) bool {
	for _, o := range list {
		if o.ID == id {
			return true
		}
	}
	return false
}

// isGood reports whether a result is more than a failure, which means that it was paid for.
func isGood(data engine.InputData) bool {
	switch d := data.(type) {
	case engine.ModelResult:
		return d.Failure == nil
	case engine.ToolResult:
		return d.Failure == nil
	case engine.ToolHeld:
		return true
	case engine.FuncResult:
		return d.Failure == nil
	case *engine.FuncResult:
		return d.Failure == nil
	}
	return false
}

// heartbeat sends heartbeats for an activity.
func (d *Driver) heartbeat(ctx context.Context) {
	t := time.NewTicker(d.cfg.HeartbeatTimeout / 10)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			activity.RecordHeartbeat(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// executeCall makes a call and returns its result. It returns an error if the call was not begun,
// or an error of the store.
func (d *Driver) executeCall(ctx context.Context, kit *driver.RunResources, by *caller, cmd engine.Command) (
	engine.InputData, error) {
	outer := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer d.watch(ctx, by, func() { cancel(context.Canceled) })()
	turn := admission(kit, by.info, cmd)
	if !by.admit(ctx, kit, turn, cmd) {
		if outer.Err() != nil {
			return nil, errAbandoned
		}
		return driver.Unsent(cmd), nil
	}
	defer by.Idle()
	if tool, ok := cmd.(*engine.CallTool); ok {
		if lost, err := by.noteBegin(outer, kit, tool); err != nil || lost != nil {
			return lost, err
		}
	}
	result := make(chan engine.InputData, 1)
	go func() {
		returned := false
		defer func() {
			if !returned {
				result <- driver.Gone(cmd)
			}
		}()
		got := d.ask(ctx, kit, by, cmd, cancel)
		returned = true
		result <- got
	}()
	data := await(ctx, result, cmd, limitOf(kit, cmd))
	if res, ok := data.(engine.ModelResult); ok && turn != nil {
		turn.Done(res)
	}
	return by.mark(data), nil
}

// await waits for the result of a call for up to limit, and for grace after the call was told to
// stop.
func await(ctx context.Context, result <-chan engine.InputData, cmd engine.Command,
	limit time.Duration) engine.InputData {
	var overdue <-chan time.Time
	if limit > 0 {
		t := time.NewTimer(limit + grace)
		defer t.Stop()
		overdue = t.C
	}
	select {
	case data := <-result:
		return data
	case <-overdue:
		return driver.GivenUp(cmd, fmt.Errorf("no answer within %s, nor after the cancellation", limit))
	case <-ctx.Done():
	}
	t := time.NewTimer(grace)
	defer t.Stop()
	select {
	case data := <-result:
		return data
	case <-t.C:
		return driver.GivenUp(cmd, fmt.Errorf("no answer within %s of the cancellation", grace))
	}
}

// limitOf returns how long a call may take; 0 means that the call limits itself.
func limitOf(kit *driver.RunResources, cmd engine.Command) time.Duration {
	switch c := cmd.(type) {
	case *engine.CallModel:
		return cmp.Or(c.Timeout, kit.ModelTimeout, model.DefaultTotalTimeout)
	case *engine.CallTool:
		return c.Timeout
	case *engine.CallFunc:
		return c.Timeout
	}
	return 0
}

// ask requests the result from the kit.
func (d *Driver) ask(ctx context.Context, kit *driver.RunResources, by *caller, cmd engine.Command,
	fail func(error)) engine.InputData {
	switch cmd := cmd.(type) {
	case *engine.CallModel:
		unpin, err := held.Pin(cmd)
		if err != nil {
			fail(driver.ErrInterrupted)
			return driver.Unsent(cmd)
		}
		defer unpin()
		return kit.CallModel(ctx, by.info, cmd, func(delta driver.Delta) { d.Say(by.run, delta) })
	case *engine.CallTool:
		return kit.CallTool(ctx, by.info, cmd, by)
	case *engine.CallFunc:
		return kit.CallFunc(ctx, by.info, cmd, by)
	}
	return nil
}

// watch cancels a call that its run no longer needs, because the call was told to stop or its
// result came from elsewhere.
func (d *Driver) watch(ctx context.Context, by *caller, stop func()) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	changes := make(chan struct{}, 1)
	unsubscribe := d.cfg.Store.Subscribe(changes, journal.OfRun(by.run))
	go func() {
		for {
			if d.change(ctx, changes) != nil {
				return
			}
			isOpen := true
			err := by.c.LookSince(ctx, time.Now(), func(run *engine.Run, _ journal.Head) {
				isOpen = find(run, by.id) != nil
			})
			_, moved := errors.AsType[*held.NotCommonError](err)
			if ctx.Err() == nil && (!isOpen || moved || errors.Is(err, journal.ErrNotFound)) {
				stop()
				return
			}
		}
	}()
	return func() {
		unsubscribe()
		cancel()
	}
}

// change waits for a notification from the store, or until it is time to check without one. It
// returns the error of ctx.
func (d *Driver) change(ctx context.Context, changes <-chan struct{}) error {
	t := time.NewTimer(journal.SafetyPoll)
	defer t.Stop()
	select {
	case <-changes:
	case <-t.C:
	case <-ctx.Done():
	}
	return ctx.Err()
}
