package temporaldriver

import (
	"cmp"
	"context"
	"errors"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
)

// Search attributes, where the namespace has them.
var (
	workflowAttribute = temporal.NewSearchAttributeKeyKeyword("HocketWorkflow")
	statusAttribute   = temporal.NewSearchAttributeKeyKeyword("HocketStatus")
)

// Start implements driver.Runner. A run is started when it is stored; where Temporal does not answer, its workflow is started when it does.
func (d *Driver) Start(ctx context.Context, spec driver.Spec) (string, error) {
	l, err := d.begin(ctx, spec)
	if err != nil {
		return "", err
	}
	return l.run, nil
}

// Launch implements driver.Runner.
func (d *Driver) Launch(ctx context.Context, spec driver.Spec) (driver.Launched, error) {
	l, err := d.begin(ctx, spec)
	if err != nil {
		return nil, err
	}
	return l, nil
}

// launched is a run that was started.
type launched struct {
	d        *Driver
	run      string
	observed <-chan struct{}
}

// ID implements driver.Launched.
func (l *launched) ID() string { return l.run }

// Wait implements driver.Launched.
func (l *launched) Wait(ctx context.Context) (begun bool, err error) {
	if _, err = l.d.Wait(ctx, l.run); err != nil {
		return true, err
	}
	select {
	case <-l.observed:
		return true, nil
	case <-ctx.Done():
		return true, ctx.Err()
	}
}

func (d *Driver) begin(ctx context.Context, spec driver.Spec) (*launched, error) {
	d.mu.Lock()
	closed := d.closed
	d.mu.Unlock()
	if closed {
		return nil, driver.ErrClosed
	}
	if spec.Queued {
		return nil, driver.ErrNoQueue
	}
	if spec.Run != "" { // the ids that the driver makes are no others'
		if err := d.checkID(ctx, spec.Run); err != nil {
			return nil, err
		}
	}
	p, err := d.StartCommon(ctx, &spec)
	if err != nil {
		return nil, err
	}
	l := &launched{d: d, run: p.Run, observed: d.observe(&p, spec.Observe)}
	d.signal(p.Run)
	return l, nil
}

// checkTime bounds how long the start of a run waits for Temporal, which may be away.
const checkTime = time.Second

// checkID refuses the id of a new run that a workflow of another program has. Where Temporal does not answer, the sweep tells of it.
func (d *Driver) checkID(ctx context.Context, run string) error {
	ctx, cancel := context.WithTimeout(ctx, checkTime)
	defer cancel()
	is, err := d.cfg.Client.DescribeWorkflowExecution(ctx, workflowID(d.cfg.Namespace, run), "")
	if err != nil {
		return nil // there is none, or it is not known
	}
	return foreign(run, is)
}

// foreign gives the error where an open workflow is not one of Hocket.
func foreign(run string, is *workflowservice.DescribeWorkflowExecutionResponse) error {
	info := is.GetWorkflowExecutionInfo()
	if info.GetType().GetName() == workflowName || info.GetStatus() != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
		return nil
	}
	return errcode.New(errcode.TemporalWorkflow, errcode.Fields{"run": run, "type": info.GetType().GetName()}, nil)
}

// observe gives fn what happens in a run until it rests for the first time, as the store tells of it. The channel is closed then.
func (d *Driver) observe(p *held.Prepared, fn func(*engine.Run, []engine.Event)) <-chan struct{} {
	done := make(chan struct{})
	if fn == nil {
		close(done)
		return done
	}
	run := held.NewRun(p.Plan, p.Run)
	d.wg.Go(func() {
		defer close(done)
		_, err := d.Follow(d.work, p.Run, func(e *engine.Event) error {
			batch := []engine.Event{*e}
			if err := run.Apply(batch); err != nil {
				return err
			}
			fn(run, batch)
			return nil
		})
		if err != nil && d.work.Err() == nil {
			d.cfg.Logger.Warn("cannot observe a run", "run", p.Run, "err", err)
		}
	})
	return done
}

// options are those with which the workflow of a run is started. Its memo and attributes name what the lists of Hocket show of the run.
func (d *Driver) options(head journal.Head) client.StartWorkflowOptions {
	o := client.StartWorkflowOptions{
		ID: workflowID(d.cfg.Namespace, head.Run), TaskQueue: baseQueue(d.cfg.Namespace, head.Meta[driver.MetaProgram]),
		Memo: map[string]any{"workflow": short(head.Workflow)},
	}
	if d.cfg.Attributes && !d.noAttributes.Load() {
		o.TypedSearchAttributes = temporal.NewSearchAttributes(workflowAttribute.ValueSet(short(head.Workflow)), statusAttribute.ValueSet(string(head.Status)))
	}
	return o
}

// short cuts a name so that a memo stays small.
func short(name string) string { return name[:min(len(name), 200)] }

// Adopt implements driver.Owners. A run that this process drives without Temporal, which it may have claimed just now, is given up first.
func (d *Driver) Adopt(ctx context.Context, run string) error {
	for {
		err := d.adopt(ctx, run)
		if owned, ok := errors.AsType[*journal.OwnedError](err); !ok || owned.Owner.ID != d.cfg.Store.Owner().ID {
			return err
		}
		if err := d.Interrupt(ctx, run); err != nil {
			return err
		}
		if wait(ctx, adoptAgain); ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// adoptAgain is how long Adopt waits for a run that this process is just claiming.
const adoptAgain = 10 * time.Millisecond

// adopt moves a run. Each tool call that is out is noted as begun before: the process that had it may have made it.
func (d *Driver) adopt(ctx context.Context, run string) error {
	head, err := d.cfg.Store.Head(ctx, run)
	if err != nil || head.Kind == journal.KindTemporal {
		return err
	}
	if alive, err := d.cfg.Store.Alive(ctx, head.Owner); err != nil || alive {
		return cmp.Or(err, error(&journal.OwnedError{Run: run, Owner: head.By}))
	}
	if err := d.checkID(ctx, run); err != nil {
		return err
	}
	open, err := d.OpenTools(ctx, head)
	if err != nil {
		return err
	}
	for _, id := range open {
		if _, err := d.noteBegun(ctx, run, begun{Call: id}); err != nil {
			return err
		}
	}
	return d.cfg.Store.SetKind(ctx, run, journal.KindTemporal)
}
