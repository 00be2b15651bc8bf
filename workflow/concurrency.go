package workflow

import (
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/diag"
)

// Bounds of Concurrency.
const (
	// MaxConcurrentRuns bounds Concurrency.Max.
	MaxConcurrentRuns = 1000
	// MaxConcurrencyKey bounds the text of a key, in bytes: what the document says, and what it gives for a run.
	MaxConcurrencyKey = 1024
)

// What becomes of a run that is started while as many of its key as may be have not ended.
const (
	// BusyQueue lets it wait for its turn, first come, first served. It is what "" means.
	BusyQueue = "queue"
	// BusySkip does not start it.
	BusySkip = "skip"
	// BusyCancel cancels the oldest ones that go on, and starts it then.
	BusyCancel = "cancel"
)

// BusyWords lists the values of Concurrency.IfBusy.
func BusyWords() []string { return []string{BusyQueue, BusySkip, BusyCancel} }

// Concurrency bounds how many runs of a workflow run at once: those that have not ended, also while they wait for a person.
type Concurrency struct {
	// Key is a text with expressions over `$input`: runs for which it gives the same text count together. "": all runs of the workflow do.
	Key string `json:"key,omitempty"`
	// Max is how many run at once, at most MaxConcurrentRuns; 0 is 1.
	Max int `json:"max,omitempty"`
	// IfBusy is one of BusyWords; "" is BusyQueue.
	IfBusy string `json:"ifBusy,omitempty"`
}

// Runs gives how many runs run at once.
func (c *Concurrency) Runs() int { return max(c.Max, 1) }

// Policy gives what becomes of a run that has no place.
func (c *Concurrency) Policy() string {
	if c.IfBusy == "" {
		return BusyQueue
	}
	return c.IfBusy
}

// Check tells what is wrong with c, the expressions of its key aside.
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

// checkConcurrency refuses bounds that cannot hold, and those of a flow, which is a part of a run.
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
