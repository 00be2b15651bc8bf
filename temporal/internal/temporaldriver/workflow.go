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
	// maxPending bounds the activities of a workflow that are under way; Temporal takes 2,000.
	maxPending = 1000
	// localTime is how long a local activity may take, tries included, before an ordinary one is asked: one that waits adds nothing to the history.
	localTime = 5 * time.Second
	// hostTime is how long a call waits for the worker that has the run in memory before any other may have it.
	hostTime = 2 * time.Second
	// callTime bounds one try of a call whose worker lives; what a call may take is for the worker to bound.
	callTime = 365 * 24 * time.Hour
)

// flow is a workflow at work: what is open in its run, as far as it was told, and what it has begun of that. All of it can be had again from the run.
type flow struct {
	ctx   workflow.Context
	in    Input
	base  string
	sel   workflow.Selector
	stale bool // the run is to be looked at

	seq     uint64
	ended   bool
	status  string
	host    string
	takes   string
	beat    time.Duration
	wanted  []Open // calls that are open and not begun
	pending map[string]*pending
	timers  map[string]*timer
	done    map[string]bool // calls that came back: a report of before that does not begin them again
}

// pending is a call under way.
type pending struct {
	open     Open
	cancel   workflow.CancelFunc
	onHost   bool // it was given to the worker that has the run in memory
	stopping bool
}

type timer struct {
	at     int64
	cancel workflow.CancelFunc
}

// runWorkflow is the workflow hocket.run: it gives the open calls of a run to workers and keeps its timers, until the run has ended or rests.
func runWorkflow(ctx workflow.Context, in Input) error {
	if in.Protocol > protocol {
		panic(fmt.Sprintf("the workflow was started by a newer Hocket (protocol %d); this one has protocol %d and leaves it to newer workers", in.Protocol, protocol))
	}
	f := &flow{
		ctx: ctx, in: in, base: workflow.GetInfo(ctx).TaskQueueName, sel: workflow.NewSelector(ctx), stale: true,
		pending: map[string]*pending{}, timers: map[string]*timer{}, done: map[string]bool{},
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
			f.take(r)
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

// end tells people the run's status where the namespace has a place for it.
func (f *flow) end() error {
	if _, ok := workflow.GetTypedSearchAttributes(f.ctx).GetKeyword(statusAttribute); ok && f.status != "" {
		return workflow.UpsertTypedSearchAttributes(f.ctx, statusAttribute.ValueSet(f.status))
	}
	return nil
}

// ask asks for a report: on this worker, and where the store does not answer by an activity, which is tried until it does.
func (f *flow) ask(name, id string) (r Report, err error) {
	local := workflow.WithLocalActivityOptions(f.ctx, workflow.LocalActivityOptions{
		ScheduleToCloseTimeout: localTime, RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: time.Second},
	})
	if err = workflow.ExecuteLocalActivity(local, name, f.in.Run, id).Get(f.ctx, &r); err == nil || isFinal(err) {
		return r, err
	}
	return r, workflow.ExecuteActivity(workflow.WithActivityOptions(f.ctx, workflow.ActivityOptions{
		TaskQueue: f.base, StartToCloseTimeout: time.Minute, HeartbeatTimeout: f.heartbeat(), RetryPolicy: &temporal.RetryPolicy{MaximumInterval: 10 * time.Second},
	}), name, f.in.Run, id).Get(f.ctx, &r)
}

// isFinal tells whether an activity gave an error that would come again.
func isFinal(err error) bool {
	e, ok := errors.AsType[*temporal.ApplicationError](err)
	return ok && e.NonRetryable()
}

// take takes a report in. One that is older than another that was taken adds what it opened; only the newest says what is not open any more.
func (f *flow) take(r Report) {
	isNewest := r.Seq >= f.seq
	if isNewest {
		f.seq = r.Seq
		f.ended, f.status = r.End && isOver(r.Status), r.Status // a run that ended may have been reopened since
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

// isOver tells whether a run with this status is not to be carried any more, whatever is under way.
func isOver(status string) bool {
	return status == statusGone || journal.Status(status).Ended()
}

// open notes what is open.
func (f *flow) open(o Open) {
	switch {
	case o.Kind == kindTimer:
		f.startTimer(o)
	case f.pending[o.ID] != nil, f.done[o.ID], slices.ContainsFunc(f.wanted, func(w Open) bool { return w.ID == o.ID }):
	default:
		f.wanted = append(f.wanted, o)
	}
}

// begin begins the calls that are open, as many as may be under way.
func (f *flow) begin() {
	n := 0
	for ; n < len(f.wanted) && len(f.pending) < maxPending; n++ {
		f.call(f.wanted[n], f.prefers(f.wanted[n]))
	}
	f.wanted = slices.Delete(f.wanted, 0, n)
}

// prefers tells whether a call is for the worker that has the run in memory.
func (f *flow) prefers(o Open) bool {
	return f.host != "" && o.Place == "" && strings.Contains(f.takes, o.Kind)
}

// call begins a call.
func (f *flow) call(o Open, onHost bool) {
	opts := workflow.ActivityOptions{
		TaskQueue: f.queue(o), StartToCloseTimeout: callTime, HeartbeatTimeout: f.heartbeat(), WaitForCancellation: true,
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: 100 * time.Millisecond, MaximumInterval: 10 * time.Second}, Summary: o.Node,
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
		f.came(p, r, err)
	})
}

// heartbeat is after how long without a sign a worker is taken for dead.
func (f *flow) heartbeat() time.Duration { return cmp.Or(f.beat, DefaultHeartbeatTimeout) }

// queue is where a call is made.
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

// came takes what became of a call.
func (f *flow) came(p *pending, r Report, err error) {
	delete(f.pending, p.open.ID)
	if err == nil {
		f.done[p.open.ID] = true
		f.take(r)
		return
	}
	switch {
	case p.stopping || temporal.IsCanceledError(err):
		f.conclude(activitySettle, p.open)
	case p.onHost && !isFinal(err):
		f.call(p.open, false) // the worker that it was meant for did not take it, or died, or cannot make it
	default:
		f.stale = true
	}
}

// conclude has the run told what became of a call that did not say it.
func (f *flow) conclude(name string, o Open) {
	r, err := f.ask(name, o.ID)
	if err != nil {
		f.stale = true
		return
	}
	f.take(r)
}

// stop stops a call; one that was never begun is settled.
func (f *flow) stop(o Open) {
	f.wanted = slices.DeleteFunc(f.wanted, func(w Open) bool { return w.ID == o.ID })
	p := f.pending[o.ID]
	switch {
	case p == nil && !f.done[o.ID]:
		f.done[o.ID] = true
		f.conclude(activitySettle, o)
	case p != nil && !p.stopping:
		p.stopping = true
		p.cancel()
	}
}

// startTimer starts a timer, in the place of a former one of that id.
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

// dropTimers cancels the timers that are not open any more.
func (f *flow) dropTimers(open []Open) {
	for _, id := range slices.Sorted(maps.Keys(f.timers)) {
		if !slices.ContainsFunc(open, func(o Open) bool { return o.Kind == kindTimer && o.ID == id }) {
			f.timers[id].cancel()
			delete(f.timers, id)
		}
	}
}
