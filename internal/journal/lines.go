package journal

import (
	"context"
	"errors"
)

// LineKind says what those in a line have in common.
type LineKind uint8

const (
	// LineSession is the line of the requests that wait for a session of this store, one place for each request.
	LineSession LineKind = iota + 1
	// LineKey is the line of the processes that use a key of a provider, one place for each process: the key's limits are divided among them. A process that enters again gives up the
	// place that it had. Where a database has several stores, they have it in common.
	LineKey
)

// Line names a line. Name may have any bytes.
type Line struct {
	Kind LineKind
	Name string
}

// Standing is where a place is in its line.
type Standing struct {
	// Before is how many places are before it, and All how many there are with it.
	Before, All int
}

// Lines are queues that the processes of a store have in common, in the order in which places were taken. A place is lost when its owner dies, so that no place waits for a dead process.
// What changes in a line is signalled as [OfLines]; that an owner died is not.
type Lines interface {
	// Enter takes a place at the end of a line. Of two calls one after the other, on whatever handles, the second gets the place behind the first.
	Enter(ctx context.Context, line Line) (place uint64, err error)
	// Standing tells where a place is. Place 0 is none's: all are before it, and it is not counted. Errors: ErrNotFound where the place was given up or lost.
	Standing(ctx context.Context, line Line, place uint64) (Standing, error)
	// Leave gives a place up. Giving up one that is not there does nothing.
	Leave(ctx context.Context, line Line, place uint64) error
}

// Validate tells what no store accepts.
func (l Line) Validate() error {
	if l.Kind != LineSession && l.Kind != LineKey || l.Name == "" {
		return errors.New("a line has no kind or no name")
	}
	return nil
}
