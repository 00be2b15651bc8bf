// Package access identifies the callers of a server and what they may do: principals with roles,
// tokens stored as hashes, namespaces, and the audit log.
//
// The package does not know HTTP, MCP, or the services behind the transports. Its [Store] persists
// the tokens and [Log] the audit log; package accessdb implements them in the tables of a store.
//
// A transport extracts the token of a request, [Store] finds its [Principal] by the hash, the
// transport checks [Principal.May] before anything is read, and the action is recorded in the audit
// log.
//
// Invariants: the plaintext of a token is shown once, when it is created, and stored nowhere
// (SEC2). A principal belongs to exactly one namespace (SEC10).
package access
