// Package telemetry makes OpenTelemetry traces and metrics of runs: of documents and of Go graphs alike, by the GenAI conventions.
//
// Spans are a pure function of a run's journal. The trace's id is a hash of the run's id, a span's id one of run, kind, step, call and attempt, and all times are
// those of events. So a run that pauses, dies and goes on in another process is one trace (P35): the process that commits the event that ends a span has it whole, also
// when it began elsewhere. Child runs are in the trace of the run above them.
//
// It refuses to slow a run down: events are put into a bounded queue at their commit. It refuses to export what people wrote and models said
// unless [Config.Content] is set, and it knows no protocol: exporters are ports, package otlp is one.
//
// The flow:
//
//  1. The driver tells the [Observer] of events once they are durable.
//  2. Its one goroutine, which starts with the first of them, hands them to the run's [Tracer]. One that lacks events, because the run began in another process
//     or the queue was full, reads them from the journal first.
//  3. The tracer gives each span when it is over, below the spans that hold it, and the [Meter] counts it.
//  4. Spans go to the exporter in batches, metrics once in a while; what cannot be sent is dropped and counted.
//
// Invariants: a span is given once for each process that commits its end. It lies within its parent's time: a parent waits for the calls in it that are still out. After a
// crash, the process that takes the run up gives the spans of the last moments before it again, with equal ids, since it is unknown what was sent: at least once.
package telemetry
