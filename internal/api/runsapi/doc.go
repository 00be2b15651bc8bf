// Package runsapi serves the runs of one engine inside the server of a program: it lists and shows them, answers their waits and cancels them, in the JSON of the HTTP API.
//
// It refuses to know who asks: the program's own function decides about each request, and nothing is read of a run before it has. It starts no runs and knows no documents, tokens and namespaces.
//
// The flow of a request: its method and path are looked up; what would change a run must come from the server's own pages, as JSON, within the bound of bodies; Config.Authorize says who asks and
// whether they may; the service is asked; errors are told as all transports tell them.
//
// Invariants: a request that Authorize was not asked about, or refused, tells nothing of any run, not even that there is one. Lists have only runs that may be shown.
package runsapi
