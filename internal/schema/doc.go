// Package schema validates JSON values against the JSON Schemas that documents declare for
// structured output, and determines which types the value at a path can have.
//
// It does not load anything: a `$ref` to another document, by file or network, is an error. It
// rejects schemas and values so large, deep or numerically extreme that checking them would take
// long (SEC17), and it never asserts keywords that the draft treats as annotations.
//
// The flow: call [Compile] once when a document is read; [Schema.Validate] lists every violation;
// [Describe] words them for the model that must correct its reply. [Schema.PathType] is used to
// check conditions (S4-17).
//
// Invariants: the same schema and value yield the same violations in the same order; a [Schema] is
// immutable and safe for concurrent use; no clock, goroutine, randomness or I/O. A schema without
// `$schema` uses draft 2020-12.
package schema
