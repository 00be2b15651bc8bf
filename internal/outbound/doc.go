// Package outbound makes the HTTP clients with which Hocket speaks to the world: models, tools, MCP servers, webhooks, schema fetches.
// It is the one place where an http.Client is built (SEC8); a test walks the tree and fails on any other.
//
// It refuses to connect to an address that a stranger must not reach through us: loopback, private, link-local, metadata,
// shared, documentation and translated addresses. The operator names the exceptions by host and port.
//
// The flow of one request:
//
//  1. A target that the operator named ([Config.Allow]) is dialled as it is, unless another host's redirect led there.
//  2. Any other target is dialled by a dialer that checks the address after it was resolved, so a name that changes its mind
//     between the check and the connection changes nothing, and odd spellings of an address do not matter.
//  3. Behind a proxy the address is not ours to dial: the target is resolved and checked first, every address of it (D34).
//  4. A redirect to another origin keeps only headers that say what is asked for; credentials in whatever header stay behind.
//
// [Check] reports a mistake when an address is written down. It replaces none of this.
//
// Clients carry no total timeout, because answers are streamed: callers bound every request with its context (P11).
package outbound
