package hocket

import (
	"context"
	"encoding/json"
)

// Checkpointer keeps states of runs under labels, for whoever wants to look at one or to begin a new run with it (S2-65). A run goes on without it: the
// engine's store holds all that a resume needs.
//
// [MemoryCheckpoints], [FileCheckpoints] and [SQLiteCheckpoints] are three. Implementations are safe for concurrent use; ids and labels are any text.
type Checkpointer interface {
	// Save keeps a state under a label, in place of one that has the label already, as the newest. "" is the first free of `checkpoint_<n>`. state is
	// JSON; it stays the caller's.
	Save(ctx context.Context, execution string, state json.RawMessage, label string) error
	// Load gives the state with that label, "" the one that was saved last. Where there is none the error is ErrNoCheckpoint.
	Load(ctx context.Context, execution, label string) (json.RawMessage, error)
	// List gives the labels, oldest first; empty where there is none.
	List(ctx context.Context, execution string) ([]string, error)
	// Delete forgets the state with that label, "" all of the run. What is not there is no error.
	Delete(ctx context.Context, execution, label string) error
}
