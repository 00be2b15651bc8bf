package hocket

import "github.com/hocket-run/hocket/workflow"

// Concurrency bounds how many runs of a graph run at once, over all processes of the program: those of one Key that have not ended, also while they wait for a person or are interrupted. The zero Concurrency
// bounds nothing. docs/runs.md tells what counts.
type Concurrency struct {
	// Key is what runs have in common that count together, such as a customer, at most 1,024 bytes; those with the Key "" count together too.
	Key string
	// Max is how many run at once, at most 1,000; 0 is 1 where another field is set.
	Max int
	// IfBusy says what becomes of a run for which there is no room: "queue" and "" have it wait for its turn, first come, first served; "skip" does not start it, with [ErrConcurrency]; "cancel" cancels the
	// oldest one that goes on and starts it then.
	IfBusy string
}

// bound gives it in the terms of workflows, nil where it bounds nothing.
func (c Concurrency) bound() *workflow.Concurrency {
	if c == (Concurrency{}) {
		return nil
	}
	return &workflow.Concurrency{Key: c.Key, Max: c.Max, IfBusy: c.IfBusy}
}

// check tells what is wrong with it.
func (c Concurrency) check() error {
	if b := c.bound(); b != nil {
		return b.Check()
	}
	return nil
}
