// Package server is the process that teams run: one address, all transports behind one guard, schedules, and runs that outlive their process.
//
// It refuses to know what is behind a transport: transports are [http.Handler]s in one table (routes.go), and take the caller and the namespace's service from the context of
// each request (package transport).
//
// The flow of a request, in [Server.ServeHTTP]:
//
//  1. It gets an id, and an answer that heeds limits of time and remembers its status.
//  2. An unknown Host or Origin is refused, whatever is asked for (SEC9).
//     More requests at once than Limits say, and addresses that showed too many wrong tokens, get 429 with Retry-After (SEC17).
//  3. The table says which transport it is for. All but those that have secrets of their own ask for a token (SEC1), which gives the principal, and that the service of
//     the namespace (SEC10). Its context is done when the token is revoked or expires (access.Revocations).
//  4. The body is bounded (SEC17), and the transport answers.
//  5. Log, metrics and audit hear what became of it. A panic is a problem with the request's id, and its stack is the log's alone.
//
// The flow of a process: [Open] opens stores and transports, [Server.Serve] answers until its context is done. Then readiness ends, event streams end, requests under way are
// waited for, and [Server.Close] interrupts what is driven, so that the next process goes on with it (D15).
//
// Invariants: no address that others can reach is served without a token (SEC1). Tokens, tickets, bodies and paths that are secrets are never logged.
package server
