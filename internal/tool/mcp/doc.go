// Package mcp provides the tools of MCP servers: processes that communicate over standard input and
// output, and servers over streamable HTTP.
//
// It speaks the protocol through the official SDK and adds what a run needs and the SDK leaves to
// its caller: processes that end with all their children, an environment that holds only named
// variables, time limits that hold even against a server that does not read, a tool list that is
// read again when the server announces a change, and secrets that appear in no message. What a
// server sends is checked before the SDK reads it, because the SDK ends the connection at a message
// that it cannot read: what is not a message is passed over, and an answer that cannot be read is a
// failure of its call alone.
//
// It does not start an untrusted command (SEC5), use any HTTP client other than the one it is
// configured with (SEC8), answer a server's requests for sampling, elicitation or roots, or repeat
// a call that may have been executed (D11).
//
// The flow is: [Type] → Open (checks the spec, no I/O) → [Toolset.Tools] connects and lists → a
// tool's Call sends tools/call. A connection that is found broken before anything was sent is
// re-established, once per call. Close ends the session, then the process: closed input, SIGTERM,
// SIGKILL.
//
// Invariants: a Tool is called only while the server lists the definition that the Tool was created
// from (SEC14); each call carries its idempotency key in `_meta` as hocket/idempotencyKey (P12);
// after Close no goroutine and no process is left (P11).
package mcp
