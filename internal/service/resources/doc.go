// Package resources opens what the calls of runs need: models, tools and the functions of Go
// programs, according to the definition of the run and the operator's configuration.
//
// It decides what a run may use: which servers and keys, what a person allowed and whether that
// still holds, the operator's permissions, and the budgets of workflows. Secrets are redacted in
// everything that models and tools return. Parts that need other runs (calls of workflows and of
// branches) are passed in; see [FromRuns].
//
// Package service/run opens the resources of each run with [Opener.Open], and checks before a start
// what the document of a run requests. Package resources starts no run.
package resources
