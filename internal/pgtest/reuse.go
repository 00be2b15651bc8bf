package pgtest

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"
)

// Reused returns the URL of a schema, as [Server.URL] does, that may have been the schema of a
// store in a test that ended: its tables exist, and are as empty as those of a new store. Creating
// and dropping the tables takes longer than most tests. A test that checks how a store is created,
// or leaves processes behind, uses [Server.URL].
func (s *Server) Reused(t testing.TB) string {
	t.Helper()
	s.mu.Lock()
	var schema string
	if n := len(s.spare); n > 0 {
		schema, s.spare = s.spare[n-1], s.spare[:n-1]
	}
	s.mu.Unlock()
	if schema == "" {
		schema = newSchema()
	}
	t.Cleanup(func() {
		if t.Failed() || !s.running() {
			s.drop(t, schema)
			return
		}
		isStore, err := s.empty(schema)
		switch {
		case err != nil:
			t.Errorf("empty a schema: %v", err)
		case !isStore:
			s.drop(t, schema)
		default:
			s.mu.Lock()
			s.spare = append(s.spare, schema)
			s.mu.Unlock()
		}
	})
	return s.url(User, Name, schema)
}

// Reused returns the URL of a schema on the server of this process: see [Server.Reused].
func Reused(t testing.TB) string {
	t.Helper()
	return Shared(t).Reused(t)
}

const (
	// sqlIsStore reports whether a schema has the tables of a store as one transaction created
	// them, and no additional namespace schemas.
	sqlIsStore = `SELECT EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace($1) AND relname = ` +
		`'hocket_store')
  AND NOT EXISTS (SELECT FROM pg_class c WHERE c.relnamespace = to_regnamespace($1) AND c.xmin <> n.xmin)
  AND NOT EXISTS (SELECT FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid WHERE c.relnamespace = ` +
		`to_regnamespace($1) AND a.xmin <> n.xmin)
  AND NOT EXISTS (SELECT FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid WHERE c.relnamespace = ` +
		`to_regnamespace($1) AND t.xmin <> n.xmin)
  AND NOT EXISTS (SELECT FROM pg_proc p WHERE p.pronamespace = to_regnamespace($1) AND p.xmin <> n.xmin)
  AND NOT EXISTS (SELECT FROM pg_namespace o WHERE starts_with(o.nspname::text, $1 || '_'))
FROM pg_namespace n WHERE n.nspname = $1`
	// sqlEmpty deletes all rows of a store except those that its migrations insert. Triggers and
	// foreign keys are disabled meanwhile.
	sqlEmpty = `SET session_replication_role = replica; SET synchronous_commit = off; SET search_path = %s;
DO $$ DECLARE r regclass; BEGIN
  FOR r IN SELECT oid FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind = 'r'
      AND relname NOT IN ('hocket_store', 'owners', 'notice_counter') AND pg_relation_size(oid) > 0 LOOP
    EXECUTE 'DELETE FROM ' || r;
  END LOOP;
  DELETE FROM owners WHERE id > 0;
  UPDATE notice_counter SET last = 0 WHERE last > 0;
END $$`
)

// empty empties the store in a schema if it can be reused.
func (s *Server) empty(schema string) (isStore bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	c, err := pgx.Connect(ctx, s.url(superuser, Name, ""))
	if err != nil {
		return false, err
	}
	defer func() { _ = c.Close(ctx) }()
	if err := c.QueryRow(ctx, sqlIsStore, schema).Scan(&isStore); errors.Is(err, pgx.ErrNoRows) || err == nil &&
		!isStore {
		return false, nil
	} else if err != nil {
		return false, err
	}
	_, err = c.Exec(ctx, fmt.Sprintf(sqlEmpty, pgx.Identifier{schema}.Sanitize()))
	return true, err
}
