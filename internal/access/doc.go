// Package access says who calls a server, and what they may do: principals with roles, tokens that are kept as hashes, namespaces, and the record of who did what.
//
// It refuses to know HTTP, MCP, or what is behind the transports. Its [Store] keeps what must outlive a process; package sqlite is one.
//
// The flow: a transport takes the token of a request, [Store] finds its [Principal] by the hash, the transport asks [Principal.May] before anything is looked at,
// and what was done is told to the audit log.
//
// Invariants: a token's text is shown once, when it is made, and stored nowhere (SEC2). A principal belongs to exactly one namespace (SEC10).
package access
