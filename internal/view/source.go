package view

import (
	"context"
	"io"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Source is where runs are read from: a store or a server.
type Source interface {
	// RunDefinition returns a run's index entry and the workflow that it runs. It returns
	// journal.ErrNotFound, *journal.CorruptError or *journal.NewerError.
	RunDefinition(ctx context.Context, run string) (journal.Head, *workflow.Workflow, error)
	// EachShort calls take with the events of a run after the event with number after, in order,
	// with tokens of t in place of values that are stored separately from the records. take owns
	// the event. An error from take stops EachShort and is returned.
	EachShort(ctx context.Context, run string, after uint64, t *Table, take func(engine.Event) error) error
	// Beginning returns up to n bytes of the start of a stored value and the value's total size.
	Beginning(ctx context.Context, run string, r *Ref, n int) (head []byte, size int64, err error)
	// Open returns a stored value as a stream, which ends with an error if the content does not
	// match its hash.
	Open(ctx context.Context, run string, r *Ref) (io.ReadCloser, error)
}
