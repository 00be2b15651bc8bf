package sqlite_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables"
)

const (
	addAgent    tables.Text = `INSERT INTO agents (id, name) VALUES (?, ?)`
	countAgents tables.Text = `SELECT count(*) FROM agents`
)

func agentsIn(t *testing.T, s *sqlite.Store) (n int64) {
	t.Helper()
	err := s.View(t.Context(), func(tx tables.Tx) error {
		return tx.Query(countAgents, func(c []any) error { n, _ = c[0].(int64); return nil })
	})
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestWrite checks that each caller has its own transaction, although appends share the commit, and
// that an error undoes only that transaction.
func TestWrite(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "hocket.db"))
	errMine := errors.New("mine")
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			err := s.Write(t.Context(), 0, func(tx tables.Tx) error {
				if _, err := tx.Exec(addAgent, fmt.Sprint("a", i), nil); err != nil {
					return err
				}
				if i%2 == 1 {
					return errMine
				}
				return nil
			})
			if want := i%2 == 1; errors.Is(err, errMine) != want || !want && err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		})
		wg.Go(func() {
			if err := s.Append(t.Context(), benchCreate(i)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := agentsIn(t, s); n != 25 {
		t.Errorf("%d agents, want 25", n)
	}
	if page, _, err := s.List(t.Context(), journal.Query{}); err != nil || len(page) != 50 {
		t.Errorf("%d runs, %v", len(page), err)
	}
	err := s.Write(t.Context(), 0, func(tx tables.Tx) error {
		n, err := tx.Exec(addAgent, "a0", nil) // it exists
		return errors.Join(err, fmt.Errorf("changed %d", n))
	})
	if err == nil || agentsIn(t, s) != 25 {
		t.Errorf("a statement that fails: %v", err)
	}
}

func TestView(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "hocket.db"))
	err := s.View(t.Context(), func(tx tables.Tx) error {
		_, err := tx.Exec(addAgent, "a", nil)
		return err
	})
	if err == nil || agentsIn(t, s) != 0 {
		t.Errorf("a view wrote: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nothing := func(tables.Tx) error { return nil }
	if err := s.View(ctx, nothing); !errors.Is(err, context.Canceled) {
		t.Errorf("view: %v", err)
	}
	if err := s.Write(ctx, 0, nothing); !errors.Is(err, context.Canceled) {
		t.Errorf("write: %v", err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.View(t.Context(), nothing); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("view: %v", err)
	}
	if err := s.Write(t.Context(), 0, nothing); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("write: %v", err)
	}
}

// TestWrite_Panic checks that a panic inside a transaction reaches its own caller, whichever
// goroutine writes, that the others commit, and that the store can still be used and closed.
func TestWrite_Panic(t *testing.T) {
	t.Parallel()
	s := open(t, filepath.Join(t.TempDir(), "hocket.db"))
	var wg sync.WaitGroup
	for i := range 50 {
		wg.Go(func() {
			panics := i%5 == 0
			defer func() {
				if v := recover(); (v != nil) != panics || panics && v != i {
					t.Errorf("write %d panicked with %v", i, v)
				}
			}()
			err := s.Write(t.Context(), 0, func(tx tables.Tx) error {
				_, err := tx.Exec(addAgent, fmt.Sprint("a", i), nil)
				if panics {
					panic(i)
				}
				return err
			})
			if err != nil || panics {
				t.Errorf("write %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	if n := agentsIn(t, s); n != 40 {
		t.Errorf("%d agents, want 40", n)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}
