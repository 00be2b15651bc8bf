// Package transport is the code that all transports of a server share: the caller and the service
// of the caller's namespace, and the one table of problems.
//
// The server's guard authenticates the caller and puts a [Caller] into the request's context. The
// HTTP API, the MCP server, the OpenAI-compatible endpoint and webhooks take it from there: no
// transport sees a service of another namespace (SEC10).
//
// The package knows no protocol, apart from HTTP status codes.
package transport
