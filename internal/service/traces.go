package service

import (
	"context"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// startTraced starts a run in the trace of its caller, which is kept in its meta for whoever goes on with it: the span in ctx, or for a child run one of the run
// above it.
func (s *Service) startTraced(ctx context.Context, spec driver.Spec) (run string, err error) {
	caller := tracecontext.From(ctx)
	if spec.ParentRun != "" {
		head, err := s.store.Head(ctx, spec.ParentRun)
		if err != nil {
			return "", err
		}
		// What a Go function passes on may be of any trace; a child run is in that of the run above it.
		if above := s.telemetry.RunContext(spec.ParentRun, head.Meta); caller.TraceID() != above.TraceID() {
			caller = above
		}
	}
	spec.Meta = tracecontext.Keep(spec.Meta, caller)
	return s.driver.Start(ctx, spec)
}
