package journal

import (
	"context"
	"errors"
)

// LineKind is the kind of a queue.
type LineKind uint8

const (
	// LineSession is the queue of the requests that wait for a session of this store, with one
	// place for each request.
	LineSession LineKind = iota + 1
	// LineKey is the queue of the processes that use a provider's API key, with one place for each
	// process: the key's limits are divided among them. A process that enters again releases its
	// previous place. If a database has several stores, they share the queue.
	LineKey
)

// Line identifies a queue. Name may contain any bytes.
type Line struct {
	Kind LineKind
	Name string
}

// Position is the position of a place in its queue.
type Position struct {
	// Before is the number of places before it, and All the total number including it.
	Before, All int
}

// Lines are queues that the processes of a store share, in the order in which places were taken. A
// place is lost when its owner dies, so that no place waits for a dead process. Changes to a queue
// are signaled as [OfLines]; the death of an owner is not.
type Lines interface {
	// Enter takes a place at the end of a queue. Of two successive calls, on any handles, the
	// second gets the later place.
	Enter(ctx context.Context, line Line) (place uint64, err error)
	// Position returns the position of a place. Place 0 is no place in the queue: all places are before
	// it, and it is not counted. It returns ErrNotFound if the place was released or lost.
	Position(ctx context.Context, line Line, place uint64) (Position, error)
	// Leave releases a place. Releasing a place that does not exist has no effect.
	Leave(ctx context.Context, line Line, place uint64) error
}

// Validate returns an error if no store accepts l.
func (l Line) Validate() error {
	if l.Kind != LineSession && l.Kind != LineKey || l.Name == "" {
		return errors.New("a line has no kind or no name")
	}
	return nil
}
