package run

import (
	"context"
	"errors"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/child"
)

// Children returns the driver of child runs, which calls of runs start.
func (s *Runner) Children() *child.Runs { return s.children }

// childHost implements child.Host.
type childHost struct{ *Runner }

// Inherit implements child.Host.
func (h childHost) Inherit(run, parent string) { h.opener.Inherit(run, parent) }

// Resume implements child.Host. If a person must allow something again, this is detected when the
// run's tools are opened.
func (h childHost) Resume(ctx context.Context, run string) error { return h.resume(ctx, run) }

// Usage implements child.Host.
func (h childHost) Usage(ctx context.Context, run string) (child.Usage, error) {
	rec, err := h.ReadShort(ctx, run)
	if err != nil {
		return child.Usage{}, err
	}
	spent, parent, err := h.runs.Spent(ctx, run)
	if err != nil {
		return child.Usage{}, err
	}
	o := rec.Object()
	u := child.Usage{Status: o.Status, Used: event.Used{
		InputTokens: o.Usage.InputTokens, OutputTokens: o.Usage.OutputTokens, CostUSD: o.Usage.KnownCost.USD(),
		UnknownCosts: o.Usage.UnknownCosts,
		ModelCalls:   o.Usage.ModelCalls, ToolCalls: o.Usage.ToolCalls, Borne: spent,
	}}
	if o.Status == event.StatusFailed && o.Error != nil && o.Error.Code == event.CodeParentBudget {
		u.Short, u.Limit = parent, o.Error.Limit
	}
	return u, nil
}

// resume continues a run, first continuing its calls whose child runs no longer wait.
func (s *Runner) resume(ctx context.Context, run string) error {
	if err := s.resumeSettledCalls(ctx, run, 0); err != nil && !errors.Is(err, journal.ErrNotFound) {
		return err
	}
	return s.driver.Resume(ctx, run)
}
