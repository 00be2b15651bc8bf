package stored

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Export returns the run as it is stored now, for Import elsewhere. Files that were stored with the
// run are not included. Errors: journal.ErrNotFound, *journal.CorruptError.
func (r *Runs) Export(ctx context.Context, run string) (journal.Bundle, error) {
	head, err := r.cfg.Journal.Head(ctx, run)
	if err != nil {
		return journal.Bundle{}, err
	}
	p := journal.Bundle{Run: run, Model: head.Meta[driver.MetaModel]}
	err = r.events(ctx, run, func(events []event.Event, _ bool) error {
		p.Events = append(p.Events, events...)
		return nil
	})
	return p, err
}

// Import stores a run from another store, without an owner: Resume and Answer continue it. A run
// that already exists here is unchanged if it starts with the events of p and nothing was settled
// after them.
//
// Errors, each with nothing stored: *engine.DivergenceError if p is not a run of w;
// journal.ErrConflict if the run that exists here has advanced or diverged.
func (r *Runs) Import(ctx context.Context, p journal.Bundle, w *workflow.Workflow) (err error) {
	defer recovered(&err)
	canonical, err := w.Canonical()
	if err != nil {
		return fmt.Errorf("import run: %w", err)
	}
	definition := journal.NewBlob(canonical)
	plan, err := r.compile(w, nil)
	if err != nil {
		return err
	}
	run := engine.New(plan, p.Run)
	if err := run.Apply(p.Events); err != nil {
		return fmt.Errorf("import run %s: %w", p.Run, err)
	}
	created, ok := p.Events[0].Data.(*event.RunCreated)
	if !ok {
		return fmt.Errorf("import run %s: %w", p.Run,
			&journal.CorruptError{Run: p.Run, Seq: 1, Reason: "it was never created"})
	}
	first, more, blobs, err := journal.EncodeParts(nil, p.Events)
	if err != nil {
		return fmt.Errorf("import run %s: %w", p.Run, err)
	}
	meta := driver.CopyUserMeta(created.Meta)
	if p.Model != "" {
		meta[driver.MetaModel] = p.Model
	}
	if created.Remind > 0 {
		meta[driver.MetaRemind] = time.Duration(created.Remind).String()
	}
	a := journal.Append{
		Run: p.Run, At: r.now(), Status: driver.StatusOf(run), Waiting: len(run.Waits()), Release: true,
		Create: &journal.NewRun{
			Workflow: cmp.Or(created.Workflow, created.Name), WorkflowName: created.Name, Format: created.Format,
			Parent: created.ParentRun, Kind: r.cfg.Kind,
			Definition: definition.Hash, Created: p.Events[0].At, Meta: meta,
			Branch: created.Meta[driver.MetaBranch], Trigger: created.Trigger, Labels: created.Labels,
			Preview: journal.Preview(created.Input),
		},
		Record: first, More: more,
		Blobs: append([]journal.Blob{definition}, blobs...), Notices: driver.OpenWaits(p.Events, run),
		Index: driver.Index(run, p.Events),
	}
	if err := a.Validate(); err != nil {
		return fmt.Errorf("import run %s: %w", p.Run, err)
	}
	// With ctx it would be unknown whether the run is stored.
	err = r.cfg.Journal.Append(context.WithoutCancel(ctx), a)
	if errors.Is(err, journal.ErrExists) {
		err = r.checkSameRun(ctx, p)
	}
	if err != nil {
		return fmt.Errorf("import run %s: %w", p.Run, err)
	}
	return nil
}

// checkSameRun returns nil if the run that exists here is the run of p, at the same point.
func (r *Runs) checkSameRun(ctx context.Context, p journal.Bundle) error {
	here, err := r.Export(ctx, p.Run)
	if err != nil {
		return err
	}
	n := len(p.Events)
	if len(here.Events) < n {
		return fmt.Errorf("the stored run ends before event %d: %w", n, journal.ErrConflict)
	}
	theirs, _, err := journal.Encode(p.Events)
	if err != nil {
		return err
	}
	ours, _, err := journal.Encode(here.Events[:n])
	if err != nil {
		return err
	}
	if !bytes.Equal(ours, theirs) {
		return fmt.Errorf("the stored run has different events: %w", journal.ErrConflict)
	}
	for _, ev := range here.Events[n:] {
		_, answered := ev.Data.(*event.WaitAnswered)
		if answered || event.StatusOf(ev.Data).Ended() || event.StepEnd(ev.Data) != event.Running {
			return fmt.Errorf("the stored run continued after event %d: %w", n, journal.ErrConflict)
		}
	}
	return nil
}
