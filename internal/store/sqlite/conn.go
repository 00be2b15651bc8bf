package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"

	"modernc.org/sqlite"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// background is the context of statements that serve several callers, so that none of them can end
// it.
var background = context.Background()

// sqlText is SQL. Its values are the constants of queries.go and the embedded migrations: a
// computed string converts to it only explicitly, and a test forbids that conversion (SEC7).
type sqlText = tables.Text

// conn is one connection with its prepared statements. It calls the driver directly, because
// database/sql would cost as much as the statements. It is not safe for concurrent use.
type conn struct {
	c     driver.Conn
	stmts map[sqlText]stmt
	args  []driver.NamedValue
}

type stmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func dial(ctx context.Context, path string) (*conn, error) {
	uri := url.URL{Scheme: "file", OmitHost: true, Path: filepath.ToSlash(path)}
	connector, err := sqlite.NewConnector(uri.String())
	if err != nil {
		return nil, err
	}
	c, err := connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return &conn{c: c, stmts: map[sqlText]stmt{}}, nil
}

func (c *conn) close() error {
	errs := make([]error, 0, len(c.stmts)+1)
	for _, s := range c.stmts {
		errs = append(errs, s.Close())
	}
	return errors.Join(append(errs, c.c.Close())...)
}

// prepare returns q compiled; each statement is compiled once per connection.
func (c *conn) prepare(q sqlText) (stmt, error) {
	if s, ok := c.stmts[q]; ok {
		return s, nil
	}
	p, err := c.c.Prepare(string(q))
	if err != nil {
		return nil, err
	}
	s, ok := p.(stmt)
	if !ok {
		return nil, fmt.Errorf("statement of type %T", p)
	}
	c.stmts[q] = s
	return s, nil
}

// bind converts arguments of type int64, string, tables.Raw, []byte and nil. A nil []byte is an
// empty blob: NULL is only passed explicitly.
func (c *conn) bind(args []any) []driver.NamedValue {
	c.args = c.args[:0]
	for i, a := range args {
		switch v := a.(type) {
		case int:
			a = int64(v)
		case uint64:
			a = int64(v)
		case []byte:
			if v == nil {
				a = []byte{}
			}
		case tables.Raw: // TEXT preserves any bytes
			a = string(v)
		}
		c.args = append(c.args, driver.NamedValue{Ordinal: i + 1, Value: a})
	}
	return c.args
}

// exec runs q to completion, regardless of its callers.
//
//nolint:contextcheck,nolintlint // see always
func (c *conn) exec(q sqlText, args ...any) (driver.Result, error) {
	s, err := c.prepare(q)
	if err != nil {
		return nil, err
	}
	return s.ExecContext(background, c.bind(args))
}

// change runs q and returns how many rows it changed.
func (c *conn) change(q sqlText, args ...any) (int64, error) {
	res, err := c.exec(q, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// script runs several statements without arguments.
//
//nolint:contextcheck,nolintlint // see always
func (c *conn) script(q sqlText) error {
	s, err := c.c.Prepare(string(q))
	if err != nil {
		return err
	}
	_, err = s.(stmt).ExecContext(background, nil)
	return errors.Join(err, s.Close())
}

// query calls each for every row of q. The row is valid only during the call, but the values of its
// columns remain valid.
func (c *conn) query(ctx context.Context, q sqlText, each func(row) error, args ...any) error {
	s, err := c.prepare(q)
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(ctx, c.bind(args))
	if err != nil {
		return err
	}
	r := make(row, len(rows.Columns()))
	for {
		if err := rows.Next(r); err != nil {
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, rows.Close())
		}
		if err := each(r); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
}

// one returns the only row of q, which the caller may keep, or nil if there is none.
func (c *conn) one(ctx context.Context, q sqlText, args ...any) (row, error) {
	var found row
	err := c.query(ctx, q, func(r row) error {
		found = append(row(nil), r...)
		return nil
	}, args...)
	return found, err
}

// each is like query, but runs to completion regardless of its callers.
//
//nolint:contextcheck,nolintlint // see always
func (c *conn) each(q sqlText, each func(row) error, args ...any) error {
	return c.query(background, q, each, args...)
}

// lookUp is like one, but runs to completion regardless of its callers.
//
//nolint:contextcheck,nolintlint // see always
func (c *conn) lookUp(q sqlText, args ...any) (row, error) { return c.one(background, q, args...) }

// row is a result row. A column of an unexpected type reads as zero; checksums detect the
// corruption.
type row []driver.Value

func (r row) int(i int) int64 { return tables.Int(r[i]) }

func (r row) text(i int) string { return tables.String(r[i]) }

func (r row) bytes(i int) []byte {
	v, _ := r[i].([]byte)
	return v
}
