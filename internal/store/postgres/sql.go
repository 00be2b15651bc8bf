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

// sqlText is a statement of the journal. Its values are the constants of queries.go, and what
// listSome composes of them: everything variable is a bound parameter (SEC7). In it, @ is the
// prefix of table names, and # stands for the number of the schema in the keys of advisory locks;
// @@ is the operator.
type sqlText string

// text returns q as it is sent to the server.
func (s *Store) text(q sqlText) string {
	if t, ok := s.texts.Load(q); ok {
		return t.(string) //nolint:forcetypeassert,nolintlint // see below
	}
	t := strings.NewReplacer("@@", "@@", "@", quoted(s.schema)+".", "#", strconv.FormatInt(s.class, 10)).Replace(
		string(q))
	s.texts.Store(q, t)
	return t
}

// quoted returns a name that matches [schemaName], quoted for a statement because it may be an SQL
// keyword.
func quoted(name string) string { return `"` + name + `"` }

// enter starts a call, which leave ends; Close waits for it. A call must not enter again before it
// has left. Errors are the error of ctx and journal.ErrClosed.
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

// readTries is how often a read is tried if its connection is lost: the pool's connections may date
// from before a server restart.
const readTries = 3

// query calls each for every row of a reading statement, after scanning the row into columns. each
// may be called again from the first row on, after reset.
func (s *Store) query(ctx context.Context, q sqlText, args, columns []any, reset func(), each func() error) error {
	return s.queryRows(ctx, s.text(q), args, reset, func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, columns, each)
		return err
	})
}

// queryRows is like query, for a statement in the form sent to the server; take reads and closes
// its rows.
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

// queryRow scans the only row of a reading statement. It reports whether there is one.
func (s *Store) queryRow(ctx context.Context, q sqlText, args, columns []any) (found bool, err error) {
	err = s.query(ctx, q, args, columns, func() { found = false }, func() error {
		found = true
		return nil
	})
	return found, err
}

// exec runs a writing statement once, and returns how many rows it changed. It retries if other
// transactions interfere.
func (s *Store) exec(ctx context.Context, q sqlText, args ...any) (n int64, err error) {
	if err := s.enter(ctx); err != nil {
		return 0, err
	}
	defer s.leave()
	err = s.retryConflicts(ctx, func() error {
		var tag pgconn.CommandTag
		tag, err := s.db.pool.Exec(ctx, s.text(q), args...)
		n = tag.RowsAffected()
		return err
	})
	return n, s.fault(ctx, err)
}

// execReturning runs a writing statement, and scans its rows as query does.
func (s *Store) execReturning(ctx context.Context, q sqlText, args, columns []any, each func() error) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	err := s.retryConflicts(ctx, func() error {
		rows, err := s.db.pool.Query(ctx, s.text(q), args...)
		if err == nil {
			_, err = pgx.ForEachRow(rows, columns, each)
		}
		return err
	})
	return s.fault(ctx, err)
}

// ceilMicros returns t in microseconds, rounded up: any earlier time is less than the result.
func ceilMicros(t time.Time) int64 {
	us := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		us++
	}
	return us
}

// bytesOf returns a string as a column of type bytea, which may contain any bytes and is never
// NULL.
func bytesOf[S ~string](s S) []byte { return append(make([]byte, 0, len(s)), s...) }
