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

// traced puts a run into the trace of its caller, which is kept in its meta for the process that goes on with it: the span in ctx, or for a child run one of the run
// above it.
func (s *Runner) traced(ctx context.Context, spec driver.Spec) driver.Spec {
	caller := tracecontext.From(ctx)
	if spec.ParentRun != "" {
		// What a Go function passes on may be of any trace; a child run is in that of the run above it. One that cannot be read keeps no run from starting.
		if head, err := s.store.Head(context.WithoutCancel(ctx), spec.ParentRun); err == nil {
			if above := s.telemetry.RunContext(spec.ParentRun, head.Meta); caller.TraceID() != above.TraceID() {
				caller = above
			}
		}
	}
	spec.Meta = tracecontext.Keep(spec.Meta, caller)
	return spec
}

// tracing gives how the calls of a run let others join its trace; nil where they do not.
func (s *Runner) tracing(info driver.Info) func(context.Context, driver.Traced) context.Context {
	if s.telemetry == nil {
		return nil
	}
	kinds := map[driver.CallKind]telemetry.What{driver.CallOfModel: telemetry.WhatModel, driver.CallOfTool: telemetry.WhatTool, driver.CallOfFunc: telemetry.WhatFunc}
	return func(ctx context.Context, c driver.Traced) context.Context {
		return s.telemetry.OutOfCall(ctx, info.Run, info.Meta, kinds[c.Kind], c.Step, c.Call, c.Model)
	}
}

// Tracing gives ctx for requests that tell others of a run: they carry its span, where telemetry is on and the run is there.
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
