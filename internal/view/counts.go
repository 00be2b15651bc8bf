package view

import (
	"cmp"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
)

// MaxCounted is the maximum number of workflows that are counted by name.
const MaxCounted = 100

// RunCounts holds numbers of runs. Its tags are those of the HTTP API.
type RunCounts struct {
	Total    int            `json:"total"`
	Status   map[string]int `doc:"By status; statuses that no run has are left out" json:"status"`
	Workflow map[string]int `doc:"By workflow: the 100 with the most runs"          json:"workflow"`
	Others   int            `doc:"Runs of all other workflows"                      json:"otherWorkflows"`
	Trigger  map[string]int `doc:"By what began the run"                            json:"trigger"`
	Format   map[string]int `doc:"By language of the document"                      json:"format"`
}

// CountsOf adds up the tallies of a store.
func CountsOf(tallies []journal.Tally) RunCounts {
	c := RunCounts{Status: map[string]int{}, Workflow: map[string]int{}, Trigger: map[string]int{},
		Format: map[string]int{}}
	for _, t := range tallies {
		c.Total += t.Runs
		c.Status[string(t.Status)] += t.Runs
		c.Workflow[t.Workflow] += t.Runs
		c.Trigger[t.Trigger] += t.Runs
		c.Format[t.Format] += t.Runs
	}
	if len(c.Workflow) <= MaxCounted {
		return c
	}
	names := slices.SortedFunc(maps.Keys(c.Workflow), func(a, b string) int {
		return cmp.Or(cmp.Compare(c.Workflow[b], c.Workflow[a]), cmp.Compare(a, b))
	})
	for _, name := range names[MaxCounted:] {
		c.Others += c.Workflow[name]
		delete(c.Workflow, name)
	}
	return c
}
