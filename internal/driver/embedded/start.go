package embedded

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/journal"
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
	// first, create and blob are the actor's initial data.
	first  message
	create journal.NewRun
	blob   [1]journal.Blob
}

// answered receives the outcome of the run's first message.
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
	p, err := d.plans.Prepare(&spec, d.cfg.Kind, d.now, d.cfg.Program)
	if err != nil {
		return nil, err
	}
	run := p.Run
	l := &launched{run: run, begun: make(chan error, 1), blob: [1]journal.Blob{p.Definition}, create: p.New}
	a := d.newActor(run)
	a.plan, a.observe, a.ended = p.Plan, spec.Observe, spec.Ended
	a.blobs = append(l.blob[:], p.Files...)
	l.actor = a
	a.create = &l.create
	a.info = p.NewInfo(spec.Files)
	a.slot, _ = driver.SlotOf(run, p.New.Meta)
	kit, err := held.Open(ctx, d.cfg.Open, a.info, a.plan.Program)
	if err != nil {
		return nil, err
	}
	a.kit = kit
	l.first = message{at: l.create.Created, data: p.Start, done: l.answered}
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
