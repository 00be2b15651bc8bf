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

// placeOf gives the place of a run of a workflow: that of the process, where the run needs files or programs of its machine. Errors: *InvalidError where the process drives no runs, and was given
// no place of those that do.
func (s *Runner) placeOf(w *workflow.Workflow, f resources.Files) (string, error) {
	if s.cfg.Place == "" && !s.cfg.NoDrive || !s.opener.NeedsMachine(w, f) {
		return "", nil
	}
	if s.cfg.Place == "" {
		return "", failure.Refuse(errcode.PlaceNeeded, errcode.Fields{"workflow": cmp.Or(w.ID, w.Name)}, nil)
	}
	return s.cfg.Place, nil
}

// Move gives a run another place, where processes continue it; "" lets it go on anywhere. Errors: journal.ErrNotFound; *InvalidError for what is no name of a place.
func (s *Runner) Move(ctx context.Context, run, place string) error {
	if err := CheckPlace(place); err != nil {
		return err
	}
	return s.store.Move(ctx, run, place)
}

// CheckPlace refuses what is no name of a place. The error is an *InvalidError.
func CheckPlace(place string) error {
	if err := journal.CheckPlace(place); err != nil {
		return failure.Refuse(errcode.InvalidPlace, errcode.Fields{"place": place}, err)
	}
	return nil
}

// Processes gives the living processes on the store, sorted by kind, host and number.
func (s *Runner) Processes(ctx context.Context) ([]journal.Owner, error) {
	all, err := s.store.Processes(ctx)
	slices.SortFunc(all, func(a, b journal.Owner) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Host, b.Host), cmp.Compare(a.PID, b.PID), cmp.Compare(a.ID, b.ID))
	})
	return all, err
}

// WaitingFor gives, of those of some runs that wait for a place which no living process has, the place by run. It asks the store only where a run waits.
func (s *Runner) WaitingFor(ctx context.Context, heads ...journal.Head) (map[string]string, error) {
	waits := func(h journal.Head) bool { return h.Place != "" && h.Interrupted }
	if !slices.ContainsFunc(heads, waits) {
		return nil, nil
	}
	all, err := s.store.Processes(ctx)
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, h := range heads {
		if waits(h) && !slices.ContainsFunc(all, func(o journal.Owner) bool { return o.Place == h.Place }) {
			out[h.Run] = h.Place
		}
	}
	return out, nil
}

// Drain begins no call any more, and returns when none is in progress, or ctx is done. Other processes continue the runs.
func (s *Runner) Drain(ctx context.Context) { s.driver.Drain(ctx) }
