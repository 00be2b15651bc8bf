// Package fill copies a run many times directly into the tables of a store in PostgreSQL, at the
// speed of COPY, so that a store with millions of runs takes minutes.
//
// Copies are complete: their records have checksums that continue from their own ids, so that
// stores read and verify them like any others. The package knows nothing about the contents of
// records.
package fill

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/journal"
)

// Config specifies what is copied.
type Config struct {
	// Schema is the schema of the store.
	Schema string
	// Run is the id of the run to copy, which must have ended. Records holds all of its records.
	Run     string
	Records []journal.Record
	// Runs is the number of copies.
	Runs int
	// First is the creation time of the first copy. Each further copy is created Every after the
	// previous one.
	First time.Time
	Every time.Duration
	// Status returns the status of a copy by its number, starting at 0. A copy that has not ended
	// has no owner.
	Status func(i int) journal.Status
	// IsShort reports whether the records of a copy have almost no data, so that a store with the
	// same number of rows takes less space; such records are meaningless. If nil, no copy is short.
	IsShort func(i int) bool
}

// short is the data of a record of a short copy.
var (
	short       = []byte("short")
	shortDigest = sha256.Sum256(short)
)

// chunk is how many runs are copied per transaction.
const chunk = 10_000

// idPrefix is the prefix of the ids of copies.
const idPrefix = "01COPY"

// ID returns the id of a copy by its number.
func ID(i int) string { return fmt.Sprintf("%s%020d", idPrefix, i) }

// Number returns the number of the copy with the given id; ok is false if id is not the id of a
// copy.
func Number(id string) (i int, ok bool) {
	digits, ok := strings.CutPrefix(id, idPrefix)
	i, err := strconv.Atoi(digits)
	return i, ok && err == nil
}

// Runs creates the copies. c must be a connection of the store's user or of a superuser. Nothing
// else may write to the schema meanwhile.
func Runs(ctx context.Context, c *pgx.Conn, cfg Config) error {
	if len(cfg.Records) == 0 {
		return errors.New("fill: the run has no records")
	}
	f := &filler{c: c, Config: cfg}
	for _, r := range cfg.Records {
		f.digests = append(f.digests, r.Digest())
	}
	if err := f.prepare(ctx); err != nil {
		return fmt.Errorf("fill: %w", err)
	}
	for from := 0; from < cfg.Runs; from += chunk {
		if err := pgx.BeginFunc(ctx, c, func(tx pgx.Tx) error {
			return f.copy(ctx, tx, from, min(from+chunk, cfg.Runs))
		}); err != nil {
			return fmt.Errorf("fill: %w", err)
		}
	}
	return nil
}

type filler struct {
	Config
	c       *pgx.Conn
	digests [][sha256.Size]byte
	// template is the number of the run that is copied, base the number before that of the first
	// copy.
	template, base int64
	// inserts holds the statements that create the copies' rows in runs, heads and holds from the
	// template's rows and the temporary table copies.
	inserts []string
}

// columns holds, by table, the columns in which copies differ; all other columns are copied from
// the template.
var columns = []struct {
	table, key string
	own        map[string]string
}{
	{"runs", "id", map[string]string{"id": "c.id", "run": "c.run", "created": "c.created", "ended": "c.ended",
		"status": "c.status"}},
	{"heads", "id", map[string]string{"id": "c.id", "seal": "c.seal", "updated": "c.created", "owner": "0"}},
	{"holds", "run", map[string]string{"run": "c.id"}},
}

func (f *filler) table(name string) string { return pgx.Identifier{f.Schema, name}.Sanitize() }

func (f *filler) prepare(ctx context.Context) error {
	if _, err := f.c.Exec(ctx, `CREATE TEMP TABLE IF NOT EXISTS copies (id bigint, run bytea, created bigint, ended `+
		`bigint, status text, seal bytea)`); err != nil {
		return err
	}
	if err := f.c.QueryRow(ctx, `SELECT id, (SELECT max(id) FROM `+f.table("runs")+`) FROM `+f.table("runs")+
		` WHERE run = $1`, []byte(f.Run)).Scan(&f.template, &f.base); err != nil {
		return fmt.Errorf("run %s: %w", f.Run, err)
	}
	for _, t := range columns {
		rows, err := f.c.Query(ctx, `SELECT column_name::text FROM information_schema.columns WHERE table_schema = `+
			`$1 AND table_name = $2 ORDER BY ordinal_position`, f.Schema, t.table)
		if err != nil {
			return err
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return err
		}
		values := make([]string, len(names))
		for i, name := range names {
			if values[i] = t.own[name]; values[i] == "" {
				values[i] = "t." + pgx.Identifier{name}.Sanitize()
			}
		}
		override := ""
		if t.table == "runs" {
			override = " OVERRIDING SYSTEM VALUE"
		}
		f.inserts = append(f.inserts, fmt.Sprintf("INSERT INTO %s (%s)%s SELECT %s FROM copies c, %s t WHERE t.%s = %d",
			f.table(t.table), strings.Join(names, ", "), override, strings.Join(values, ", "), f.table(t.table), t.key,
			f.template))
	}
	return nil
}

// copy creates the copies numbered from up to but excluding to in a transaction.
func (f *filler) copy(ctx context.Context, tx pgx.Tx, from, to int) error {
	if _, err := tx.Exec(ctx, "TRUNCATE copies"); err != nil {
		return err
	}
	n := len(f.Records)
	seals := make([][]byte, (to-from)*n)
	for i := range to - from {
		sum := journal.Genesis(ID(from + i))
		isShort := f.IsShort != nil && f.IsShort(from+i)
		for k, r := range f.Records {
			digest := f.digests[k]
			if isShort {
				digest = shortDigest
			}
			sum = sum.Next(r, digest)
			seals[i*n+k] = append([]byte{r.Version}, sum[:]...)
		}
	}
	_, err := tx.CopyFrom(ctx, pgx.Identifier{"copies"}, []string{"id", "run", "created", "ended", "status", "seal"},
		pgx.CopyFromSlice(to-from, func(i int) ([]any, error) {
			at := f.First.Add(time.Duration(from+i) * f.Every).UnixMicro()
			status := f.Status(from + i)
			ended := at
			if !status.Ended() {
				ended = 0
			}
			return []any{f.base + int64(from+i) + 1, []byte(ID(from + i)), at, ended, string(status), seals[i*n+n-1]},
				nil
		}))
	if err != nil {
		return err
	}
	for _, insert := range f.inserts {
		if _, err := tx.Exec(ctx, insert); err != nil {
			return err
		}
	}
	_, err = tx.CopyFrom(ctx, pgx.Identifier{f.Schema, "records"}, []string{"run", "last", "seal", "data"},
		pgx.CopyFromSlice((to-from)*n, func(i int) ([]any, error) {
			r := f.Records[i%n]
			if f.IsShort != nil && f.IsShort(from+i/n) {
				r.Data = short
			}
			return []any{f.base + int64(from+i/n) + 1, int64(r.Last), seals[i], r.Data}, nil
		}))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `SELECT setval(pg_get_serial_sequence($1, 'id'), $2)`, f.table("runs"), f.base+int64(to))
	return err
}
