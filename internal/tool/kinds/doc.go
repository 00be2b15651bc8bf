// Package kinds is the list of the types of toolsets that documents may name. Each type is one value in one file: its name, the keys of its options, its tools, what it
// needs, and its lines in the documentation.
//
// It refuses to know documents and how a toolset is opened: a type checks the values of its options, package tool those that have places within them, and the service opens
// toolsets. It imports nothing, so that formats and package tool can share it.
//
// The flow: readers of documents ask [Of] and [All]; editors' schemas, doctor, the MCP server's schema and the table in docs/tools.md are made of [Supported].
//
// Invariants: names are unique; the order of [All] is that of registration.
package kinds
