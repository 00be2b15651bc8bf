package tooltest

import "context"

// Countdown is a context that is done once Err was called Until times. It is not safe for concurrent use.
type Countdown struct {
	context.Context

	// Asked counts the calls of Err, Until is how many of them give nil.
	Asked, Until int
}

// Err implements [context.Context].
func (c *Countdown) Err() error {
	if c.Asked++; c.Asked > c.Until {
		return context.Canceled
	}
	return nil
}
