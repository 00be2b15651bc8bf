package postgres

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hocket-run/hocket/internal/journal"
)

// sqlText is a statement of the journal. Its values are the constants of queries.go: what varies is bound (SEC7). In it @ stands before the names of tables, and # for the number of the schema in the
// keys of advisory locks; @@ is the operator.
type sqlText string

// text gives q as the server gets it.
func (s *Store) text(q sqlText) string {
	if t, ok := s.texts.Load(q); ok {
		return t.(string) //nolint:forcetypeassert,nolintlint // see below
	}
	t := strings.NewReplacer("@@", "@@", "@", quoted(s.schema)+".", "#", strconv.FormatInt(s.class, 10)).Replace(string(q))
	s.texts.Store(q, t)
	return t
}

// quoted is a name of [schemaName] as a part of a statement: it may be a key word.
func quoted(name string) string { return `"` + name + `"` }

// enter begins a call, which leave ends: Close waits for it. A call must not enter again before it has left. Errors: ctx's, journal.ErrClosed.
func (s *Store) enter(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.open.RLock()
	if s.closed {
		s.open.RUnlock()
		return journal.ErrClosed
	}
	return nil
}

func (s *Store) leave() { s.open.RUnlock() }

// readTries is how often a read is done whose connection is lost: what the pool has may be of before a restart of the server.
const readTries = 3

// query calls each for every row of a statement that reads, after it scanned the row into columns. each may be called again from the first row on, after reset.
func (s *Store) query(ctx context.Context, q sqlText, args, columns []any, reset func(), each func() error) error {
	return s.queryRows(ctx, s.text(q), args, reset, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, columns, each)
		return err
	})
}

// queryRows is query for a statement as the server gets it, whose rows take reads and closes.
func (s *Store) queryRows(ctx context.Context, text string, args []any, reset func(), take func(pgx.Rows) error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	var err error
	for range readTries {
		reset()
		var rows pgx.Rows
		if rows, err = s.db.pool.Query(ctx, text, args...); err == nil {
			err = take(rows)
		}
		if classify(err) != classLost || ctx.Err() != nil {
			break
		}
	}
	return s.fault(ctx, err)
}

// one scans the only row of a statement that reads. It tells whether there is one.
func (s *Store) one(ctx context.Context, q sqlText, args, columns []any) (found bool, err error) {
	err = s.query(ctx, q, args, columns, func() { found = false }, func() error {
		found = true
		return nil
	})
	return found, err
}

// exec runs a statement that writes, once, and tells how many rows it changed. Where others are in its way it is done again.
func (s *Store) exec(ctx context.Context, q sqlText, args ...any) (n int64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	err = s.again(ctx, func() error {
		var tag pgconn.CommandTag
		tag, err := s.db.pool.Exec(ctx, s.text(q), args...)
		n = tag.RowsAffected()
		return err
	})
	return n, s.fault(ctx, err)
}

// returned runs a statement that writes, and scans its rows as query does.
func (s *Store) returned(ctx context.Context, q sqlText, args, columns []any, each func() error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	err := s.again(ctx, func() error {
		rows, err := s.db.pool.Query(ctx, s.text(q), args...)
		if err == nil {
			_, err = pgx.ForEachRow(rows, columns, each)
		}
		return err
	})
	return s.fault(ctx, err)
}

// ceilMicros is t in microseconds, rounded up: what is before t is below it.
func ceilMicros(t time.Time) int64 {
	us := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		us++
	}
	return us
}

// bytesOf gives a text as a column of type bytea: it may hold any bytes, and is never NULL.
func bytesOf[S ~string](s S) []byte { return append(make([]byte, 0, len(s)), s...) }
