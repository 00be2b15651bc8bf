// Package otlp sends telemetry by OTLP over HTTP, in the binary form (http/protobuf).
//
// It writes the few messages that it needs itself, about a hundred lines: OpenTelemetry's own exporters would link ten modules more, and the SDK makes ids of
// its own where ours follow from the journal (ADR 19). Tests read what it writes with OpenTelemetry's published protocol definitions.
//
// It refuses gRPC and JSON, which [FromEnv] says by name, and it never follows a document: addresses are the operator's, so they are exempt from the checks of package
// outbound by their names alone (D34).
//
// The flow: [FromEnv] reads the standard variables, [New] makes an exporter, which encodes a batch, posts it, and tries again what the collector asks to be tried again,
// until the time of one export is over.
package otlp
