package temporaldriver

import (
	"context"
	"errors"
	"fmt"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

const (
	// signalGrace is how long the process that appended an answer has to send its signal before
	// other processes check whether it did.
	signalGrace = 500 * time.Millisecond
	// sweepEvery is the interval at which active runs are compared with the existing workflows.
	sweepEvery = time.Minute
	// startAgain is the delay after which a process that could not accept calls tries again.
	startAgain = time.Second
)

// Maintain implements driver.Maintainer.
func (d *Driver) Maintain(ctx context.Context) {
	d.startMaintenance()
	d.Driver.Maintain(ctx)
}

// Work implements driver.Maintainer.
func (d *Driver) Work(ctx context.Context, mine func(journal.Head) bool) {
	d.startMaintenance()
	d.Driver.Work(ctx, mine)
}

// TakeAnswers implements driver.Maintainer.
func (d *Driver) TakeAnswers(ctx context.Context, mine func(journal.Head) bool) error {
	d.startMaintenance()
	return d.Driver.TakeAnswers(ctx, mine)
}

// startMaintenance starts the maintenance if it is not running.
func (d *Driver) startMaintenance() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.keeping && !d.closed {
		d.keeping = true
		d.wg.Go(func() { d.maintain(d.work) })
	}
}

// takesCalls reports whether this process executes calls.
func (d *Driver) takesCalls() bool { return len(d.cfg.Queues) > 0 || d.cfg.Functions != "" }

// maintain accepts calls, and recovers what was lost on the way to Temporal, until ctx is done.
func (d *Driver) maintain(ctx context.Context) {
	for told := false; ; {
		err := d.startWorkers()
		if err == nil || ctx.Err() != nil {
			break
		}
		if !told {
			d.cfg.Logger.Warn("cannot take calls from Temporal; trying again", "err", err)
		}
		told = true
		wait(ctx, startAgain)
	}
	defer d.cfg.Store.Subscribe(d.wake, journal.OfRequests(), journal.OfNotices())()
	var swept time.Time
	feed, said := &feed{d: d, turns: turns{}}, repeats{}
	for ctx.Err() == nil {
		said.log(ctx, d, "cannot take requests", d.takeRequests(ctx))
		said.log(ctx, d, "cannot read notices", feed.read(ctx))
		if now := time.Now(); now.Sub(swept) >= d.sweeps {
			err := d.sweep(ctx, feed.turns)
			said.log(ctx, d, "cannot compare runs with workflows", err)
			if err == nil {
				swept = now
			}
		}
		said.log(ctx, d, "cannot let queued runs begin", feed.beginQueued(ctx))
		d.pause(ctx, min(feed.next(), d.sweeps))
	}
}

// pause waits for a change in the store, or until the next check is due.
func (d *Driver) pause(ctx context.Context, limit time.Duration) {
	t := time.NewTimer(limit)
	defer t.Stop()
	select {
	case <-d.wake:
	case <-t.C:
	case <-ctx.Done():
	}
}

// repeats holds the last logged error of each operation that is retried repeatedly.
type repeats map[string]string

// log logs an error unless it is the same as last time.
func (r repeats) log(ctx context.Context, d *Driver, what string, err error) {
	text := ""
	if err != nil {
		text = err.Error()
	}
	if r[what] != text {
		r[what] = text
		d.log(ctx, what, err)
	}
}

func (d *Driver) log(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		d.cfg.Logger.Warn(what, "err", err)
	}
}

// takeRequests handles what other processes left for shared runs because they could notify no
// workflow, or do not have the functions of the run.
func (d *Driver) takeRequests(ctx context.Context) error {
	open, err := d.cfg.Store.Unclaimed(ctx, "")
	if err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, q := range open {
		if q.Kind == requestBegun || seen[q.Run] {
			continue
		}
		seen[q.Run] = true
		head, err := d.cfg.Store.Head(ctx, q.Run)
		if errors.Is(err, journal.ErrNotFound) || err == nil && head.Kind != journal.KindTemporal {
			continue
		}
		if err != nil {
			return err
		}
		of, err := d.cfg.Store.Unclaimed(ctx, q.Run)
		if err != nil {
			return err
		}
		for _, q := range of {
			if q.Kind == requestBegun {
				continue
			}
			if _, err := d.TakeRequest(ctx, q); err != nil {
				return err
			}
		}
	}
	return nil
}

// feed follows the notices of the store, to let queued runs begin when others have ended, and to
// find runs in which a wait was answered but whose workflow was not notified, because the process
// that answered it died in between.
type feed struct {
	d     *Driver
	begun bool
	last  uint64
	open  []continued // oldest first
	turns turns
}

// continued is a run that was answered or admitted, so it must have a workflow.
type continued struct {
	run string
	at  time.Time // by this process's clock
}

// next returns how long to wait before the feed must be read again.
func (f *feed) next() time.Duration {
	if len(f.open) == 0 {
		return journal.SafetyPoll
	}
	return max(0, min(journal.SafetyPoll, signalGrace-time.Since(f.open[0].at)))
}

func (f *feed) read(ctx context.Context) error {
	if !f.begun {
		last, err := f.d.cfg.Store.LastNotice(ctx)
		if err != nil {
			return err
		}
		f.begun, f.last = true, last // earlier notices are left to the sweep
	}
	for {
		page, err := f.d.cfg.Store.Notices(ctx, f.last, 0)
		if err != nil {
			return err
		}
		for _, n := range page {
			f.last = n.ID
			if n.Type == string((*event.WaitAnswered)(nil).Type()) {
				f.open = append(f.open, continued{n.Run, time.Now()})
			}
			f.turns.changed(n.Run)
		}
		if len(page) == 0 {
			break
		}
	}
	for len(f.open) > 0 && time.Since(f.open[0].at) >= signalGrace {
		run := f.open[0].run
		f.open = f.open[1:]
		if err := f.d.heal(ctx, run); err != nil {
			return err
		}
	}
	return nil
}

// heal starts the workflow of an active run that has none.
func (d *Driver) heal(ctx context.Context, run string) error {
	head, err := d.cfg.Store.Head(ctx, run)
	if errors.Is(err, journal.ErrNotFound) || err == nil &&
		(head.Kind != journal.KindTemporal || !head.Status.IsActive()) {
		return nil
	}
	if err != nil {
		return err
	}
	within, cancel := context.WithTimeout(ctx, signalTime)
	defer cancel()
	is, err := d.cfg.Client.DescribeWorkflowExecution(within, workflowID(d.cfg.Namespace, run), "")
	_, missing := errors.AsType[*serviceerror.NotFound](err)
	switch info := is.GetWorkflowExecutionInfo(); {
	case missing:
	case err != nil:
		d.signal(run) // retried until Temporal responds
		return nil
	case foreign(run, is) != nil:
		return fmt.Errorf("run %s cannot continue: %w", run, foreign(run, is))
	case info.GetStatus() == enums.WORKFLOW_EXECUTION_STATUS_RUNNING && len(is.GetPendingActivities()) > 0:
		return nil
	}
	d.signal(run)
	return nil
}

// sweep starts missing workflows: those of active runs, and of paused runs that have a deadline. It
// adds the pending runs to turns, also if the workflows cannot be listed.
func (d *Driver) sweep(ctx context.Context, turns turns) error {
	began := d.now().Add(-signalGrace) // a run that was just started soon has a workflow
	there, unknown := d.running(ctx)
	q := journal.Query{Kind: journal.KindTemporal, Statuses: []journal.Status{journal.StatusPending,
		journal.StatusRunning, journal.StatusPaused}, Limit: 1000}
	for {
		heads, next, err := d.cfg.Store.List(ctx, q)
		if err != nil {
			return err
		}
		for _, h := range heads {
			if h.Status == journal.StatusPending {
				turns.add(h)
				continue
			}
			if unknown != nil || there[workflowID(d.cfg.Namespace, h.Run)] || h.Updated.After(began) {
				continue
			}
			if h.Status == journal.StatusPaused {
				if timed, err := d.HasDeadline(ctx, h); err != nil || !timed {
					d.log(ctx, "cannot read paused run", err)
					continue
				}
				d.signal(h.Run)
				continue
			}
			d.log(ctx, "cannot start workflow", d.heal(ctx, h.Run))
		}
		if q.Cursor = next; next == "" {
			return unknown
		}
	}
}

// running returns the IDs of the open workflows.
func (d *Driver) running(ctx context.Context) (map[string]bool, error) {
	there := map[string]bool{}
	var token []byte
	for {
		within, cancel := context.WithTimeout(ctx, signalTime)
		page, err := d.cfg.Client.ListWorkflow(within, &workflowservice.ListWorkflowExecutionsRequest{
			Query: "WorkflowType = '" + workflowName + "' AND ExecutionStatus = 'Running'", PageSize: 1000,
			NextPageToken: token,
		})
		cancel()
		if err != nil {
			return nil, err
		}
		for _, e := range page.GetExecutions() {
			there[e.GetExecution().GetWorkflowId()] = true
		}
		if token = page.GetNextPageToken(); len(token) == 0 {
			return there, nil
		}
	}
}
