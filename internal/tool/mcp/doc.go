// Package mcp makes tools of MCP servers: processes on standard input and output, and servers over streamable HTTP.
//
// It speaks the protocol through the official SDK and adds what a run needs and the SDK leaves to its caller: processes that end with all their
// children, an environment that holds only what was named, time limits that hold even against a server that does not read, a tool list that is
// read again when the server announces a change, and secrets that appear in no message.
//
// It refuses to start a command that is not trusted (SEC5), to use another HTTP client than the one it is given (SEC8), to answer a server's
// wishes for sampling, elicitation or roots, and to repeat a call that may have been carried out (D11).
//
// The flow: [Type] → Open (checks the spec, no I/O) → [Toolset.Tools] connects and lists → a tool's Call sends tools/call. A connection that was
// found broken before anything was sent is made anew, once per call. Close ends the session, then the process: closed input, SIGTERM, SIGKILL.
//
// Invariants: a Tool is called only while the server lists the definition that the Tool was made of (SEC14); each call carries its idempotency
// key in `_meta` as hocket/idempotencyKey (P12); after Close no goroutine and no process is left (P11).
package mcp
