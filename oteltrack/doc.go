// Package oteltrack creates OpenTelemetry spans for runs: it provides a hocket.Tracker for
// RunOptions.Telemetry.
//
//	hocket.RunOptions{WorkflowName: "review", Telemetry: oteltrack.New(oteltrack.Config{})}
//
// It is separate from package hocket so that programs without telemetry do not link it. It does not
// choose exporters, samplers or service names: those come with the program's trace.TracerProvider.
//
// A run is one span, `workflow <name>`, a child of the span in the context of the call that started
// the run. Each execution of a node is a span `node <id>` within it; the nodes in the branches of a
// parallel block are children of the block's span. Failed attempts are events of their node's span.
// A run that is resumed has one span per resume; they share the same `hocket.run.id`. For a single
// trace per run across pauses and processes use [hocket.WithTelemetry], which needs no SDK; this
// package is for spans among the program's own.
//
// Invariants: every span that is started is ended, at the latest with its run's; times are those of
// the run's journal, not those of the tracker calls. Spans that a node function creates itself are
// children of the span in the function's own context, not of the node's span: a tracker observes a
// run and is not part of it.
package oteltrack
