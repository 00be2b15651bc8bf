package checkpointdb

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/checkpoint"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// All SQL of checkpoints. The checkpoint saved last has the highest n.
const (
	sqlForget = tables.Text(`DELETE FROM checkpoints WHERE execution = ? AND label = ?`)
	sqlClear  = tables.Text(`DELETE FROM checkpoints WHERE execution = ?`)
	sqlSave   = tables.Text(`INSERT INTO checkpoints (execution, label, hash, state) VALUES (?, ?, ?, ?)`)
	sqlLast   = tables.Text(`SELECT label, hash, state FROM checkpoints WHERE execution = ? ORDER BY n DESC LIMIT 1`)
	sqlLoad   = tables.Text(`SELECT label, hash, state FROM checkpoints WHERE execution = ? AND label = ?`)
	sqlList   = tables.Text(`SELECT label FROM checkpoints WHERE execution = ? ORDER BY n`)
)

// rowBytes is the approximate size of a checkpoint without its state.
const rowBytes = 200

// Store stores checkpoints in a store's tables. It is safe for concurrent use, including by several
// processes.
type Store struct{ db tables.DB }

var _ checkpoint.Store = (*Store)(nil)

// New returns a Store in an open store, which it does not close.
func New(db tables.DB) *Store { return &Store{db} }

// Save implements hocket.Checkpointer. The state is on disk when it returns.
func (s *Store) Save(ctx context.Context, execution string, state json.RawMessage, label string) error {
	err := checkpoint.Check(execution, label, state)
	if err == nil {
		sum := sha256.Sum256(state)
		err = s.db.Write(ctx, rowBytes+len(state), func(tx tables.Tx) error {
			name := label
			if name == "" {
				labels, err := list(tx, execution)
				if err != nil {
					return err
				}
				name = checkpoint.Name(labels)
			}
			if err := tx.Do(sqlForget, execution, name); err != nil {
				return err
			}
			err := tx.Do(sqlSave, execution, name, sum[:], []byte(state))
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("save checkpoint: %w", explain(err, execution, label))
	}
	return nil
}

// Load implements hocket.Checkpointer.
func (s *Store) Load(ctx context.Context, execution, label string) (json.RawMessage, error) {
	var hash, state []byte
	var found string
	isThere := false
	err := checkpoint.CheckNames(execution, label)
	if err == nil {
		err = s.db.View(ctx, func(tx tables.Tx) error {
			isThere = false
			each := func(c []any) error {
				found, isThere = tables.String(c[0]), true
				hash, _ = c[1].([]byte)
				state, _ = c[2].([]byte)
				return nil
			}
			if label == "" {
				return tx.Query(sqlLast, each, execution)
			}
			return tx.Query(sqlLoad, each, execution, label)
		})
	}
	sum := sha256.Sum256(state)
	switch {
	case err != nil:
		err = explain(err, execution, label)
	case !isThere:
		err = checkpoint.ErrNone
	case !bytes.Equal(sum[:], hash):
		err = &checkpoint.CorruptError{Execution: execution, Label: found,
			Reason: "the state differs from the saved digest"}
	default:
		return state, nil
	}
	return nil, fmt.Errorf("load checkpoint: %w", err)
}

// List implements hocket.Checkpointer.
func (s *Store) List(ctx context.Context, execution string) (out []string, err error) {
	err = checkpoint.CheckNames(execution, "")
	if err == nil {
		err = s.db.View(ctx, func(tx tables.Tx) (err error) {
			out, err = list(tx, execution)
			return err
		})
	}
	if err != nil {
		return nil, fmt.Errorf("list checkpoints: %w", explain(err, execution, ""))
	}
	return out, nil
}

func list(tx tables.Tx, execution string) ([]string, error) {
	out := []string{}
	err := tx.Query(sqlList, func(c []any) error {
		out = append(out, tables.String(c[0]))
		return nil
	}, execution)
	return out, err
}

// Delete implements hocket.Checkpointer.
func (s *Store) Delete(ctx context.Context, execution, label string) error {
	err := checkpoint.CheckNames(execution, label)
	if err == nil {
		err = s.db.Write(ctx, rowBytes, func(tx tables.Tx) error {
			var err error
			if label == "" {
				err = tx.Do(sqlClear, execution)
			} else {
				err = tx.Do(sqlForget, execution, label)
			}
			return err
		})
	}
	if err != nil {
		return fmt.Errorf("delete checkpoint: %w", explain(err, execution, label))
	}
	return nil
}

// explain converts errors of the file to checkpoint errors.
func explain(err error, execution, label string) error {
	if corrupt, ok := errors.AsType[*journal.CorruptError](err); ok {
		return &checkpoint.CorruptError{Execution: execution, Label: label, Reason: corrupt.Reason}
	}
	if errors.Is(err, journal.ErrClosed) {
		return checkpoint.ErrClosed
	}
	return err
}
