// Package telemetry produces OpenTelemetry traces and metrics of runs, of documents and of Go
// graphs alike, following the GenAI conventions.
//
// Spans are a pure function of a run's journal. The trace ID is a hash of the run's ID, a span ID
// is a hash of run, kind, step, call and attempt, and all times are those of events. So a run that
// pauses, dies and continues in another process is one trace (P35): the process that commits the
// event that ends a span has the whole span, even if it started elsewhere. Child runs are in the
// trace of their parent run.
//
// It does not slow runs down: events are put into a bounded queue when they are committed. It does
// not export what people wrote and models returned unless [Config.Content] is set, and it does not
// depend on a protocol: exporters are ports, and package otlp is one.
//
// The flow:
//
//  1. The driver notifies the [Observer] of events once they are durable.
//  2. The observer's only goroutine, which starts with the first event, passes them to the run's
//     [Tracer]. A tracer that lacks events, because the run started in another process or the queue
//     was full, first reads them from the journal.
//  3. The tracer emits each span when it has ended, below its parent spans, and the [Meter] counts
//     it.
//  4. Spans are sent to the exporter in batches, metrics periodically; what cannot be sent is
//     dropped and counted.
//
// Invariants: a span is emitted once by each process that commits its end. It lies within its
// parent's time: a parent waits for its calls that are still in flight. After a crash, the process
// that resumes the run emits the spans of the last moments before the crash again, with equal IDs,
// because it is unknown what was sent: delivery is at least once.
package telemetry
