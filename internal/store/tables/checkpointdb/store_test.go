package checkpointdb_test

import (
	"encoding/json"
	"errors"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/checkpoint"
	"github.com/hocket-run/hocket/internal/checkpoint/checkpointtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables/checkpointdb"
	"github.com/hocket-run/hocket/internal/store/tables/tablestest"
)

func TestStore(t *testing.T) {
	t.Parallel()
	tablestest.Each(t, postgres.Checkpoints, func(t *testing.T, fresh func(t testing.TB) tablestest.Store) {
		checkpointtest.Run(t, func(t *testing.T) checkpointtest.Store { return checkpointdb.New(fresh(t).Open(t)) })
	})
}

// TestDamage checks that a state that differs from what was saved results in a *CorruptError, never
// in a state (P17).
func TestDamage(t *testing.T) {
	t.Parallel()
	tablestest.One(t, postgres.Checkpoints, func(t *testing.T, at tablestest.Store) {
		s := checkpointdb.New(at.Open(t))
		if err := s.Save(t.Context(), "r", json.RawMessage(`{"n":1}`), "a"); err != nil {
			t.Fatal(err)
		}
		tablestest.Do(t, at.SQL(t), `UPDATE checkpoints SET state = '{"n":2}'`)
		for _, label := range []string{"", "a"} {
			got, err := s.Load(t.Context(), "r", label)
			c, isCorrupt := errors.AsType[*checkpoint.CorruptError](err)
			if !isCorrupt || got != nil || c.Execution != "r" || c.Label != "a" {
				t.Errorf("label %q: got %s, %v", label, got, err)
			}
		}
	})
}

// TestTwoHandles checks that several handles on one store, as in several processes, save for one
// run without losing anything.
func TestTwoHandles(t *testing.T) {
	t.Parallel()
	tablestest.One(t, postgres.Checkpoints, func(t *testing.T, at tablestest.Store) {
		stores := []*checkpointdb.Store{checkpointdb.New(at.Open(t)), checkpointdb.New(at.Open(t))}
		var wg sync.WaitGroup
		for _, s := range stores {
			wg.Go(func() {
				for range 20 {
					if err := s.Save(t.Context(), "r", json.RawMessage(`1`), ""); err != nil {
						t.Error(err)
					}
				}
			})
		}
		wg.Wait()
		if labels, err := stores[0].List(t.Context(), "r"); err != nil || len(labels) != 40 {
			t.Errorf("%d labels, %v", len(labels), err)
		}
	})
}

// TestClosed checks the error of a closed store.
func TestClosed(t *testing.T) {
	t.Parallel()
	tablestest.One(t, postgres.Checkpoints, func(t *testing.T, at tablestest.Store) {
		db, closeIt := at.OpenFor(t)
		s := checkpointdb.New(db)
		if err := closeIt(); err != nil {
			t.Fatal(err)
		}
		if err := s.Save(t.Context(), "r", json.RawMessage(`1`), "a"); !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("save: %v", err)
		}
		if _, err := s.Load(t.Context(), "r", "a"); !errors.Is(err, checkpoint.ErrClosed) {
			t.Errorf("load: %v", err)
		}
	})
}
