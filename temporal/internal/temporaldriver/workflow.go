package temporaldriver

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/hocket-run/hocket/internal/journal"
)

// Limits of a workflow.
const (
	// maxPending is the maximum number of activities of a workflow in flight; Temporal allows
	// 2,000.
	maxPending = 1000
	// localTime is how long a local activity may take, including retries, before an ordinary one is
	// used: waiting in an ordinary activity adds nothing to the history.
	localTime = 5 * time.Second
	// hostTime is how long a call waits for the worker that has the run in memory before any other
	// may accept it.
	hostTime = 2 * time.Second
	// callTime is the timeout of one attempt of a call whose worker is alive; the worker limits how
	// long a call may take.
	callTime = 365 * 24 * time.Hour
)

// flow is a workflow in progress: what is open in its run, as far as it has been reported, and what
// it has started of that. All of it can be rebuilt from the run.
type flow struct {
	ctx   workflow.Context
	in    Input
	base  string
	sel   workflow.Selector
	stale bool // the run must be queried

	seq      uint64
	ended    bool
	status   string
	host     string
	takes    string
	beat     time.Duration
	wanted   []Open // open calls that are not started
	pending  map[string]*pending
	timers   map[string]*timer
	returned map[string]bool // returned calls, so that an older report does not restart them
}

// pending is a call in flight.
type pending struct {
	open     Open
	cancel   workflow.CancelFunc
	onHost   bool // sent to the worker that has the run in memory
	stopping bool
}

type timer struct {
	at     int64
	cancel workflow.CancelFunc
}

// runWorkflow is the workflow hocket.run: it dispatches the open calls of a run to workers and
// keeps its timers, until the run has ended or rests.
func runWorkflow(ctx workflow.Context, in Input) error {
	if in.Protocol > protocol {
		panic(fmt.Sprintf("the workflow was started by a newer Hocket (protocol %d); this one has protocol %d and "+
			"leaves it to newer workers", in.Protocol, protocol))
	}
	f := &flow{
		ctx: ctx, in: in, base: workflow.GetInfo(ctx).TaskQueueName, sel: workflow.NewSelector(ctx), stale: true,
		pending: map[string]*pending{}, timers: map[string]*timer{}, returned: map[string]bool{},
	}
	signals := workflow.GetSignalChannel(ctx, signalName)
	f.sel.AddReceive(signals, func(c workflow.ReceiveChannel, _ bool) {
		c.Receive(ctx, nil)
		f.stale = true
	})
	for {
		if f.stale {
			f.stale = false
			r, err := f.ask(activityLook, "")
			if err != nil {
				return err
			}
			f.applyReport(r)
		}
		full := workflow.GetInfo(ctx).GetContinueAsNewSuggested()
		if !full && !f.ended {
			f.begin()
		}
		switch {
		case f.sel.HasPending():
		case f.ended, len(f.pending)+len(f.timers)+len(f.wanted) == 0:
			return f.end()
		case full && len(f.pending) == 0:
			return workflow.NewContinueAsNewError(ctx, workflowName, in)
		}
		f.sel.Select(ctx)
		for f.sel.HasPending() {
			f.sel.Select(ctx)
		}
	}
}

// end publishes the run's status if the namespace has a search attribute for it.
func (f *flow) end() error {
	if _, ok := workflow.GetTypedSearchAttributes(f.ctx).GetKeyword(statusAttribute); ok && f.status != "" {
		return workflow.UpsertTypedSearchAttributes(f.ctx, statusAttribute.ValueSet(f.status))
	}
	return nil
}

// ask requests a report: on this worker or, if the store does not respond, with an activity, which
// is retried until it does.
func (f *flow) ask(name, id string) (r Report, err error) {
	local := workflow.WithLocalActivityOptions(f.ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: localTime, RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond,
			MaximumInterval: time.Second},
	})
	if err = workflow.ExecuteLocalActivity(local, name, f.in.Run, id).Get(f.ctx, &r); err == nil || isFinal(err) {
		return r, err
	}
	return r, workflow.ExecuteActivity(workflow.WithActivityOptions(f.ctx, workflow.ActivityOptions{
		TaskQueue: f.base, StartToCloseTimeout: time.Minute, HeartbeatTimeout: f.heartbeat(),
		RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	}), name, f.in.Run, id).Get(f.ctx, &r)
}

// isFinal reports whether an activity returned an error that would recur.
func isFinal(err error) bool {
	e, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && e.NonRetryable()
}

// applyReport processes a report. A report that is older than one already processed adds what it
// opened; only the newest report determines what is no longer open.
func (f *flow) applyReport(r Report) {
	isNewest := r.Seq >= f.seq
	if isNewest {
		f.seq = r.Seq
		f.ended, f.status = r.End && isOver(r.Status), r.Status // an ended run may have been reopened since
		f.host, f.takes = r.Host, r.Takes
		f.beat = time.Duration(r.Beat) * time.Millisecond
	}
	isWhole := isNewest && !r.Partial
	if isWhole {
		f.wanted = f.wanted[:0]
		f.dropTimers(r.Open)
	}
	for _, o := range r.Open {
		f.open(o)
	}
	for _, o := range r.Stop {
		f.stop(o)
	}
}

// isOver reports whether a run with this status must no longer be executed, whatever is in flight.
func isOver(status string) bool {
	return status == statusGone || journal.Status(status).Ended()
}

// open records an open call or timer.
func (f *flow) open(o Open) {
	switch {
	case o.Kind == kindTimer:
		f.startTimer(o)
	case f.pending[o.ID] != nil, f.returned[o.ID],
		slices.ContainsFunc(f.wanted, func(w Open) bool { return w.ID == o.ID }):
	default:
		f.wanted = append(f.wanted, o)
	}
}

// begin starts open calls, up to the maximum number in flight.
func (f *flow) begin() {
	n := 0
	for ; n < len(f.wanted) && len(f.pending) < maxPending; n++ {
		f.call(f.wanted[n], f.prefers(f.wanted[n]))
	}
	f.wanted = slices.Delete(f.wanted, 0, n)
}

// prefers reports whether a call should go to the worker that has the run in memory.
func (f *flow) prefers(o Open) bool {
	return f.host != "" && o.Place == "" && strings.Contains(f.takes, o.Kind)
}

// call starts a call.
func (f *flow) call(o Open, onHost bool) {
	opts := workflow.ActivityOptions{
		TaskQueue: f.queue(o), StartToCloseTimeout: callTime, HeartbeatTimeout: f.heartbeat(),
		WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond,
			MaximumInterval: 10 * time.Second},
		Summary: o.Node,
	}
	if onHost {
		opts.TaskQueue, opts.ScheduleToStartTimeout = f.base+"."+f.host, hostTime
		opts.RetryPolicy.MaximumAttempts = 1
	}
	p := &pending{open: o, onHost: onHost}
	var ctx workflow.Context
	ctx, p.cancel = workflow.WithCancel(workflow.WithActivityOptions(f.ctx, opts))
	f.pending[o.ID] = p
	f.sel.AddFuture(workflow.ExecuteActivity(ctx, activityCall, f.in.Run, o.ID), func(done workflow.Future) {
		var r Report
		err := done.Get(ctx, &r)
		f.handleOutcome(p, r, err)
	})
}

// heartbeat returns the time without a heartbeat after which a worker is considered dead.
func (f *flow) heartbeat() time.Duration { return cmp.Or(f.beat, DefaultHeartbeatTimeout) }

// queue returns the queue on which a call is made.
func (f *flow) queue(o Open) string {
	if isProgramQueue(f.base) {
		return f.base
	}
	q := f.base + "." + string(queueOf(o.Kind))
	if o.Place != "" {
		q += "." + o.Place
	}
	return q
}

// handleOutcome handles the outcome of a call.
func (f *flow) handleOutcome(p *pending, r Report, err error) {
	delete(f.pending, p.open.ID)
	if err == nil {
		f.returned[p.open.ID] = true
		f.applyReport(r)
		return
	}
	switch {
	case p.stopping || temporal.IsCanceledError(err):
		f.conclude(activitySettle, p.open)
	case p.onHost && !isFinal(err):
		f.call(p.open, false) // the preferred worker did not accept it, died or cannot make it
	default:
		f.stale = true
	}
}

// conclude runs an activity that records the outcome of a call that did not report it.
func (f *flow) conclude(name string, o Open) {
	r, err := f.ask(name, o.ID)
	if err != nil {
		f.stale = true
		return
	}
	f.applyReport(r)
}

// stop stops a call; a call that was never started is settled.
func (f *flow) stop(o Open) {
	f.wanted = slices.DeleteFunc(f.wanted, func(w Open) bool { return w.ID == o.ID })
	p := f.pending[o.ID]
	switch {
	case p == nil && !f.returned[o.ID]:
		f.returned[o.ID] = true
		f.conclude(activitySettle, o)
	case p != nil && !p.stopping:
		p.stopping = true
		p.cancel()
	}
}

// startTimer starts a timer, replacing a previous one with that ID.
func (f *flow) startTimer(o Open) {
	if t := f.timers[o.ID]; t != nil {
		if t.at == o.At {
			return
		}
		t.cancel()
	}
	t := &timer{at: o.At}
	var ctx workflow.Context
	ctx, t.cancel = workflow.WithCancel(f.ctx)
	f.timers[o.ID] = t
	f.sel.AddFuture(workflow.NewTimer(ctx, max(0, o.timeOf().Sub(workflow.Now(f.ctx)))), func(fired workflow.Future) {
		if f.timers[o.ID] != t || fired.Get(ctx, nil) != nil {
			return
		}
		delete(f.timers, o.ID)
		f.conclude(activityDue, o)
	})
}

// dropTimers cancels the timers that are no longer open.
func (f *flow) dropTimers(open []Open) {
	for _, id := range slices.Sorted(maps.Keys(f.timers)) {
		if !slices.ContainsFunc(open, func(o Open) bool { return o.Kind == kindTimer && o.ID == id }) {
			f.timers[id].cancel()
			delete(f.timers, id)
		}
	}
}
