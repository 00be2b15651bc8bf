// Package tablestest opens stores of each kind, for the tests of packages with tables.
package tablestest

import (
	"database/sql"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // how other programs write the tables

	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/sqlite" // likewise, through its driver
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Store is a store for a test, initially empty.
type Store struct {
	Dialect tables.Dialect
	// At is the path of the file, or the URL of the schema.
	At   string
	part postgres.Part
}

// Each runs a test on each kind of store, with the tables of a part, in parallel. fresh creates a
// store.
func Each(t *testing.T, p postgres.Part, test func(t *testing.T, fresh func(t testing.TB) Store)) {
	t.Helper()
	for name, fresh := range map[string]func(t testing.TB) Store{"sqlite": SQLite,
		"postgres": func(t testing.TB) Store { return Postgres(t, p) }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, fresh)
		})
	}
}

// One is like Each, for a test of one store.
func One(t *testing.T, p postgres.Part, test func(t *testing.T, s Store)) {
	t.Helper()
	Each(t, p, func(t *testing.T, fresh func(t testing.TB) Store) { test(t, fresh(t)) })
}

// SQLite creates a store in a file.
func SQLite(t testing.TB) Store {
	t.Helper()
	return Store{Dialect: tables.SQLite, At: filepath.Join(t.TempDir(), "hocket.db")}
}

// Postgres creates a store in a schema.
func Postgres(t testing.TB, p postgres.Part) Store {
	t.Helper()
	return Store{tables.Postgres, pgtest.Reused(t), p}
}

// As returns the same store for the tables of another part.
func (s Store) As(p postgres.Part) Store {
	s.part = p
	return s
}

// Open opens the store the way another process would, until the test ends.
func (s Store) Open(t testing.TB) tables.DB {
	t.Helper()
	db, closeIt := s.OpenFor(t)
	t.Cleanup(func() {
		if err := closeIt(); err != nil {
			t.Error(err)
		}
	})
	return db
}

// OpenFor opens the store; the caller must close it.
func (s Store) OpenFor(t testing.TB) (tables.DB, func() error) {
	t.Helper()
	if s.Dialect == tables.Postgres {
		opened, err := postgres.Open(t.Context(), postgres.Config{URL: s.At})
		if err != nil {
			t.Fatal(err)
		}
		return opened.Tables(s.part), opened.Close
	}
	file, err := sqlite.Open(t.Context(), s.At, sqlite.Config{})
	if err != nil {
		t.Fatal(err)
	}
	return file, file.Close
}

// SQL opens the store the way other programs do.
func (s Store) SQL(t testing.TB) *sql.DB {
	t.Helper()
	driver, name := "sqlite", "file:"+s.At+"?_pragma=busy_timeout(10000)"
	if s.Dialect == tables.Postgres {
		driver, name = "pgx", strings.Replace(s.At, "schema=", "search_path=", 1)
	}
	db, err := sql.Open(driver, name)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1) // so that session settings persist
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Schema returns the name of the schema in PostgreSQL.
func (s Store) Schema(t testing.TB) string {
	t.Helper()
	u, err := url.Parse(s.At)
	if err != nil {
		t.Fatal(err)
	}
	return u.Query().Get("schema")
}

// Do runs statements the way another program would.
func Do(t testing.TB, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}
