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
// take ends it and is given back. Errors: those of Streams.Each and of Decode, which name the run.
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

// Streams reads what Store reads, piece by piece: what is held in memory does not grow with the run. All stores pass journaltest.Run.
type Streams interface {
	// Each gives take the records of a run with events beyond after, in order; the first of them may begin before it. It verifies each record before take gets it,
	// and the end of the journal after the last (P17): what take got before an error is not to be used. An error of take ends it and is given back as it is. No
	// place in the store is held while take runs.
	//
	// Errors: those of Read.
	Each(ctx context.Context, run string, after uint64, take func(Record) error) error
	// Part gives up to n bytes of a blob from an offset on, and the size of all of it; fewer only at its end. Whether the blob has the content that its hash
	// names is for the caller to verify, who reads all of it. Errors: ErrNotFound.
	Part(ctx context.Context, hash string, offset int64, n int) (part []byte, size int64, err error)
}
