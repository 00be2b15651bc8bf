package service

import (
	"context"

	"github.com/hocket-run/hocket/internal/journal"
)

// Export gives a run as it is stored now, for Import elsewhere. Errors: journal.ErrNotFound, *journal.CorruptError.
func (s *Service) Export(ctx context.Context, run string) (journal.Parcel, error) {
	return s.driver.Export(ctx, run)
}

// Import stores a run of a Go graph that comes from another store; Resume and Answer go on with it. Errors, each with nothing stored:
// *engine.DivergenceError where it is no run of g; journal.ErrConflict where a run of that id is here and went another way or further.
func (s *Service) Import(ctx context.Context, p journal.Parcel, g Graph) error {
	return s.driver.Import(ctx, p, g.Workflow)
}
