package run

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/view"
	"github.com/hocket-run/hocket/workflow"
)

// Hold keeps a run, possibly one that is yet to start, from being dropped by an in-memory store
// until release is called; see Config.RetainRuns.
func (s *Runner) Hold(run string) (release func()) {
	return journal.Hold(s.store, run)
}

// RunDefinition returns a run's index entry and the workflow that it executes, without its events.
// The errors are those of Read.
func (s *Runner) RunDefinition(ctx context.Context, run string) (journal.Head, *workflow.Workflow, error) {
	defer s.Hold(run)()
	h, err := s.Head(ctx, run)
	if err != nil {
		return journal.Head{}, nil, err
	}
	def, err := stored.Charged{TextSource: s.store}.Blob(ctx, h.Definition)
	if errors.Is(err, journal.ErrNotFound) {
		return journal.Head{}, nil, &journal.CorruptError{Run: run, Reason: "its definition is missing"}
	}
	if err != nil {
		return journal.Head{}, nil, fmt.Errorf("read definition of run %s: %w", run, journal.InRun(run, err))
	}
	w, err := workflow.Parse(def)
	if err != nil {
		return journal.Head{}, nil,
			&journal.CorruptError{Run: run, Reason: "its definition cannot be read: " + err.Error()}
	}
	if h.Turn, err = s.turn(ctx, h); err != nil {
		return journal.Head{}, nil, err
	}
	return h, w, nil
}

// turn returns the position of a pending run in the queue of its key, or nil for a run that is in
// none.
func (s *Runner) turn(ctx context.Context, h journal.Head) (*journal.Turn, error) {
	if _, isBound := boundOf(h.Meta); h.Status != journal.StatusPending || !isBound {
		return nil, nil //nolint:nilnil // it has its turn, or needs none
	}
	t, err := s.store.Turn(ctx, h.Run)
	if errors.Is(err, journal.ErrNotFound) || err == nil && t.Admitted {
		return nil, nil //nolint:nilnil // it shares the place of a run above, or begins just now
	}
	return &t, err
}

// Events returns the events of a run that follow the event after.
func (s *Runner) Events(ctx context.Context, run string, after uint64) ([]event.Event, error) {
	var events []event.Event
	err := s.EachEvent(ctx, run, after, func(e event.Event) error {
		events = append(events, e)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return events, nil
}

// EachEvent calls take with the events of a run that follow the event after, in order, without
// holding all of them in memory. An error of take ends the iteration and is returned.
func (s *Runner) EachEvent(ctx context.Context, run string, after uint64, take func(event.Event) error) error {
	defer s.Hold(run)()
	return journal.EachEvents(ctx, s.store, run, after, func(events []event.Event, _ bool) error {
		for _, e := range events {
			if err := take(e); err != nil {
				return err
			}
		}
		return nil
	})
}

// Head returns the index entry of a run, or journal.ErrNotFound.
func (s *Runner) Head(ctx context.Context, run string) (journal.Head, error) {
	h, err := s.store.Head(ctx, run)
	if err != nil {
		return h, err
	}
	one := []journal.Head{h}
	err = s.noteWaiting(ctx, one)
	return one[0], err
}

// Show returns the run object with all its steps and full values.
func (s *Runner) Show(ctx context.Context, run string) (project.Run, error) {
	defer s.Hold(run)()
	h, w, err := s.RunDefinition(ctx, run)
	if err != nil {
		return project.Run{}, err
	}
	f := project.NewFolder(run, w)
	if err := s.EachEvent(ctx, run, 0, func(e event.Event) error {
		f.Add(e)
		return nil
	}); err != nil {
		return project.Run{}, err
	}
	o := f.Run()
	o.Interrupted, o.WaitingFor, o.Turn = h.Interrupted, h.WaitingFor, view.TurnOf(h)
	return o, nil
}

// List returns a page of runs, newest first.
func (s *Runner) List(ctx context.Context, q journal.Query) ([]journal.Head, string, error) {
	page, next, err := s.store.List(ctx, q)
	if err == nil {
		err = s.noteWaiting(ctx, page)
	}
	return page, next, err
}
