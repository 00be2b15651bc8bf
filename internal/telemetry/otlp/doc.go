// Package otlp sends telemetry with OTLP over HTTP, in the binary form (http/protobuf).
//
// It encodes the few messages that it needs itself: OpenTelemetry's own exporters would link ten
// more modules, and the SDK generates its own IDs, whereas Hocket's follow from the journal (ADR
// 19). Tests decode its output with OpenTelemetry's published protocol definitions.
//
// It supports no other protocol: [FromEnv] reports the name of one. Addresses never come from a
// document: they are the operator's, so they are exempt by name from the checks of package outbound
// (D34).
//
// The flow: [FromEnv] reads the standard variables; [New] creates an exporter, which encodes a
// batch, posts it, and retries when the collector asks for it, until the timeout of the export
// expires.
package otlp
