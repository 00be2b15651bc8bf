// Package service implements the use cases of Hocket, each once: load a document; start, resume,
// answer, cancel, reopen, watch, list, show and prune runs; store workflows and agents, publish
// them, and load them again; start runs on schedules.
//
// The command line, the HTTP API and the MCP server call it and add only their own form. It opens
// the store, creates the driver, and composes the parts, each of which knows only the preceding
// ones: failure (errors), definition (documents and the catalog), resources (models and tools of
// runs), run, schedule. A call of a promoted method, such as [Service.Start], goes directly to its
// part. names.go re-exports the names of the parts for callers, who import only this package.
//
// It does not print, read flags, or know any format's rules.
package service
