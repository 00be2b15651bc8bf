package compat

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/internal/checkpoint"
	"github.com/hocket-run/hocket/internal/store"
)

// Checkpointer saves states of runs under labels, to inspect one or to start a new run with it.
//
// [MemoryCheckpoints], [FileCheckpoints] and [SQLiteCheckpoints] return implementations.
// Implementations must be safe for concurrent use; ids and labels are arbitrary strings.
type Checkpointer interface {
	hocket.Checkpointer // Save

	// Load returns the state with that label, or with "" the state saved last; the caller owns it.
	// If there is none, the error is ErrNoCheckpoint.
	Load(ctx context.Context, execution, label string) (json.RawMessage, error)
	// List returns the labels, oldest first; empty if there are none.
	List(ctx context.Context, execution string) ([]string, error)
	// Delete deletes the state with that label, or with "" all states of the run. Deleting an
	// absent state is not an error.
	Delete(ctx context.Context, execution, label string) error
}

var (
	// ErrNoCheckpoint is returned when a run has no checkpoint with that label, or none at all.
	ErrNoCheckpoint = checkpoint.ErrNone
	// ErrCheckpointsClosed is returned when the checkpoint store was closed.
	ErrCheckpointsClosed = checkpoint.ErrClosed
)

// CheckpointError is returned when a stored state differs from the one that was saved; none of it
// is returned. Execution is the run, Label the label of the state, "" if unknown, and Reason
// describes the problem. Loads return a pointer to it.
type CheckpointError = checkpoint.CorruptError

// CheckpointStore is a Checkpointer that holds open resources. After Close every call fails with
// ErrCheckpointsClosed; a second Close does nothing.
type CheckpointStore interface {
	Checkpointer
	Close() error
}

// MemoryCheckpoints returns a Checkpointer that keeps checkpoints for the lifetime of the process.
// Ids and labels have at most 1,024 bytes, as with FileCheckpoints and SQLiteCheckpoints.
func MemoryCheckpoints() Checkpointer { return &checkpoint.Memory{} }

// FileCheckpoints returns a store that keeps checkpoints in a folder, which is created, readable
// only by its owner, if it does not exist. Each state is a file: a line of JSON with run, label and
// hash, followed by the state. Files are named by number and hash, never by strings that a caller
// chose. Only one process at a time may save for a run.
func FileCheckpoints(folder string) (CheckpointStore, error) {
	c, err := checkpoint.OpenFiles(folder)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// SQLiteCheckpoints returns a store that keeps checkpoints in a database file, which is created,
// readable only by its owner, if it does not exist. The file may be that of an engine's store:
// checkpoints have a table of their own there, and are kept when their run is pruned.
func SQLiteCheckpoints(ctx context.Context, path string) (CheckpointStore, error) {
	home, err := store.Open(ctx, path, store.Config{})
	if err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	return storedCheckpoints{home.Checkpoints, home}, nil
}

// storedCheckpoints keeps checkpoints in a store that is open only for them.
type storedCheckpoints struct {
	Checkpointer
	io.Closer
}

// LoadState loads a state like Checkpointer.Load and decodes it. It returns the errors of Load, or
// an error if the state does not fit S.
func LoadState[S any](ctx context.Context, c Checkpointer, execution, label string) (S, error) {
	var state S
	raw, err := c.Load(ctx, execution, label)
	if err != nil {
		return state, err
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		var none S
		return none, fmt.Errorf("load checkpoint: %w", err)
	}
	return state, nil
}
