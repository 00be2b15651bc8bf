package run

import (
	"context"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/telemetry"
	"github.com/hocket-run/hocket/internal/tracecontext"
)

// startTraced starts a run in the trace of its caller.
func (s *Runner) startTraced(ctx context.Context, spec driver.Spec) (run string, err error) {
	return s.driver.Start(ctx, s.traced(ctx, spec))
}

// traced puts a run into the trace of its caller, which is stored in its meta for the process that
// continues it: the span in ctx or, for a child run, a span of its parent run.
func (s *Runner) traced(ctx context.Context, spec driver.Spec) driver.Spec {
	caller := tracecontext.From(ctx)
	if spec.ParentRun != "" {
		// A Go function may pass on any trace; a child run is in the trace of its parent run. An
		// unreadable trace does not keep a run from starting.
		if head, err := s.store.Head(context.WithoutCancel(ctx), spec.ParentRun); err == nil {
			if above := s.telemetry.RunContext(spec.ParentRun, head.Meta); caller.TraceID() != above.TraceID() {
				caller = above
			}
		}
	}
	spec.Meta = tracecontext.Keep(spec.Meta, caller)
	return spec
}

// tracing returns the function that adds the run's trace to its calls; nil if tracing is off.
func (s *Runner) tracing(info driver.Info) func(context.Context, driver.Traced) context.Context {
	if s.telemetry == nil {
		return nil
	}
	kinds := map[driver.CallKind]telemetry.What{driver.CallOfModel: telemetry.WhatModel,
		driver.CallOfTool: telemetry.WhatTool, driver.CallOfFunc: telemetry.WhatFunc}
	return func(ctx context.Context, c driver.Traced) context.Context {
		return s.telemetry.OutOfCall(ctx, info.Run, info.Meta, kinds[c.Kind], c.Step, c.Call, c.Model)
	}
}

// Tracing returns ctx for requests that notify others about a run: they carry its span, if
// telemetry is on and the run exists.
func (s *Runner) Tracing(ctx context.Context, run string) context.Context {
	if s.telemetry == nil {
		return ctx
	}
	head, err := s.store.Head(ctx, run)
	if err != nil {
		return ctx
	}
	return s.telemetry.OutOfRun(ctx, run, head.Meta)
}
