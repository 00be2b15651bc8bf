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

// maxTaken is the maximum number of calls that a worker accepts from one queue. Config.MaxCalls
// determines how many are made concurrently: calls that wait for child runs need none of its slots,
// and the others wait here.
const maxTaken = 1000

// startWorkers starts accepting calls from the queues of this process, once.
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

// stopTime is how long the SDK lets calls continue after Stop. Close ends them, so it is longer
// than any drain.
const stopTime = 365 * 24 * time.Hour

// stickyTime is how long a workflow task waits for the worker that has the workflow in memory.
const stickyTime = time.Second

// makeWorkers creates a worker for each queue: for the workflows, for each kind of calls, and for
// the worker's own queue. A program that has functions uses one queue for everything.
func (d *Driver) makeWorkers() []worker.Worker {
	var list []worker.Worker
	if len(d.cfg.Queues) > 0 {
		base := baseQueue(d.store, d.cfg.Namespace, "")
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
		base := baseQueue(d.store, d.cfg.Namespace, d.cfg.Functions)
		list = append(list, d.worker(base, true), d.worker(base+"."+d.host, false))
	}
	return list
}

// worker creates the worker of one queue. isBase is set if the queue has workflows.
func (d *Driver) worker(queue string, isBase bool) worker.Worker {
	beat := d.cfg.HeartbeatTimeout / 10
	w := worker.New(d.cfg.Client, queue, worker.Options{
		MaxConcurrentActivityExecutionSize: maxTaken, DisableWorkflowWorker: !isBase, DisableRegistrationAliasing: true,
		MaxHeartbeatThrottleInterval: beat, DefaultHeartbeatThrottleInterval: beat, WorkerStopTimeout: stopTime,
		StickyScheduleToStartTimeout:     stickyTime,
		MaxConcurrentWorkflowTaskPollers: 4, MaxConcurrentActivityTaskPollers: 4,
	})
	if isBase {
		w.RegisterWorkflowWithOptions(runWorkflow, workflow.RegisterOptions{Name: workflowName})
		for name, fn := range map[string]activityFunc{activityLook: d.inspectRun, activityDue: d.due,
			activitySettle: d.settle} {
			w.RegisterActivityWithOptions(d.guarded(fn), activity.RegisterOptions{Name: name})
		}
	}
	w.RegisterActivityWithOptions(d.guarded(d.call), activity.RegisterOptions{Name: activityCall})
	return w
}

// activityFunc is an activity for a run; id identifies a call or timer in it.
type activityFunc func(ctx context.Context, run, id string) (Report, error)

// guarded sends heartbeats for an activity, and keeps the message of a panic out of Temporal.
func (d *Driver) guarded(fn activityFunc) activityFunc {
	return func(ctx context.Context, run, id string) (r Report, err error) {
		defer func() {
			if v := recover(); v != nil {
				d.cfg.Logger.Error("an activity panicked", "run", run, "call", id, "panic", v, "stack",
					string(debug.Stack()))
				err = errInternal
			}
		}()
		if !activity.GetInfo(ctx).IsLocalActivity {
			alive, end := context.WithCancel(ctx)
			defer end()
			go d.heartbeat(alive)
		}
		return fn(ctx, run, id)
	}
}

// errInternal does not reveal what went wrong.
var errInternal = errors.New("an activity failed by a defect of Hocket; the log of the worker says which")
