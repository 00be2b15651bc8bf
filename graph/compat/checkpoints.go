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

// Checkpointer keeps states of runs under labels, to look at one or to begin a new run with it (S2-65).
//
// [MemoryCheckpoints], [FileCheckpoints] and [SQLiteCheckpoints] give three. Implementations are safe for concurrent use; ids and labels are any text.
type Checkpointer interface {
	hocket.Checkpointer // Save

	// Load gives the state with that label, "" the one that was saved last; it is the caller's. Where there is none the error is ErrNoCheckpoint.
	Load(ctx context.Context, execution, label string) (json.RawMessage, error)
	// List gives the labels, oldest first; empty where there is none.
	List(ctx context.Context, execution string) ([]string, error)
	// Delete forgets the state with that label, "" all of the run. What is not there is no error.
	Delete(ctx context.Context, execution, label string) error
}

var (
	// ErrNoCheckpoint says that a run has no checkpoint of that label, or none at all.
	ErrNoCheckpoint = checkpoint.ErrNone
	// ErrCheckpointsClosed says that the checkpoints were closed.
	ErrCheckpointsClosed = checkpoint.ErrClosed
)

// CheckpointError says that a stored state is not the one that was saved (P17); nothing of it is handed out. Execution is the run, Label that of the
// state, "" where it is not known, Reason what is wrong. Loads give a pointer to it.
type CheckpointError = checkpoint.CorruptError

// CheckpointStore is a Checkpointer that holds something open. After Close every call fails with ErrCheckpointsClosed; a second Close does nothing.
type CheckpointStore interface {
	Checkpointer
	Close() error
}

// MemoryCheckpoints keeps checkpoints as long as the process lives. Ids and labels have at most 1,024 bytes, as in the other two.
func MemoryCheckpoints() Checkpointer { return &checkpoint.Memory{} }

// FileCheckpoints keeps checkpoints in a folder, which is made, readable by its owner alone, where there is none. Each state is a file: a line of
// JSON that names run, label and hash, and below it the state. Files are named by number and hash, never by what a caller chose (SEC16). One process
// at a time may save for a run.
func FileCheckpoints(folder string) (CheckpointStore, error) {
	c, err := checkpoint.OpenFiles(folder)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// SQLiteCheckpoints keeps checkpoints in a database file, which is made, readable by its owner alone, where there is none. The file of an engine's
// store will do: they are in a table of their own there, and stay when their run is pruned.
func SQLiteCheckpoints(ctx context.Context, path string) (CheckpointStore, error) {
	home, err := store.Open(ctx, path, store.Config{})
	if err != nil {
		return nil, fmt.Errorf("open checkpoints: %w", err)
	}
	return storedCheckpoints{home.Checkpoints, home}, nil
}

// storedCheckpoints are those of a store that is open for them alone.
type storedCheckpoints struct {
	Checkpointer
	io.Closer
}

// LoadState loads a state as Checkpointer.Load does and decodes it. Errors: those of Load; a state that does not fit S.
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
