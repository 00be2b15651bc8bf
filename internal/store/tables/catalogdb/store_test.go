package catalogdb_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/catalog/catalogtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/tables"
	"github.com/hocket-run/hocket/internal/store/tables/catalogdb"
	"github.com/hocket-run/hocket/internal/store/tables/tablestest"
)

// one runs a test on a store of each kind, with another program that uses the store.
func one(t *testing.T, test func(t *testing.T, at tablestest.Store, s *catalogdb.Store, db *sql.DB)) {
	t.Helper()
	tablestest.One(t, postgres.Catalog, func(t *testing.T, at tablestest.Store) {
		s := catalogdb.New(at.Open(t))
		test(t, at, s, at.SQL(t))
	})
}

// refuses returns a function that reports whether a store rejects a text. Rows are made valid UTF-8
// before they are stored.
func refuses(d tables.Dialect) func(string) bool {
	if d == tables.Postgres {
		return func(text string) bool { return strings.ContainsRune(text, 0) }
	}
	return nil
}

// TestStore checks that workflows are stored, changed and deleted as every catalog does it (S3-20).
func TestStore(t *testing.T) {
	t.Parallel()
	tablestest.Each(t, postgres.Catalog, func(t *testing.T, fresh func(t testing.TB) tablestest.Store) {
		catalogtest.Run(t, refuses(fresh(t).Dialect), func(t *testing.T) catalog.Store {
			return catalogdb.New(fresh(t).Open(t))
		})
	})
}
