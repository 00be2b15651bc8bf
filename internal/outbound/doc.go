// Package outbound builds the HTTP clients that Hocket uses for all outbound requests: models,
// tools, MCP servers, webhooks, schema fetches. It is the one place where an http.Client is built
// (SEC8); a test walks the tree and fails on any other.
//
// It does not connect to an address that a stranger must not reach through us: loopback, private,
// link-local, metadata, shared, documentation and translated addresses. The operator names the
// exceptions by host and port.
//
// The flow of one request:
//
//  1. A target that the operator named ([Config.Allow]) is dialed without a check, unless another
//     host's redirect led there.
//  2. Any other target is dialed by a dialer that checks the address after resolving it, so a name
//     that changes between the check and the connection has no effect, and unusual spellings of an
//     address do not matter.
//  3. Behind a proxy the proxy dials the address: every address of the target is resolved and
//     checked first (D34).
//  4. A redirect to another origin keeps only headers that describe the request; credentials in any
//     header are dropped.
//
// [Check] reports a mistake when an address is written down. It does not replace these checks.
//
// Clients have no total timeout, because responses are streamed: callers limit every request with
// its context (P11).
package outbound
