// Package service is the use cases of Hocket, each once: load a document, start, resume, answer, cancel, reopen, watch, list, show, prune; store workflows and agents,
// publish them, and load them again; start runs by schedules.
//
// The command line, the HTTP API and the MCP server call it and add nothing but their own form. It opens the store, makes the driver, and composes the parts, each of which
// knows only those before it: failure (errors), definition (documents and the catalog), resources (models and tools of runs), run, schedule. A call of a promoted method,
// such as [Service.Start], goes straight to its part. names.go gives the names of the parts to callers, who import this package alone.
//
// It refuses to print, to read flags, and to know any format's rules.
package service
