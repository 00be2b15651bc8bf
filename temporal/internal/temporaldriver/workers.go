package temporaldriver

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/hocket-run/hocket/internal/driver"
)

// maxTaken bounds the calls that a worker takes from one queue. How many are made at once is for Config.MaxCalls to say: calls that wait for runs below them need none of its slots, and the others wait
// here.
const maxTaken = 1000

// startWorkers takes calls from the queues of this process, once.
func (d *Driver) startWorkers() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	switch {
	case d.closed:
		return driver.ErrClosed
	case d.workers != nil || d.leaving != nil || !d.takesCalls():
		return nil
	}
	var started []worker.Worker
	for _, w := range d.makeWorkers() {
		if err := w.Start(); err != nil {
			for _, w := range started {
				w.Stop()
			}
			return fmt.Errorf("start worker of Temporal: %w", err)
		}
		started = append(started, w)
	}
	d.workers = started
	return nil
}

// stopTime is for how long the SDK lets calls go on after Stop. Close ends them, so that it is longer than any drain.
const stopTime = 365 * 24 * time.Hour

// stickyTime is how long a workflow waits for the worker that has it in memory.
const stickyTime = time.Second

// makeWorkers makes a worker for each queue: that of the workflows, one for each kind of calls, and the worker's own. A program that has functions has one queue for all.
func (d *Driver) makeWorkers() []worker.Worker {
	var list []worker.Worker
	if len(d.cfg.Queues) > 0 {
		base := baseQueue(d.cfg.Namespace, "")
		list = append(list, d.worker(base, true))
		for _, q := range d.cfg.Queues {
			list = append(list, d.worker(base+"."+string(q), false))
			if q != QueueModel && d.cfg.Place != "" {
				list = append(list, d.worker(base+"."+string(q)+"."+d.cfg.Place, false))
			}
		}
		list = append(list, d.worker(base+"."+d.host, false))
	}
	if d.cfg.Functions != "" {
		base := baseQueue(d.cfg.Namespace, d.cfg.Functions)
		list = append(list, d.worker(base, true), d.worker(base+"."+d.host, false))
	}
	return list
}

// worker makes the worker of one queue. isBase: workflows are on it.
func (d *Driver) worker(queue string, isBase bool) worker.Worker {
	beat := d.cfg.HeartbeatTimeout / 10
	w := worker.New(d.cfg.Client, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: maxTaken, DisableWorkflowWorker: !isBase, DisableRegistrationAliasing: true,
		MaxHeartbeatThrottleInterval: beat, DefaultHeartbeatThrottleInterval: beat, WorkerStopTimeout: stopTime, StickyScheduleToStartTimeout: stickyTime,
		MaxConcurrentWorkflowTaskPollers: 4, MaxConcurrentActivityTaskPollers: 4,
	})
	if isBase {
		w.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: workflowName})
		for name, fn := range map[string]activityFunc{activityLook: d.look, activityDue: d.due, activitySettle: d.settle} {
			w.RegisterActivityWithOptions(d.guarded(fn), activity.RegisterOptions{Name: name})
		}
	}
	w.RegisterActivityWithOptions(d.guarded(d.call), activity.RegisterOptions{Name: activityCall})
	return w
}

// activityFunc is an activity about a run, and about what the id names in it.
type activityFunc func(ctx context.Context, run, id string) (Report, error)

// guarded gives signs of life of an activity, and keeps what a panic says out of Temporal.
func (d *Driver) guarded(fn activityFunc) activityFunc {
	return func(ctx context.Context, run, id string) (r Report, err error) {
		defer func() {
			if v := recover(); v != nil {
				d.cfg.Logger.Error("an activity panicked", "run", run, "call", id, "panic", v, "stack", string(debug.Stack()))
				err = errDefect
			}
		}()
		if !activity.GetInfo(ctx).IsLocalActivity {
			alive, end := context.WithCancel(ctx)
			defer end()
			go d.beat(alive)
		}
		return fn(ctx, run, id)
	}
}

// errDefect says nothing of what went wrong.
var errDefect = errors.New("an activity failed by a defect of Hocket; the log of the worker says which")
