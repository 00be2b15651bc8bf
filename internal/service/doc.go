// Package service is the use cases of Hocket, each once: load a document, start, resume, answer, cancel, reopen, watch, list, show, prune; store workflows and agents,
// publish them, and load them again.
//
// The command line, the HTTP API and the MCP server call it and add nothing but their own form. It wires models and tools into the driver, and
// it decides what can be known before the first call: then nothing runs and no run is stored (D25).
//
// It refuses to print, to read flags, and to know any format's rules.
//
// The flow of a start: [Service.Load] reads the document with all its problems; [Service.Start] checks models, commands and limits and
// hands the definition with everything a later process needs (tools file, reply script) to the driver; [Service.Wait] and [Service.Watch] follow it.
//
// Documents and the catalog are in package definition, the errors in package failure; names.go gives their names to callers, who import this package alone.
//
// A run of all branches at once is a run of a generated workflow whose tool calls start the runs of the branches and wait for them (together.go, ADR 8).
package service
