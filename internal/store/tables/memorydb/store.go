// Package memorydb stores agents' memories in the store, next to the runs.
//
// It does not depend on the database driver: it reads and writes in transactions that the journal's
// store provides. The table is created by that store's migrations.
//
// Invariants: SQL text is constant (SEC7); every statement names the space (SEC10); an entry is on
// disk when the call that wrote it returns.
package memorydb

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/hocket-run/hocket/internal/store/tables"
	"github.com/hocket-run/hocket/internal/tool/memory"
)

// All SQL of memories.
const (
	sqlFind   = tables.Text(`SELECT n FROM memories WHERE space = ? AND key = ?`)
	sqlCount  = tables.Text(`SELECT count(*) FROM memories WHERE space = ?`)
	sqlAdd    = tables.Text(`INSERT INTO memories (space, key, category, text, at) VALUES (?, ?, ?, ?, ?)`)
	sqlAll    = tables.Text(`SELECT n, category, text, at FROM memories WHERE space = ? ORDER BY n`)
	sqlChange = tables.Text(`UPDATE memories SET category = ?, text = ?, at = ? WHERE space = ? AND n = ?`)
	sqlRemove = tables.Text(`DELETE FROM memories WHERE space = ? AND n = ?`)
)

// rowBytes is the approximate size of an entry without its text.
const rowBytes = 300

// Store stores memories in a store's tables. It is safe for concurrent use, including by several
// processes.
type Store struct{ db tables.DB }

var _ memory.Store = (*Store)(nil)

// New returns a Store in an open store, which it does not close.
func New(db tables.DB) *Store { return &Store{db} }

// Add implements memory.Store.
func (s *Store) Add(ctx context.Context, space, key string, e memory.Entry) (id string, err error) {
	find := func(tx tables.Tx) error {
		return tx.Query(sqlFind, func(c []any) error {
			id = strconv.FormatInt(tables.Int(c[0]), 10)
			return nil
		}, tables.Raw(space), tables.Raw(key))
	}
	err = s.db.Write(ctx, rowBytes+len(e.Text), func(tx tables.Tx) error {
		id = ""
		if err := find(tx); err != nil || id != "" {
			return err
		}
		count := int64(0)
		if err := tx.Query(sqlCount, func(c []any) error {
			count = tables.Int(c[0])
			return nil
		}, tables.Raw(space)); err != nil {
			return err
		}
		if count >= memory.MaxEntries {
			return memory.ErrFull
		}
		if err := tx.Do(sqlAdd, tables.Raw(space), tables.Raw(key), tables.Raw(e.Category), tables.Raw(e.Text),
			e.At.UTC().Format(time.RFC3339)); err != nil {
			return err
		}
		return find(tx)
	})
	if err != nil {
		return "", fmt.Errorf("add memory: %w", err)
	}
	return id, nil
}

// All implements memory.Store.
func (s *Store) All(ctx context.Context, space string) (out []memory.Entry, err error) {
	err = s.db.View(ctx, func(tx tables.Tx) error {
		out = nil
		return tx.Query(sqlAll, func(c []any) error {
			e := memory.Entry{ID: strconv.FormatInt(tables.Int(c[0]), 10), Category: tables.String(c[1]),
				Text: tables.String(c[2])}
			var err error
			if e.At, err = time.Parse(time.RFC3339, tables.String(c[3])); err != nil {
				return fmt.Errorf("memory %s: %w", e.ID, err)
			}
			out = append(out, e)
			return nil
		}, tables.Raw(space))
	})
	if err != nil {
		return nil, fmt.Errorf("read memories: %w", err)
	}
	return out, nil
}

// Change implements memory.Store.
func (s *Store) Change(ctx context.Context, space string, e memory.Entry) error {
	return s.changeEntry(ctx, "change memory", rowBytes+len(e.Text), e.ID, func(tx tables.Tx, n int64) (int64, error) {
		return tx.Exec(sqlChange, tables.Raw(e.Category), tables.Raw(e.Text), e.At.UTC().Format(time.RFC3339),
			tables.Raw(space), n)
	})
}

// Remove implements memory.Store.
func (s *Store) Remove(ctx context.Context, space, id string) error {
	return s.changeEntry(ctx, "delete memory", rowBytes, id, func(tx tables.Tx, n int64) (int64, error) {
		return tx.Exec(sqlRemove, tables.Raw(space), n)
	})
}

// changeEntry calls do for the entry with an ID, which must exist.
func (s *Store) changeEntry(ctx context.Context, what string, bytes int, id string,
	do func(tx tables.Tx, n int64) (int64, error)) error {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || strconv.FormatInt(n, 10) != id {
		return fmt.Errorf("%s: %w", what, memory.ErrNone)
	}
	err = s.db.Write(ctx, bytes, func(tx tables.Tx) error {
		changed, err := do(tx, n)
		if err == nil && changed == 0 {
			err = memory.ErrNone
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}
