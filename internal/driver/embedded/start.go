package embedded

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Start implements driver.Driver.
func (d *Driver) Start(ctx context.Context, spec driver.Spec) (string, error) {
	l, err := d.begin(ctx, spec)
	if err != nil {
		return "", err
	}
	return l.run, await(ctx, l.begun)
}

// launched is a run whose start was requested.
type launched struct {
	run   string
	actor *actor
	begun chan error
	// first, create and blob are what the actor is given to begin with.
	first  message
	create journal.NewRun
	blob   [1]journal.Blob
}

// answered is sent to those who wait for the first message of a run.
func (l *launched) answered(err error) { l.begun <- err }

// ID implements driver.Launched.
func (l *launched) ID() string { return l.run }

// Wait implements driver.Launched.
func (l *launched) Wait(ctx context.Context) (begun bool, err error) {
	select {
	case <-l.actor.gone:
	case <-ctx.Done():
		err = ctx.Err()
	}
	if failed := <-l.begun; failed != nil {
		return false, failed
	}
	return true, err
}

// Launch implements driver.Driver.
func (d *Driver) Launch(ctx context.Context, spec driver.Spec) (driver.Launched, error) {
	l, err := d.begin(ctx, spec)
	if err != nil {
		return nil, err
	}
	return l, nil
}

func (d *Driver) begin(ctx context.Context, spec driver.Spec) (*launched, error) {
	if spec.Workflow == nil {
		return nil, errors.New("start run: no workflow")
	}
	if spec.Input != nil && !json.Valid(spec.Input) {
		return nil, errors.New("start run: the input is not JSON")
	}
	definition, err := d.plans.Definition(spec.Workflow)
	if err != nil {
		return nil, fmt.Errorf("start run: %w", err)
	}
	p, err := d.plans.Compile(definition.Hash, spec.Workflow, spec.Program, d.cfg.Program)
	if err != nil {
		return nil, err
	}
	run := cmp.Or(spec.Run, driver.NewRunID(d.now()))
	l := &launched{run: run, begun: make(chan error, 1), blob: [1]journal.Blob{definition}}
	if driver.HasOwnMeta(spec.Meta) {
		return nil, fmt.Errorf("start run: meta keys that begin with %s are reserved", driver.MetaOwn) // else a client could name any file
	}
	files, meta := spec.Kept()
	w := p.Plan.Workflow()
	id, name := spec.WorkflowID, spec.WorkflowName
	if id == "" && name == "" {
		id, name = w.ID, w.Name
	}
	a := d.newActor(run)
	a.plan, a.observe = p, spec.Observe
	a.blobs = append(l.blob[:], files...)
	l.actor = a
	l.create = journal.NewRun{
		Workflow: cmp.Or(id, name), WorkflowName: name, Format: w.Format, Parent: spec.ParentRun, Session: spec.Session, Place: spec.Place, Kind: d.cfg.Kind,
		Definition: definition.Hash, Created: d.now(), Meta: meta,
	}
	a.create = &l.create
	kept := spec.Files
	a.info = held.Info(run, w, l.create, func(_ context.Context, name string) ([]byte, error) {
		if data, ok := kept[name]; ok {
			return data, nil
		}
		return nil, fmt.Errorf("file %q of run %s: %w", name, run, journal.ErrNotFound)
	})
	a.info.History = func(context.Context) (*driver.History, error) {
		return &driver.History{}, nil
	}
	kit, err := held.Open(ctx, d.cfg.Open, a.info, p.Program)
	if err != nil {
		return nil, err
	}
	a.kit = kit
	start := engine.Start{Created: engine.RunCreated{
		Workflow: id, Name: name, Format: w.Format, Input: spec.Input, Limits: spec.Limits, Prices: spec.Prices,
		ParentRun: spec.ParentRun, ForkedFrom: spec.ForkedFrom, Meta: spec.Meta, Facts: spec.Facts, Remind: workflow.Duration(spec.Remind),
		Above: spec.Above,
	}}
	l.first = message{at: l.create.Created, data: start, done: l.answered}
	a.mail = append(a.mail, &l.first)

	d.mu.Lock()
	switch {
	case d.closed:
		err = driver.ErrClosed
	case d.runs[run] != nil:
		err = fmt.Errorf("start run %s: %w", run, journal.ErrExists)
	default:
		a.handsOff = d.handsOff(spec.Place) || spec.ParentRun == "" && d.isFull()
		d.launch(a)
	}
	d.mu.Unlock()
	if err != nil {
		return nil, errors.Join(err, a.kit.Close())
	}
	return l, nil
}
