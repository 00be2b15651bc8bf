// Package oteltrack makes OpenTelemetry spans of runs: a hocket.Tracker for RunOptions.Telemetry (S2-72).
//
//	hocket.RunOptions{WorkflowName: "review", Telemetry: oteltrack.New(oteltrack.Config{})}
//
// It stands apart from package hocket so that programs without telemetry link none. It refuses to choose exporters, samplers and names of services: those
// come with the trace.TracerProvider of the program.
//
// The flow: a run is one span, `workflow <name>`, child of the span in the context of the call that started the run; each execution of a node is a span
// `node <id>` in it, with the nodes of a parallel block's branches below that of the block. Failed attempts are events of their node's span. A run that is
// resumed makes a span for each resume; `hocket.run.id` joins them. One trace for a run over pauses and processes is what [hocket.WithTelemetry] makes, which needs
// no SDK; this package is for spans among the program's own.
//
// Invariants: every span that is begun is ended, at the latest with its run's; times are those of the run's journal, not those of the telling. Spans that
// a node function makes itself are children of what its own context has, not of the node's span: a tracker observes a run and is no part of it.
package oteltrack
