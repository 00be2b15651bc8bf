package storecopy_test

import (
	"database/sql"
	"slices"
	"testing"

	_ "github.com/jackc/pgx/v5/stdlib" // how other programs read the tables

	"github.com/hocket-run/hocket/internal/access"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/storecopy"
)

// TestEveryColumn checks that each table of a store is either copied with all its columns, or
// listed with the reason why it is not.
func TestEveryColumn(t *testing.T) {
	t.Parallel()
	lite := file(t)
	open(t, lite, access.DefaultNamespace)
	other := server(t, lite)
	open(t, other, access.DefaultNamespace)
	schema := other.URL().Schema()
	for _, at := range []store.Locator{lite, other} {
		do(t, storecopy.DropNothing(t.Context(), open(t, at, access.DefaultNamespace).Tables))
	}
	for kind, c := range map[string]struct{ driver, dsn, tables, columns string }{
		"sqlite": {"sqlite", "file:" + lite.String(), `SELECT name FROM sqlite_schema WHERE type = 'table' AND name ` +
			`NOT LIKE 'sqlite_%'`, `SELECT name FROM pragma_table_info(?)`},
		"postgres": {
			"pgx", other.URL().Conninfo(), `SELECT c.relname FROM pg_class c WHERE c.relnamespace = '` + schema +
				`'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
			`SELECT column_name FROM information_schema.columns WHERE table_schema = '` + schema +
				`' AND table_name = $1`,
		},
	} {
		db, err := sql.Open(c.driver, c.dsn)
		do(t, err)
		t.Cleanup(func() { _ = db.Close() })
		for _, table := range texts(t, db, c.tables) {
			copied, reason := storecopy.Columns(table)
			if (copied == nil) == (reason == "") {
				t.Errorf("%s: the table %s is neither copied nor listed as one that is not, or both", kind, table)
			}
			if copied == nil {
				continue
			}
			for _, column := range texts(t, db, c.columns, table) {
				if !slices.Contains(copied, column) && !storecopy.IsLocal(table, column) {
					t.Errorf("%s: the column %s of %s is not copied", kind, column, table)
				}
			}
		}
	}
}
