package sqlite_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/sqlite"
)

// older makes a store as an earlier program left it.
func older(t *testing.T, dump string) (path string) {
	t.Helper()
	text, err := os.ReadFile(dump)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "hocket.db")
	db, err := sql.Open("sqlite", "file:"+path)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(t.Context(), string(text)); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestOpenOlder: stores of all former versions are brought up to date in place, by whichever of several processes comes first, and lose no run (P9, P38).
func TestOpenOlder(t *testing.T) {
	t.Parallel()
	dumps, err := filepath.Glob("testdata/store-v*.sql")
	if err != nil || len(dumps) == 0 {
		t.Fatalf("%v, %v", dumps, err)
	}
	for _, dump := range dumps {
		t.Run(filepath.Base(dump), func(t *testing.T) {
			t.Parallel()
			path := older(t, dump)
			isFirst := number(t, path, `PRAGMA user_version`) == 1
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					s, err := sqlite.Open(t.Context(), path, sqlite.Config{})
					if err != nil {
						t.Error(err)
						return
					}
					defer s.Close()
					records, err := s.Read(t.Context(), "old1", 0)
					if err != nil || len(records) == 0 {
						t.Errorf("%d records, %v", len(records), err)
					}
					if h, err := s.Head(t.Context(), "old1"); err != nil || h.Status != journal.StatusCompleted || h.Definition == "" {
						t.Errorf("head %+v, %v", h, err)
					} else if _, err := s.Blob(t.Context(), h.Definition); err != nil {
						t.Errorf("definition: %v", err)
					}
				})
			}
			wg.Wait()
			fresh := filepath.Join(t.TempDir(), "fresh.db")
			if err := tryOpen(t, fresh); err != nil {
				t.Fatal(err)
			}
			if now, want := number(t, path, `PRAGMA user_version`), number(t, fresh, `PRAGMA user_version`); now != want {
				t.Errorf("version %d, want %d", now, want)
			}
			if n := number(t, path, `SELECT count(*) FROM workflow_versions`); isFirst != (n == 0) {
				t.Errorf("%d versions of workflows", n)
			}
		})
	}
}
