package tooltest

import "context"

// Countdown is a context that is done after Err was called Until times. It is not safe for
// concurrent use.
type Countdown struct {
	context.Context

	// Asked is the number of calls of Err; Until is how many of them return nil.
	Asked, Until int
}

// Err implements [context.Context].
func (c *Countdown) Err() error {
	if c.Asked++; c.Asked > c.Until {
		return context.Canceled
	}
	return nil
}
