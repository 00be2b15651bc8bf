package view

import (
	"context"
	"io"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Source is where runs are read: a store, or a server.
type Source interface {
	// RunDefinition gives a run's index entry and the workflow that it runs. Errors: journal.ErrNotFound, *journal.CorruptError, *journal.NewerError.
	RunDefinition(ctx context.Context, run string) (journal.Head, *workflow.Workflow, error)
	// EachShort gives take the events of a run after the event after, in order, with tokens of t in the place of values that are stored beside the records. The
	// event is take's. An error of take ends it and is given back.
	EachShort(ctx context.Context, run string, after uint64, t *Table, take func(engine.Event) error) error
	// Beginning gives up to n bytes of a stored value and the size of all of it.
	Beginning(ctx context.Context, run string, r *Ref, n int) (head []byte, size int64, err error)
	// Open gives all of a stored value as a stream, which ends with an error where the content is not what its hash says.
	Open(ctx context.Context, run string, r *Ref) (io.ReadCloser, error)
}
