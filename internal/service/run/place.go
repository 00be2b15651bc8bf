package run

import (
	"cmp"
	"context"
	"slices"

	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/internal/service/resources"
	"github.com/hocket-run/hocket/workflow"
)

// placeOf returns the place of a run of a workflow, which is the place of the process if the run
// needs files or programs of its machine. It returns an *InvalidError if the process drives no runs
// and has not been given the place of the processes that do.
func (s *Runner) placeOf(w *workflow.Workflow, f resources.Files) (string, error) {
	if s.cfg.Place == "" && !s.cfg.NoDrive || !s.opener.NeedsMachine(w, f) {
		return "", nil
	}
	if s.cfg.Place == "" {
		return "", failure.Refuse(errcode.PlaceNeeded, errcode.Fields{"workflow": cmp.Or(w.ID, w.Name)}, nil)
	}
	return s.cfg.Place, nil
}

// Move assigns a run to another place, where processes continue it; "" lets it continue anywhere.
// It returns journal.ErrNotFound, or *InvalidError if place is not a valid name.
func (s *Runner) Move(ctx context.Context, run, place string) error {
	if err := CheckPlace(place); err != nil {
		return err
	}
	return s.store.Move(ctx, run, place)
}

// CheckPlace returns an *InvalidError if place is not a valid name of a place.
func CheckPlace(place string) error {
	if err := journal.CheckPlace(place); err != nil {
		return failure.Refuse(errcode.InvalidPlace, errcode.Fields{"place": place}, err)
	}
	return nil
}

// noteWaiting fills in the place that each run waits for because no living process serves it. It
// queries the store only if a run needs a place.
func (s *Runner) noteWaiting(ctx context.Context, heads []journal.Head) error {
	waits := func(h journal.Head) bool { return h.Place != "" && h.Interrupted }
	if !slices.ContainsFunc(heads, waits) {
		return nil
	}
	all, err := s.store.Processes(ctx)
	if err != nil {
		return err
	}
	for i := range heads {
		if h := &heads[i]; waits(*h) && !slices.ContainsFunc(all, func(o journal.Owner) bool {
			return o.Place == h.Place
		}) {
			h.WaitingFor = h.Place
		}
	}
	return nil
}

// Drain stops starting calls, and returns when none is in progress or ctx is done. Other processes
// continue the runs.
func (s *Runner) Drain(ctx context.Context) { s.driver.Drain(ctx) }
