package postgres

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// Part is a group of tables in addition to the journal whose writers take turns. Each part has a
// table with its name and the suffix `_turn`, which is always empty.
type Part string

// The parts.
const (
	Catalog     Part = "catalog"
	Access      Part = "access"
	Hooks       Part = "hooks"
	Checkpoints Part = "checkpoints"
	Memories    Part = "memories"
)

// Tables provides transactions on the tables of a part. Writers of one part take turns, in this
// process and others: the first statement of each transaction locks the part's table, before the
// transaction sees the state of the store, so that none of them fails because of another. Other
// programs that write the tables with SQL need not take the lock: if one of them interferes, the
// transaction is repeated.
func (s *Store) Tables(p Part) tables.DB { return &part{store: s, name: p} }

// View implements tables.DB.
func (p *part) View(ctx context.Context, do func(tx tables.Tx) error) error {
	return p.store.retryStaleConns(func() error {
		return p.store.Tx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly},
			func(tx pgx.Tx) error { return do(&partTx{ctx: ctx, tx: tx}) })
	})
}

// Select implements tables.DB. The statement names the schema of its tables, so that it needs no
// transaction to set the path.
func (p *part) Select(ctx context.Context, q tables.Text, reset func(), each func(columns []any) error,
	args ...any) error {
	bound, err := bind(args)
	if err != nil {
		return err
	}
	return p.store.queryRows(ctx, p.store.text(sqlText(marked(string(q)))), bound, reset, func(rows pgx.Rows) error {
		return scan(rows, each)
	})
}

// retryStaleConns retries do as long as it gets a pool connection that was already lost, as all are
// after a restart of the server. do must have had no effect if its connection was lost.
func (s *Store) retryStaleConns(do func() error) error {
	for n := s.db.pool.Stat().MaxConns(); ; n-- {
		err := do()
		if n <= 0 || classify(err) != classLost {
			return err
		}
		if _, ok := errors.AsType[*pgconn.ConnectError](err); ok { // the server is down
			return err
		}
	}
}

// partTx is a transaction provided to a caller.
type partTx struct {
	ctx context.Context //nolint:containedctx,nolintlint // it lives as long as the call that it came with
	tx  pgx.Tx
	// queued are statements that are sent along with the next one, in one round trip to the server.
	queued pgx.Batch
	// isSent reports whether anything was sent.
	isSent bool
}

// maxFirst is the maximum number of statements in a message.
const maxFirst = 200

// Dialect implements tables.Tx.
func (*partTx) Dialect() tables.Dialect { return tables.Postgres }

// Do implements tables.Tx.
func (l *partTx) Do(q tables.Text, args ...any) error {
	bound, err := bind(args)
	if err != nil {
		return err
	}
	l.queued.Queue(numbered(q), bound...)
	if l.queued.Len() < maxFirst {
		return nil
	}
	return l.flush()
}

// flush sends the statements that were not sent yet.
func (l *partTx) flush() error {
	if l.queued.Len() == 0 {
		return nil
	}
	results, err := l.send(l.queued.Len())
	if err != nil {
		return err
	}
	return results.Close()
}

// send sends the statements that were not sent yet, and reads the results of the first n.
func (l *partTx) send(n int) (pgx.BatchResults, error) {
	sent := l.queued
	l.queued, l.isSent = pgx.Batch{}, true
	results := l.tx.SendBatch(l.ctx, &sent)
	for range n {
		if _, err := results.Exec(); err != nil {
			_ = results.Close() // it has the same error
			return nil, tooLong(err)
		}
	}
	return results, nil
}

// Exec implements tables.Tx.
func (l *partTx) Exec(q tables.Text, args ...any) (int64, error) {
	bound, err := bind(args)
	if err != nil {
		return 0, err
	}
	if l.queued.Len() == 0 {
		l.isSent = true
		tag, err := l.tx.Exec(l.ctx, numbered(q), bound...)
		return tag.RowsAffected(), tooLong(err)
	}
	l.queued.Queue(numbered(q), bound...)
	results, err := l.send(l.queued.Len() - 1)
	if err != nil {
		return 0, err
	}
	tag, err := results.Exec()
	return tag.RowsAffected(), tooLong(errors.Join(err, results.Close()))
}

// Query implements tables.Tx.
func (l *partTx) Query(q tables.Text, each func(columns []any) error, args ...any) error {
	bound, err := bind(args)
	if err != nil {
		return err
	}
	if l.queued.Len() == 0 {
		l.isSent = true
		rows, err := l.tx.Query(l.ctx, numbered(q), bound...)
		if err != nil {
			return err
		}
		return scan(rows, each)
	}
	l.queued.Queue(numbered(q), bound...)
	results, err := l.send(l.queued.Len() - 1)
	if err != nil {
		return err
	}
	defer func() { _ = results.Close() }()
	rows, err := results.Query()
	if err != nil {
		return err
	}
	return scan(rows, each)
}

// scan calls each for every row, and closes rows.
func scan(rows pgx.Rows, each func(columns []any) error) error {
	defer rows.Close()
	for rows.Next() {
		columns, err := rows.Values()
		if err != nil {
			return err
		}
		for i, c := range columns {
			if columns[i], err = column(c); err != nil {
				return fmt.Errorf("column %s: %w", rows.FieldDescriptions()[i].Name, err)
			}
		}
		if err := each(columns); err != nil {
			return err
		}
	}
	return rows.Err()
}

// column converts a value to the types that tables.Tx specifies.
func column(v any) (any, error) {
	switch v := v.(type) {
	case nil, int64, float64, string, []byte:
		return v, nil
	case int32:
		return int64(v), nil
	case int16:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case bool:
		if v {
			return int64(1), nil
		}
		return int64(0), nil
	}
	return nil, fmt.Errorf("it has the type %T, which no table of Hocket has", v)
}

// bind converts arguments for the driver. It does not modify args.
func bind(args []any) ([]any, error) {
	out := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string:
			if reason := textProblem(v); reason != "" {
				return nil, &tables.TextError{Arg: i, Reason: reason}
			}
		case tables.Raw:
			a = []byte(v)
		case []byte:
			if v == nil {
				a = []byte{}
			}
		}
		out[i] = a
	}
	return out, nil
}

// textProblem returns why PostgreSQL cannot store a text; "" means that it can.
func textProblem(s string) string {
	switch {
	case strings.IndexByte(s, 0) >= 0:
		return "has a NUL character, which PostgreSQL does not store"
	case !utf8.ValidString(s):
		return "is not valid UTF-8, and PostgreSQL stores no other"
	}
	return ""
}

// stateLimit is the SQLSTATE for rows that are larger than a page, or than the part of a page that
// an index entry may use.
const stateLimit = "54000"

// tooLong returns a *tables.TextError for a text that is too long for an index.
func tooLong(err error) error {
	e, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || e.Code != stateLimit {
		return err
	}
	return &tables.TextError{Arg: -1, What: e.TableName,
		Reason: "is too long for an index of PostgreSQL, which takes 2,704 bytes at most"}
}

// numberedTexts caches the statements of packages with tables, each in PostgreSQL form.
var numberedTexts sync.Map

// numbered returns a statement with $1, $2, … in place of each ?. No statement contains ?
// otherwise.
func numbered(q tables.Text) string {
	if t, ok := numberedTexts.Load(q); ok {
		return t.(string) //nolint:forcetypeassert,nolintlint // see below
	}
	text := marked(string(q.Plain()))
	numberedTexts.Store(q, text)
	return text
}

// marked returns a statement with $1, $2, … in place of each ?.
func marked(q string) string {
	var b strings.Builder
	n := 0
	for i, part := range strings.Split(q, "?") {
		if i > 0 {
			n++
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteString(part)
	}
	return b.String()
}
