package run

import (
	"context"
	"errors"

	"github.com/hocket-run/hocket/internal/config"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/errcode"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service/failure"
	"github.com/hocket-run/hocket/workflow"
)

// Export returns a run as it is stored now, for Import elsewhere. It returns journal.ErrNotFound or
// *journal.CorruptError.
func (s *Runner) Export(ctx context.Context, run string) (journal.Bundle, error) {
	return s.runs.Export(ctx, run)
}

// Import stores a run of a Go graph from another store; Resume and Answer continue it. If it
// returns an error, nothing is stored: *engine.DivergenceError if it is not a run of g;
// *InvalidError if its budget is larger than the operator allows; journal.ErrConflict if a run with
// that id exists here and has diverged or is further ahead.
func (s *Runner) Import(ctx context.Context, p journal.Bundle, g Graph) error {
	_, err := s.store.Head(ctx, p.Run)
	if errors.Is(err, journal.ErrNotFound) {
		err = s.checkBundle(p)
	}
	if err != nil {
		return err
	}
	return s.runs.Import(ctx, p, g.Workflow)
}

// checkBundle rejects a run whose budget is larger than the operator allows: it keeps the budget
// with which it was started elsewhere.
func (s *Runner) checkBundle(p journal.Bundle) error {
	var l workflow.Limits
	for i := range p.Events {
		if set := event.LimitsOf(p.Events[i].Data); set != nil {
			l = *set
		}
	}
	for _, b := range []struct {
		name      string
		has, most float64
	}{
		{"tokens", float64(l.MaxTokens), float64(s.cfg.Operator.Budgets.Run.Tokens)},
		{"costUSD", l.MaxCostUSD, s.cfg.Operator.Budgets.Run.CostUSD},
		{"calls", float64(l.MaxCalls), float64(s.cfg.Operator.Budgets.Run.Calls)},
	} {
		switch {
		case b.most <= 0 || b.has > 0 && b.has <= b.most:
		case b.has <= 0:
			return failure.Refuse(errcode.BudgetMissing,
				errcode.Fields{"run": p.Run, "budget": b.name, "file": config.Name, "max": b.most}, nil)
		default:
			return failure.Refuse(errcode.BudgetTooLarge, errcode.Fields{"run": p.Run, "budget": b.name, "has": b.has,
				"file": config.Name, "max": b.most}, nil)
		}
	}
	return nil
}
