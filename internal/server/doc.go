// Package server is the process that teams run: one address, all transports behind one guard,
// schedules, and runs that outlive their process.
//
// It does not know what is behind a transport: transports are [http.Handler]s in one table
// (routes.go), and take the caller and the namespace's service from the context of each request
// (package transport).
//
// The flow of a request, in [Server.ServeHTTP]:
//
//  1. It gets an id, and a response writer that enforces time limits and records its status.
//  2. An unknown Host or Origin is rejected, whatever the request (SEC9). Concurrent requests
//     beyond the Limits, and addresses that sent too many wrong tokens, get 429 with Retry-After
//     (SEC17).
//  3. The table selects the transport. All transports except those with their own secrets require a
//     token (SEC1), which determines the principal, which determines the service of the namespace
//     (SEC10). The request's context is done when the token is revoked or expires
//     (access.Revocations).
//  4. The body is limited (SEC17), and the transport responds.
//  5. The outcome goes to the log, the metrics and the audit log. A panic becomes a problem with
//     the request's id, and its stack is only logged.
//
// The flow of a process: [Open] opens stores and transports, [Server.Serve] serves until its
// context is done. Then readiness ends, event streams end, requests in flight are waited for, and
// [Server.Close] interrupts the runs it drives, so that the next process continues them (D15).
//
// Invariants: no address that others can reach is served without a token (SEC1). Tokens, tickets,
// bodies and secret paths are never logged.
package server
