package driver

import (
	"context"
	"errors"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// Blobs reads blobs; a journal.Log does.
type Blobs interface {
	Blob(ctx context.Context, hash string) ([]byte, error)
}

// ReadDefinition reads the workflow that a run was started with, by its digest. It returns a
// *journal.CorruptError if the definition is missing or is not a workflow, or the error from
// reading.
func ReadDefinition(ctx context.Context, blobs Blobs, digest string) (*workflow.Workflow, error) {
	data, err := blobs.Blob(ctx, digest)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, &journal.CorruptError{Reason: "its definition is missing"}
	}
	if err != nil {
		return nil, err
	}
	w, err := workflow.Parse(data)
	if err != nil {
		return nil, &journal.CorruptError{Reason: "its definition cannot be read: " + err.Error()}
	}
	return w, nil
}
