package postgres_test

import (
	"net/url"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/pgtest"
)

// rowsOf returns the rows of each table of a store, except for the times at which its migrations
// were applied and the id of the store.
func rowsOf(t *testing.T, at string) map[string][]string {
	t.Helper()
	c := pgtest.Connect(t, at)
	rows, err := c.Query(t.Context(),
		`SELECT relname::text FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'`)
	if err != nil {
		t.Fatal(err)
	}
	names, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][]string{}
	for _, name := range names {
		rows, err := c.Query(t.Context(), `SELECT (to_jsonb(x) - 'applied' - 'identity')::text FROM `+
			pgx.Identifier{name}.Sanitize()+` x ORDER BY 1`)
		if err != nil {
			t.Fatal(err)
		}
		if all[name], err = pgx.CollectRows(rows, pgx.RowTo[string]); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestStoreReuse checks that a store reused by tests has the same rows as a new one, and that a
// store whose tables a test changed is not reused.
func TestStoreReuse(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Config{}) // no other test uses its schemas
	fresh := server.URL(t)
	open(t, fresh)
	want := rowsOf(t, fresh)
	var before string
	for _, tt := range []struct {
		name, change string
		isReused     bool
	}{
		{"a first one", "", false},
		{"one that was used", "", true},
		{"one that was used, which the test changes", "ALTER TABLE agents ADD COLUMN x integer", true},
		{"another, which the test changes", "CREATE FUNCTION x() RETURNS integer LANGUAGE sql RETURN 1", false},
		{"another, with a namespace", "CREATE SCHEMA %_x", false},
		{"another", "", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			at := server.Reused(t)
			if isReused := at == before; isReused != tt.isReused {
				t.Errorf("%s after %s", at, before)
			}
			before = at
			s := open(t, at)
			if diff := cmp.Diff(want, rowsOf(t, at)); diff != "" {
				t.Errorf("-new +%s\n%s", at, diff)
			}
			for _, a := range story("r") {
				if err := s.Append(t.Context(), a); err != nil {
					t.Fatal(err)
				}
			}
			u, err := url.Parse(at)
			if err != nil {
				t.Fatal(err)
			}
			change := strings.ReplaceAll(tt.change, "%", u.Query().Get("schema"))
			if _, err := pgtest.Connect(t, at).Exec(t.Context(), "UPDATE notice_counter SET last = 7; "+
				change); err != nil {
				t.Fatal(err)
			}
		})
	}
}
