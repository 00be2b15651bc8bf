package postgres

import (
	"context"
	"embed"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/journal"
)

//go:embed migrations/*.sql
var migrationFiles embed.FS

// migration is a file in the folder migrations.
type migration struct {
	number int
	// least is the number of the newest migration that a program must know to use the store after
	// this one. It comes from the line "-- least: N" at the start of the file; without one it is
	// the migration's own number. A release whose migrations only add names the newest migration of
	// the previous release, so that both can be used at the same time.
	least int
	name  string
	sql   string
}

// leastLine starts a migration file that is compatible with older programs.
const leastLine = "-- least: "

// migrations returns this program's migrations, sorted by number.
func migrations() ([]migration, error) {
	names, err := fs.Glob(migrationFiles, "migrations/*.sql")
	if err != nil {
		return nil, err
	}
	steps := make([]migration, len(names))
	for i, name := range names {
		text, err := migrationFiles.ReadFile(name)
		if err != nil {
			return nil, err
		}
		digits, _, _ := strings.Cut(path.Base(name), "_")
		n, err := strconv.Atoi(digits)
		if err != nil {
			return nil, fmt.Errorf("migration %s: %w", name, err)
		}
		steps[i] = migration{n, n, path.Base(name), string(text)}
		if line, _, _ := strings.Cut(string(text), "\n"); strings.HasPrefix(line, leastLine) {
			if steps[i].least, err = strconv.Atoi(line[len(leastLine):]); err != nil || steps[i].least >= n {
				return nil, fmt.Errorf("migration %s: %q names no earlier migration", name, line)
			}
		}
	}
	return steps, nil
}

// Statements of the migration.
const (
	// sqlWhose returns whether the schema exists, how many relations it has, and whether the table
	// of migrations is one of them.
	sqlWhose = `SELECT to_regnamespace($1) IS NOT NULL,
  (SELECT count(*) FROM pg_class c WHERE c.relnamespace = to_regnamespace($1)), to_regclass($1 || '.hocket_store') ` +
		`IS NOT NULL,
  to_regclass($1 || '.unfinished_copy') IS NOT NULL`
	sqlMigrationLock = `SELECT pg_advisory_xact_lock(hashtextextended('hocket migrations of ' || $1, 0))`
	sqlStoreTable    = `CREATE TABLE IF NOT EXISTS hocket_store (
  number  integer     NOT NULL PRIMARY KEY,  -- of a file of migrations
  name    text        NOT NULL,
  least   integer     NOT NULL,              -- the newest number that a program must have to use the store with ` +
		`this one
  applied timestamptz NOT NULL DEFAULT now(),
  identity uuid       NOT NULL DEFAULT gen_random_uuid() -- that of the first row is the store's
)`
	sqlApplied = `SELECT number, least FROM hocket_store ORDER BY number`
	sqlApply   = `INSERT INTO hocket_store (number, name, least) VALUES ($1, $2, $3)`
)

// migrate brings the schema up to date. If several processes migrate at once, the first does it and
// the others wait. A schema that is up to date is not written.
func (s *Store) migrate(ctx context.Context) error {
	steps, err := migrations()
	if err != nil {
		return err
	}
	var missing []migration
	err = s.Tx(ctx, pgx.TxOptions{AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) (err error) {
		missing, s.found, err = s.missing(ctx, tx, steps)
		return err
	})
	s.newest = max(s.found, steps[len(steps)-1].number)
	if err != nil || len(missing) == 0 {
		return err
	}
	return s.retryConflicts(ctx, func() error {
		return s.Tx(ctx, pgx.TxOptions{}, func(tx pgx.Tx) error {
			if _, err := tx.Exec(ctx, sqlMigrationLock, s.schema); err != nil {
				return err
			}
			missing, _, err := s.missing(ctx, tx, steps)
			if err != nil || len(missing) == 0 {
				return err
			}
			return s.apply(ctx, tx, missing)
		})
	})
}

// Version returns the version of the tables found when the store was opened, 0 for none, and their
// current version.
func (s *Store) Version() (found, now int) { return s.found, s.newest }

// missing returns the migrations that the schema lacks, and the number of the newest one that it
// has; 0 means none. Migrations of a newer program are not an error if this program is compatible
// with them. Errors are journal.ErrNotStore, journal.ErrUnfinished and *journal.NewerError.
func (s *Store) missing(ctx context.Context, tx pgx.Tx, steps []migration) ([]migration, int, error) {
	var hasSchema, isStore, isUnfinished bool
	var relations int
	if err := tx.QueryRow(ctx, sqlWhose, s.schema).Scan(&hasSchema, &relations, &isStore, &isUnfinished); err != nil {
		return nil, 0, err
	}
	switch {
	case !isStore && relations > 0:
		return nil, 0, fmt.Errorf("%w: the schema %s has tables of another program", journal.ErrNotStore, s.schema)
	case !isStore:
		return steps, 0, nil
	case isUnfinished && !s.db.cfg.Unfinished:
		return nil, 0, journal.ErrUnfinished
	}
	rows, err := tx.Query(ctx, sqlApplied)
	if err != nil {
		return nil, 0, err
	}
	newest, found := steps[len(steps)-1].number, 0
	var applied []int
	var number, least int
	if _, err := pgx.ForEachRow(rows, []any{&number, &least}, func() error {
		applied, found = append(applied, number), number
		if least > newest {
			return &journal.NewerError{What: "store", Have: newest, Found: number}
		}
		return nil
	}); err != nil {
		return nil, 0, err
	}
	return slices.DeleteFunc(slices.Clone(steps), func(m migration) bool { return slices.Contains(applied, m.number) }),
		found, nil
}

// apply runs the migrations. It creates the schema only if it does not exist, so that a user
// without permission to create schemas can be given an empty one.
func (s *Store) apply(ctx context.Context, tx pgx.Tx, steps []migration) error {
	var hasSchema bool
	if err := tx.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, s.schema).Scan(&hasSchema); err != nil {
		return err
	}
	if !hasSchema {
		if _, err := tx.Exec(ctx, "CREATE SCHEMA "+quoted(s.schema)); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(ctx, sqlStoreTable); err != nil {
		return err
	}
	for _, m := range steps {
		if _, err := tx.Exec(ctx, m.sql); err != nil { // without arguments, a file may contain many statements
			return fmt.Errorf("migrate with %s: %w", m.name, err)
		}
		if _, err := tx.Exec(ctx, sqlApply, m.number, m.name, m.least); err != nil {
			return fmt.Errorf("migrate with %s: %w", m.name, err)
		}
	}
	return nil
}
