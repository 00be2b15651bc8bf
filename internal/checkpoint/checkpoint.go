package checkpoint

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MaxName is the maximum length of run ids and labels, in bytes.
const MaxName = 1024

var (
	// ErrNone is returned when the run has no checkpoint with that label, or none at all.
	ErrNone = errors.New("no checkpoint")
	// ErrClosed is returned when the store was closed.
	ErrClosed = errors.New("checkpoints are closed")
)

// Store stores states; see hocket.Checkpointer, the same interface for programs. All stores pass
// checkpointtest.Run.
type Store interface {
	Save(ctx context.Context, execution string, state json.RawMessage, label string) error
	Load(ctx context.Context, execution, label string) (json.RawMessage, error)
	List(ctx context.Context, execution string) ([]string, error)
	Delete(ctx context.Context, execution, label string) error
}

// CorruptError is returned when the stored data differs from what was saved. No part of the data is
// returned.
type CorruptError struct {
	Execution string
	// Label is "" if it is unknown.
	Label  string
	Reason string
}

func (e *CorruptError) Error() string {
	if e.Label == "" {
		return fmt.Sprintf("a checkpoint of run %s is damaged: %s", e.Execution, e.Reason)
	}
	return fmt.Sprintf("checkpoint %s of run %s is damaged: %s", e.Label, e.Execution, e.Reason)
}

// Check returns an error if no store can save the checkpoint.
func Check(execution, label string, state []byte) error {
	if err := CheckNames(execution, label); err != nil {
		return err
	}
	if !json.Valid(state) {
		return errors.New("the state is not valid JSON")
	}
	return nil
}

// CheckNames returns an error if no store can have a checkpoint with these names.
func CheckNames(execution, label string) error {
	if execution == "" {
		return errors.New("the run has no id")
	}
	for _, part := range []struct{ what, name string }{{"the id of the run", execution}, {"the label", label}} {
		switch {
		case len(part.name) > MaxName:
			return fmt.Errorf("%s has %d bytes; the limit is %d", part.what, len(part.name), MaxName)
		case !utf8.ValidString(part.name) || strings.ContainsRune(part.name, 0):
			return fmt.Errorf("%s must be valid UTF-8 without NUL", part.what)
		}
	}
	return nil
}

// Name returns a label for a state that is saved without one; labels are the existing ones.
func Name(labels []string) string {
	for n := len(labels) + 1; ; n++ {
		if label := fmt.Sprintf("checkpoint_%d", n); !slices.Contains(labels, label) {
			return label
		}
	}
}
