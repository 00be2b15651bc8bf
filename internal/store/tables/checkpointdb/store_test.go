package checkpointdb_test

import (
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"sync"
	"testing"

	_ "modernc.org/sqlite" // as other programs write the table

	"github.com/hocket-run/hocket/internal/checkpoint"
	"github.com/hocket-run/hocket/internal/checkpoint/checkpointtest"
	"github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/internal/store/tables/checkpointdb"
)

func open(t *testing.T, path string) *checkpointdb.Store {
	t.Helper()
	file, err := sqlite.Open(t.Context(), path, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = file.Close() })
	return checkpointdb.New(file)
}

// beside opens the file as another program does.
func beside(t *testing.T, path string) *sql.DB {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=busy_timeout(10000)")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func TestStore(t *testing.T) {
	t.Parallel()
	checkpointtest.Run(t, func(t *testing.T) checkpointtest.Store { return open(t, filepath.Join(t.TempDir(), "hocket.db")) })
}

// TestDamage: a state that is not what was saved is a *CorruptError, never a state (P17).
func TestDamage(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	s, db := open(t, path), beside(t, path)
	if err := s.Save(t.Context(), "r", json.RawMessage(`{"n":1}`), "a"); err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `UPDATE checkpoints SET state = '{"n":2}'`); err != nil {
		t.Fatal(err)
	}
	for _, label := range []string{"", "a"} {
		got, err := s.Load(t.Context(), "r", label)
		c, isCorrupt := errors.AsType[*checkpoint.CorruptError](err)
		if !isCorrupt || got != nil || c.Execution != "r" || c.Label != "a" {
			t.Errorf("label %q: got %s, %v", label, got, err)
		}
	}
}

// TestTwoHandles: several handles on one file, as several processes have, save for one run without losing anything.
func TestTwoHandles(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "hocket.db")
	stores := []*checkpointdb.Store{open(t, path), open(t, path)}
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
}

// TestClosed: a closed store says so.
func TestClosed(t *testing.T) {
	t.Parallel()
	file, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hocket.db"), sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	s := checkpointdb.New(file)
	if err := file.Close(); err != nil {
		t.Fatal(err)
	}
	if err := s.Save(t.Context(), "r", json.RawMessage(`1`), "a"); !errors.Is(err, checkpoint.ErrClosed) {
		t.Errorf("save: %v", err)
	}
	if _, err := s.Load(t.Context(), "r", "a"); !errors.Is(err, checkpoint.ErrClosed) {
		t.Errorf("load: %v", err)
	}
}
