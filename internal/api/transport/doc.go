// Package transport is what all ways into a server share: who calls and which namespace's service they reach, and the one table of problems.
//
// The server's guard finds out who calls and puts a [Caller] into the request's context. The HTTP API, the MCP server, the OpenAI-compatible endpoint and webhooks
// take it from there: no transport sees a service of another namespace (SEC10).
//
// It refuses to know any protocol but the numbers of HTTP's statuses.
package transport
