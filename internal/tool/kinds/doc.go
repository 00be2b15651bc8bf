// Package kinds lists the types of toolsets that documents may name. Each type is one value in one
// file: its name, the keys of its options, its tools, what it needs, and its lines in the
// documentation.
//
// It knows neither documents nor how a toolset is opened: a type checks the values of its options,
// package tool checks values whose parts have source positions of their own, and the service opens
// toolsets. It imports nothing, so that formats and package tool can share it.
//
// Readers of documents use [Of] and [All]; the schemas for editors, doctor, the MCP server's schema
// and the table in docs/tools.md are built from [Supported].
//
// Invariants: names are unique; [All] returns types in the order of registration.
package kinds
