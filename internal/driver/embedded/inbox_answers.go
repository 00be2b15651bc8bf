package embedded

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
)

// takenTimeout is how long to wait for another program to take an answer that was left for it.
const takenTimeout = 2 * time.Second

// deposit leaves an answer in the store for a run of another program or place that no process
// drives, if the run accepts it; the process that resumes the run takes the answer. deposit claims
// nothing, so it blocks no other process. id is the request that was posted earlier; 0 means none.
// done is false if the run is not of this kind.
//
// Errors: the engine's errors for answers; waits.ErrAnswered if a different answer to the same
// wait was left earlier.
func (d *Driver) deposit(ctx context.Context, run string, a engine.Answer, id uint64) (done bool, err error) {
	c, head, foreign, err := d.foreign(ctx, run)
	if err != nil || !foreign && (!head.Interrupted || !d.handsOff(head.Place)) {
		return false, err
	}
	wait, err := d.checkAnswer(ctx, run, c, a)
	if err != nil || wait == "" && a.Signal == "" || id != 0 {
		return true, err
	}
	if a.Signal != "" {
		wait = "" // the wait is chosen when the signal arrives
	}
	a.Wait = wait
	if id, err = d.leave(ctx, run, c, a); err != nil || id == 0 {
		return true, err
	}
	return true, d.waitTaken(ctx, id)
}

// checkAnswer checks that a run in its current state accepts an answer, and returns its wait, or ""
// if the same answer was already recorded. Expired deadlines are taken into account.
func (d *Driver) checkAnswer(ctx context.Context, run string, c held.Compiled, a engine.Answer) (
	wait string, err error) {
	folded, err := held.Fold(ctx, d.cfg.Store, run, c, nil)
	if err != nil {
		return "", err
	}
	defer held.Recovered(&err)
	now := d.now()
	for _, t := range held.Due(folded, now) {
		if _, err := folded.Activate([]engine.Input{{At: now, Data: engine.TimerDue{ID: t.ID}}}); err != nil &&
			!held.IsRefusal(err) {
			return "", err
		}
	}
	return folded.CheckAnswer(a)
}

// foreign reports whether a run has functions that belong to another program, and no living owner.
func (d *Driver) foreign(ctx context.Context, run string) (
	c held.Compiled, head journal.Head, foreign bool, err error) {
	head, err = d.cfg.Store.Head(ctx, run)
	if err != nil {
		return c, head, false, err
	}
	if head.Owner != "" {
		alive, err := d.cfg.Store.Alive(ctx, head.Owner)
		if err != nil || alive {
			return c, head, false, err
		}
	}
	if c, err = d.definition(ctx, head.Definition); err != nil {
		return c, head, false, journal.InRun(run, err)
	}
	return c, head, c.Program == nil && d.cfg.Foreign(c.Plan.Workflow()), nil
}

// IsForeign implements driver.Driver.
func (d *Driver) IsForeign(ctx context.Context, run string) (bool, error) {
	_, _, foreign, err := d.foreign(ctx, run)
	return foreign, err
}

// leave posts an answer, unless an answer to the same wait was left before. Of concurrent
// answers the first one in the store counts: each caller checks again once its own is stored, and
// withdraws it if it is not the first or the run has continued meanwhile. id is 0 if the run
// already has the same answer.
func (d *Driver) leave(ctx context.Context, run string, c held.Compiled, a engine.Answer) (id uint64, err error) {
	kind, body, err := encodeRequest(a)
	if err != nil {
		return 0, err
	}
	if first, err := d.firstLeft(ctx, run, a); first != 0 || err != nil {
		return first, err
	}
	id, err = d.cfg.Store.Post(ctx, journal.Request{Run: run, Kind: kind, Data: body, At: d.now()})
	if err != nil {
		return 0, err
	}
	first, err := d.firstLeft(ctx, run, a)
	if err == nil && (first == 0 || first == id) {
		var wait string
		if wait, err = d.checkAnswer(ctx, run, c, a); err == nil && (wait != "" || a.Signal != "") {
			return id, nil
		}
		first = 0
	}
	if serr := d.cfg.Store.Settle(ctx, id, encodeResult(err)); serr != nil {
		return 0, errors.Join(err, serr)
	}
	return first, err
}

// firstLeft returns the first request in the store with an answer to the wait that a answers, or 0
// if there is none. It returns waits.ErrAnswered if that is a different answer.
func (d *Driver) firstLeft(ctx context.Context, run string, a engine.Answer) (id uint64, err error) {
	open, err := d.cfg.Store.Unclaimed(ctx, run)
	if err != nil {
		return 0, err
	}
	for _, q := range open {
		data, err := decodeRequest(q.Kind, q.Data)
		first, ok := data.(engine.Answer)
		switch {
		case err != nil || !ok || first.Wait != a.Wait || a.Signal != "" && first.Key != a.Key:
		case bytes.Equal(first.Value, a.Value) && first.Signal == a.Signal:
			return q.ID, nil
		case a.Signal != "":
			return 0, fmt.Errorf("%w: the key %q was used for something else", waits.ErrSignal, a.Key)
		default:
			return 0, fmt.Errorf("%w: wait %s; its program has not processed that answer yet", waits.ErrAnswered,
				a.Wait)
		}
	}
	return 0, nil
}

// waitTaken waits up to takenTimeout for the result of an answer that was left for another program.
// An answer that no process has taken by then stays in the store.
func (d *Driver) waitTaken(ctx context.Context, id uint64) error {
	ctx, cancel := context.WithTimeout(ctx, takenTimeout)
	defer cancel()
	changes := d.subscribe(journal.OfRequests())
	defer changes.stop()
	for {
		body, done, err := d.cfg.Store.Result(ctx, id)
		switch {
		case done:
			return decodeResult(body)
		case err != nil && ctx.Err() == nil:
			return err
		}
		if changes.wait(ctx, d.root) != nil {
			return nil
		}
	}
}

// Left implements driver.Driver.
func (d *Driver) Left(ctx context.Context, run string) (bool, error) {
	open, err := d.cfg.Store.Unclaimed(ctx, run)
	return slices.ContainsFunc(open, func(q journal.Request) bool { return q.Kind == requestAnswer }), err
}

// Work implements driver.Driver.
func (d *Driver) Work(ctx context.Context, mine func(journal.Head) bool) {
	stop, ok := d.stay()
	if !ok {
		return
	}
	defer stop()
	changes := d.subscribe(journal.OfRequests(), journal.OfNotices())
	defer changes.stop()
	deadlines := newDeadlines(d, mine, changes.c)
	defer deadlines.close()
	var recovered time.Time
	for {
		if now := time.Now(); now.Sub(recovered) >= recoverEvery {
			err := d.evictHung(ctx, mine)
			if err == nil {
				err = d.resumeRuns(ctx, journal.Query{Kind: d.cfg.Kind, Interrupted: true, Limit: maxPage},
					func(h journal.Head) bool { return mine(h) && !d.isOwnLeft(h.Run) }, d.outcome)
			}
			if err != nil && ctx.Err() == nil && d.work.Err() == nil {
				d.cfg.Logger.Warn("cannot take over runs", "err", err)
			}
			recovered = now
		}
		if err := d.TakeAnswers(ctx, mine); err != nil && ctx.Err() == nil && d.work.Err() == nil {
			d.cfg.Logger.Warn("cannot check for answers", "err", err)
		}
		if err := deadlines.poll(ctx); err != nil && ctx.Err() == nil && d.work.Err() == nil {
			d.cfg.Logger.Warn("cannot check deadlines", "err", err)
		}
		if changes.waitAtMost(ctx, d.work, min(journal.SafetyPoll, recoverEvery-time.Since(recovered))) != nil {
			return
		}
	}
}

// maxPage is the page size for reading the runs to resume.
const maxPage = 1000

// resumeRuns resumes the runs of a query for which want returns true, without waiting for them.
// done returns the function that is called with each outcome.
func (d *Driver) resumeRuns(ctx context.Context, q journal.Query, want func(journal.Head) bool,
	done func(run string) func(error)) error {
	for {
		heads, next, err := d.cfg.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if !want(h) {
				continue
			}
			if err := d.resumeRun(h.Run, done); err != nil {
				return err
			}
		}
		if q.Cursor = next; next == "" {
			return nil
		}
	}
}

// resumeRun resumes a run, unless it is already driven here or cannot be driven.
func (d *Driver) resumeRun(run string, done func(run string) func(error)) error {
	d.mu.Lock()
	skip := d.undrivable[run] != nil || d.runs[run] != nil
	d.mu.Unlock()
	if skip {
		return nil
	}
	outcome := done(run)
	err := d.post(run, &message{resume: true, ifRoom: true, done: outcome})
	if errors.Is(err, errNoRoom) {
		err = nil
		outcome(nil)
	}
	if err != nil {
		outcome(err)
	}
	return err
}

// TakeAnswers implements driver.Driver.
func (d *Driver) TakeAnswers(ctx context.Context, mine func(journal.Head) bool) error {
	open, err := d.cfg.Store.Unclaimed(ctx, "")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, q := range open {
		if seen[q.Run] {
			continue
		}
		seen[q.Run] = true
		h, err := d.cfg.Store.Head(ctx, q.Run)
		if err != nil && !held.IsPermanent(err) {
			return err
		}
		if err != nil || h.Kind != d.cfg.Kind || !mine(h) {
			continue
		}
		if _, _, foreign, err := d.foreign(ctx, q.Run); err != nil || foreign {
			continue // its graph is not registered here, or not yet
		}
		if err := d.resumeRun(q.Run, d.outcome); err != nil {
			return err
		}
	}
	return nil
}

// stay registers a long-lived caller, for which heartbeats are sent until stop is called. It
// returns false if the driver is closed.
func (d *Driver) stay() (stop func(), ok bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, false
	}
	d.maintaining++
	d.startHeartbeats()
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.maintaining--
	}, true
}

// isOwnLeft reports whether a run was interrupted here at its caller's request.
func (d *Driver) isOwnLeft(run string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.interrupted[run]
}
