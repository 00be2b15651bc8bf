package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"testing"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/sqlite"
)

// TestUnavailable checks that a full or read-only file, which may become available again, is
// distinguished from one that will never work.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "x.db")
	open := func(options string) *sql.DB {
		db, err := sql.Open("sqlite", "file:"+path+options)
		if err != nil {
			t.Fatal(err)
		}
		db.SetMaxOpenConns(1)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	do := func(db *sql.DB, q string) error {
		_, err := db.ExecContext(t.Context(), q)
		return err
	}
	db := open("")
	for _, q := range []string{"PRAGMA page_size = 512", "CREATE TABLE t (x)", "PRAGMA max_page_count = 4"} {
		if err := do(db, q); err != nil {
			t.Fatal(err)
		}
	}
	const insert = "INSERT INTO t VALUES (zeroblob(100000))"
	for name, err := range map[string]error{
		"full": do(db, insert), "read-only": do(open("?mode=ro"), insert), "no folder": do(func() *sql.DB {
			path = filepath.Join(path, "y.db")
			return open("")
		}(), "SELECT x FROM t"),
	} {
		if err == nil || !errors.Is(fmt.Errorf("append: %w", sqlite.Explain(err)), journal.ErrUnavailable) ||
			errors.Is(sqlite.Explain(err), journal.ErrFull) != (name == "full") {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{"no error": nil, "text": do(db, "SELEC"), "other": journal.ErrNotFound} {
		if errors.Is(sqlite.Explain(err), journal.ErrUnavailable) {
			t.Errorf("%s: %v is told as a store that is not there", name, err)
		}
	}
}
