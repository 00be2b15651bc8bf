package journal

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine"
)

// EventSource is what EachEvents reads of.
type EventSource interface {
	Each(ctx context.Context, run string, after uint64, take func(Record) error) error
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// EachEvents gives take the events of a run beyond after, record by record and in order; isContinued says that the next record goes on with the same activation. An error of
// take ends it and is given back. Errors: those of Log.Each and of Decode, which name the run.
func EachEvents(ctx context.Context, s EventSource, run string, after uint64, take func(events []engine.Event, isContinued bool) error) error {
	return s.Each(ctx, run, after, func(r Record) error {
		events, err := Decode(r.Data, func(hash string) ([]byte, error) { return s.Blob(ctx, hash) })
		if err != nil {
			return fmt.Errorf("read run %s: %w", run, InRun(run, err))
		}
		for len(events) > 0 && events[0].Seq <= after {
			events = events[1:]
		}
		if len(events) == 0 {
			return nil
		}
		return take(events, IsContinued(r.Data))
	})
}
