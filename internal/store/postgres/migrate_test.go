package postgres_test

import (
	"errors"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/store/postgres"
)

func tryOpen(t *testing.T, cfg postgres.Config) error {
	t.Helper()
	s, err := postgres.Open(t.Context(), cfg)
	if err != nil {
		return err
	}
	return s.Close()
}

// TestMigrate_Concurrent checks that if many processes open a new store at once, exactly one
// creates it.
func TestMigrate_Concurrent(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if err := tryOpen(t, postgres.Config{URL: url}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	var numbers, times int
	if err := pgtest.Connect(t, url).QueryRow(t.Context(),
		`SELECT count(*), count(DISTINCT applied) FROM hocket_store`).Scan(&numbers, &times); err != nil ||
		numbers == 0 || times != 1 {
		t.Errorf("%d migrations at %d times, %v", numbers, times, err)
	}
}

// TestMigrateRefuses checks that a schema of another program or of a newer Hocket is not changed.
func TestMigrateRefuses(t *testing.T) {
	t.Parallel()
	foreign := pgtest.URL(t)
	c := pgtest.Connect(t, foreign)
	var schema string
	if err := c.QueryRow(t.Context(), `SELECT current_setting('search_path')`).Scan(&schema); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), `CREATE SCHEMA `+schema+`; CREATE TABLE invoices (n int)`); err != nil {
		t.Fatal(err)
	}
	if err := tryOpen(t, postgres.Config{URL: foreign}); !errors.Is(err, journal.ErrNotStore) {
		t.Errorf("a schema of another program: %v", err)
	}
	var tables int
	if err := c.QueryRow(t.Context(), `SELECT count(*) FROM pg_class WHERE relnamespace = $1::regnamespace`,
		schema).Scan(&tables); err != nil || tables != 1 {
		t.Errorf("it has %d tables afterwards, %v", tables, err)
	}
	if _, err := c.Exec(t.Context(), `DROP TABLE invoices`); err != nil {
		t.Fatal(err)
	}
	if err := tryOpen(t, postgres.Config{URL: foreign}); err != nil {
		t.Errorf("an empty schema: %v", err)
	}
	if _, err := c.Exec(t.Context(),
		`INSERT INTO hocket_store (number, name, least) VALUES (9999, 'of tomorrow', 9998)`); err != nil {
		t.Fatal(err)
	}
	if newer, ok := errors.AsType[*journal.NewerError](tryOpen(t, postgres.Config{URL: foreign})); !ok ||
		newer.Found != 9999 {
		t.Errorf("a store of a newer program: %v", newer)
	}
}

// TestMigrateNeighbour checks that a store that a newer release has migrated can be used, and is
// left unchanged, by a program with which the newest migrations are compatible, and not by others.
func TestMigrateNeighbour(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	s := open(t, url)
	_, own := s.Version()
	c := pgtest.Connect(t, url)
	if _, err := c.Exec(t.Context(), `INSERT INTO hocket_store (number, name, least) VALUES ($1 + 1, 'of the next `+
		`release', $1), ($1 + 2, 'of the next release, too', $1)`, own); err != nil {
		t.Fatal(err)
	}
	next, err := postgres.Open(t.Context(), postgres.Config{URL: url})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	if found, now := next.Version(); found != own+2 || now != found {
		t.Errorf("version %d and %d, want %d", found, now, own+2)
	}
	if err := next.Append(t.Context(), story("r")[0]); err != nil {
		t.Error(err)
	}
	if _, err := c.Exec(t.Context(), `UPDATE hocket_store SET least = number WHERE number = $1 + 1`, own); err != nil {
		t.Fatal(err)
	}
	if newer, ok := errors.AsType[*journal.NewerError](tryOpen(t, postgres.Config{URL: url})); !ok ||
		newer.Found != own+1 || newer.Have != own {
		t.Errorf("a store that the release after the next one has migrated: %v", newer)
	}
}

// TestOpen_ReadOnly checks that a store that is up to date can be opened and read if writing is
// impossible, such as on a replica.
func TestOpen_ReadOnly(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	open(t, url)
	s, err := postgres.Open(t.Context(), postgres.Config{URL: url + "&default_transaction_read_only=on"})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if page, _, err := s.List(t.Context(), journal.Query{}); err != nil || len(page) != 0 {
		t.Errorf("list: %v, %v", page, err)
	}
	if err := s.Append(t.Context(), story("r")[0]); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("append to a store that is read-only: %v", err)
	}
}

// TestOpenRefuses checks that bad names and addresses result in errors that include the server's
// own error.
func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	for _, name := range []string{`x"; DROP TABLE runs`, "Upper", "1st", "a-b", "ä"} {
		if err := tryOpen(t, postgres.Config{URL: url, Schema: name}); err == nil {
			t.Errorf("schema %q was taken", name)
		}
	}
	if err := tryOpen(t, postgres.Config{URL: "postgres://u@/d?host=/nowhere"}); !errors.Is(err,
		journal.ErrUnavailable) {
		t.Errorf("no server: %v", err)
	}
	if err := tryOpen(t, postgres.Config{URL: url + "&dbname=none"}); !errors.Is(err, journal.ErrUnavailable) {
		t.Errorf("a database that is not there: %v", err)
	}
}

// TestOpen_SharedPool checks that namespaces are schemas that share one pool, and that the last one
// to close closes the pool.
func TestOpen_SharedPool(t *testing.T) {
	t.Parallel()
	url := pgtest.URL(t)
	one := open(t, url)
	var name string
	if err := one.Tx(t.Context(), pgx.TxOptions{}, func(tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), `SELECT current_schema()`).Scan(&name)
	}); err != nil {
		t.Fatal(err)
	}
	two, err := one.Beside(t.Context(), name+"_n1")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range []*postgres.Store{one, two} {
		for _, a := range story("r") {
			if err := s.Append(t.Context(), a); err != nil {
				t.Fatal(err)
			}
		}
		told(t, s, "r")
	}
	if err := two.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := two.Head(t.Context(), "r"); !errors.Is(err, journal.ErrClosed) {
		t.Errorf("head of a store that is closed: %v", err)
	}
	if err := two.Tx(t.Context(), pgx.TxOptions{}, func(pgx.Tx) error { return nil }); !errors.Is(err,
		journal.ErrClosed) {
		t.Errorf("transaction of a store that is closed: %v", err)
	}
	told(t, one, "r")
}
