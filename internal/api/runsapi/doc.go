// Package runsapi serves the runs of one engine inside the server of a program: it lists and shows
// them, answers their waits and cancels them, in the JSON of the HTTP API.
//
// It does not authenticate callers: the program's own function decides on each request, and nothing
// about a run is read before that. It starts no runs and has no documents, tokens or namespaces.
//
// The flow of a request: its method and path are looked up; a change to a run must come from the
// server's own pages, as JSON, within the size limit of bodies; Config.Authorize identifies the
// caller and decides whether the request is allowed; the service is called; errors are written in
// the form that all transports share.
//
// Invariants: a request that Authorize was not asked about, or that it denied, reveals nothing
// about any run, not even that it exists. Lists contain only runs that may be shown.
package runsapi
