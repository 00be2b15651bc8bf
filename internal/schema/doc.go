// Package schema checks JSON values against the JSON Schemas that documents declare for structured output, and tells which types a path of a value
// can have.
//
// It refuses to load anything: a `$ref` to another document, by file or by network, is an error. It refuses schemas and values so large, so deep or
// with such numbers that checking them would take long (SEC17), and it never asserts what the draft leaves to annotations.
//
// The flow: [Compile] once when a document is read; [Schema.Validate] lists every violation;
// [Describe] words them for the model that is to mend its reply. [Schema.PathType] serves the check of conditions (S4-17).
//
// Invariants: same schema, same value, same violations in the same order; a [Schema] is immutable and safe for concurrent use; no clock, goroutine,
// randomness or I/O. Without `$schema`, a schema is of draft 2020-12.
package schema
