package workflow

import (
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/diag"
)

// Limits of Concurrency.
const (
	// MaxConcurrentRuns is the maximum of Concurrency.Max.
	MaxConcurrentRuns = 1000
	// MaxConcurrencyKey is the maximum length of a key in bytes, both as written in the document
	// and as evaluated for a run.
	MaxConcurrencyKey = 1024
)

// What happens to a run that is started while the maximum number of runs with its key have not
// ended.
const (
	// BusyQueue queues it, first come, first served. It is the default.
	BusyQueue = "queue"
	// BusySkip does not start it.
	BusySkip = "skip"
	// BusyCancel cancels the oldest active runs, and then starts it.
	BusyCancel = "cancel"
)

// BusyWords lists the values of Concurrency.IfBusy.
func BusyWords() []string { return []string{BusyQueue, BusySkip, BusyCancel} }

// Concurrency limits how many runs of a workflow run concurrently. Runs that have not ended count,
// even while they wait for a person.
type Concurrency struct {
	// Key is text with expressions over `$input`: runs for which it evaluates to the same string
	// count together. If empty, all runs of the workflow do.
	Key string `json:"key,omitempty"`
	// Max is the number of concurrent runs, at most MaxConcurrentRuns; 0 means 1.
	Max int `json:"max,omitempty"`
	// IfBusy is one of BusyWords; empty means BusyQueue.
	IfBusy string `json:"ifBusy,omitempty"`
}

// Runs returns the maximum number of concurrent runs.
func (c *Concurrency) Runs() int { return max(c.Max, 1) }

// Policy returns what happens to a run for which there is no slot.
func (c *Concurrency) Policy() string {
	if c.IfBusy == "" {
		return BusyQueue
	}
	return c.IfBusy
}

// Check returns an error if c is invalid. It does not check the expressions of its key.
func (c *Concurrency) Check() error {
	switch {
	case c.Max < 0 || c.Max > MaxConcurrentRuns:
		return fmt.Errorf("max is %d; it must be from 1 to %d", c.Max, MaxConcurrentRuns)
	case len(c.Key) > MaxConcurrencyKey:
		return fmt.Errorf("the key has %d bytes, at most %d are possible", len(c.Key), MaxConcurrencyKey)
	case c.IfBusy != "" && c.IfBusy != BusyQueue && c.IfBusy != BusySkip && c.IfBusy != BusyCancel:
		return errors.New("if_busy must be queue, skip or cancel")
	}
	return nil
}

// checkConcurrency rejects invalid limits, and any limit of a flow, because a flow is part of a
// run.
func (c *checker) checkConcurrency(flow bool) {
	at := diag.Span{File: c.w.Source.File}
	switch b := c.w.Concurrency; {
	case b == nil:
	case flow:
		c.errorf(at, "bad-concurrency", "a flow has no concurrency of its own: it bounds runs")
	default:
		if err := b.Check(); err != nil {
			c.errorf(at, "bad-concurrency", "concurrency: %s", err)
		}
	}
}
