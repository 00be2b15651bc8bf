// Package op is the table of operations: what people, programs and agents ask of a server, each
// described once. The transports are derived from it: routes of the HTTP API, tools of the MCP
// server, calls of the client, and commands with --server.
//
// It does not read requests, authenticate callers or write responses; it knows no transport. What
// transports offer differently on purpose is a field of the entry: two names of an argument, the
// text that tells a model what to do next, how long a tool waits.
//
// An entry is a variable made by [New] in a file of its own: the [Operation] with its names, texts
// and role, the function that carries it out, and the types of its input and result. Tags of the
// fields of these types say where transports find them: `path`, `query`, `header`, and the field
// Body, which is JSON; `tool` marks what tools alone have.
//
// The flow: a transport finds the caller and makes a [Caller]; it reads its request into the input
// type, by [Operation.Decode] in the MCP server, by huma in the HTTP API, by flags in a command; and
// calls [Op.Do], which checks the role, calls the function and reports the action for the audit
// log. The client does the opposite by [Operation.Request].
//
// Invariants: [All] lists every entry. An operation is checked, carried out and recorded in the
// same way through every transport. The function of an entry has access to its caller's service
// alone (SEC10).
package op
