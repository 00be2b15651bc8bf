// Package resources opens what the calls of runs need: models, tools and the functions of Go programs, by the definition of the run and by the operator's configuration.
//
// It decides what a run may use: which servers and keys, what a person allowed and whether that still holds, the operator's permissions and budgets of workflows. Secrets are
// taken out of all that models and tools answer. What needs other runs (calls of workflows and of branches) is given to it: see [FromRuns].
//
// Package service/run opens the resources of each run by [Opener.Open], and asks before a start what the document of a run wants. It starts no run.
package resources
