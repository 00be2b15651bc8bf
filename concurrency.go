package hocket

import "github.com/hocket-run/hocket/workflow"

// Concurrency limits how many runs of a graph execute concurrently, across all processes of the
// program. It counts the runs with the same Key that have not ended, including those that wait for
// a person or are interrupted. The zero Concurrency sets no limit. See docs/runs.md for what
// counts.
type Concurrency struct {
	// Key groups the runs that count together, such as those of a customer; at most 1,024 bytes.
	// Runs with Key "" form a group, too.
	Key string
	// Max is the maximum number of concurrent runs, at most 1,000; 0 means 1 if another field is
	// set.
	Max int
	// IfBusy specifies what happens to a run for which there is no room: "queue" or "" queues it,
	// first come, first served; "skip" does not start it and returns [ErrConcurrency]; "cancel"
	// cancels the oldest active run and then starts it.
	IfBusy string
}

// bound returns c in the form that workflows use, or nil if c sets no limit.
func (c Concurrency) bound() *workflow.Concurrency {
	if c == (Concurrency{}) {
		return nil
	}
	return &workflow.Concurrency{Key: c.Key, Max: c.Max, IfBusy: c.IfBusy}
}

// check returns an error if c is invalid.
func (c Concurrency) check() error {
	if b := c.bound(); b != nil {
		return b.Check()
	}
	return nil
}
