package journal

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/text"
)

// EventSource is the part of a store that EachEvents reads from.
type EventSource interface {
	Each(ctx context.Context, run string, after uint64, take func(Record) error) error
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// EachEvents calls take with the events of a run beyond after, record by record and in order;
// isContinued reports whether the next record continues the same activation. EachEvents stops at an
// error of take and returns it. Other errors are those of Log.Each and of Decode, which name the
// run.
func EachEvents(ctx context.Context, s EventSource, run string, after uint64,
	take func(events []event.Event, isContinued bool) error) error {
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

// TextSource is the part of a store that EachStored reads from.
type TextSource interface {
	EventSource
	Part(ctx context.Context, hash string, offset int64, n int) (part []byte, size int64, err error)
}

// EachStored is EachEvents from the first event on, for a reader that loads long message strings
// from the store on demand: they are replaced by the result of stored for the hash and size of a
// blob. aside holds the hashes of all values that the store holds outside the record. Errors are
// those of EachEvents, except for the content of blobs that are not read.
func EachStored(ctx context.Context, s TextSource, run string, after uint64,
	stored func(hash string, size int64) text.Text, take func(events []event.Event, aside []string) error) error {
	return s.Each(ctx, run, after, func(r Record) error {
		events, refs, err := decode(r.Data)
		if err == nil {
			err = restore(events, refs, func(hash string) ([]byte, error) { return s.Blob(ctx, hash) },
				func(hash string) (text.Text, error) {
					_, size, err := s.Part(ctx, hash, 0, 0)
					if err != nil {
						return text.Text{}, err
					}
					return stored(hash, size), nil
				})
		}
		if err != nil {
			return fmt.Errorf("read run %s: %w", run, InRun(run, err))
		}
		var aside []string
		for _, ref := range refs {
			aside = append(aside, ref.hash)
		}
		return take(events, aside)
	})
}
