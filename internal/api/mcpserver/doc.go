// Package mcpserver is the MCP server of Hocket: workflows, agents and runs as tools and resources
// for assistants, over standard input and output and over streamable HTTP.
//
// It speaks the protocol through the official SDK. It does not authenticate callers (package
// transport puts the caller into the context), has no access to any namespace but the caller's
// (SEC10), and never accepts an approval from a model: approvals come from the client's user, whom
// the server asks by elicitation with the real arguments of the call, or from a token with
// permission to approve (SEC12, D32).
//
// The flow of a call:
//
//  1. a principal's account (account.go) has the sessions that this principal opened, and no
//     others: another principal's session id is unknown there;
//  2. the call finds its row in the one table of tools (tools.go), and [transport.Require] checks the
//     row's role (SEC2);
//  3. the arguments are checked against the row's schema and decoded (args.go), and the row's
//     function does the work through the service;
//  4. its result is limited in size (truncate.go) and returned as structured content and as text;
//     an error is mapped by the table of problems that all transports share (problem.go), with
//     advice on what to do next (advice.go).
//
// Invariants: the end of a request or of a session ends no run, only cancel_run does; what an
// approval shows is what is executed after it is granted, identified by the wait's id (SEC12);
// results match the output schema that the tool announces; after [Server.Close] no goroutine is
// left.
//
// Sources: the last section of the reference document of rounds, the rules S1-28 and S1-40 of
// docs/spec, SEC9, SEC12, D17, D32; ADR 26.
package mcpserver
