package storecopy

import (
	"bytes"
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// Limits on what is read and written at once.
const (
	pageRows  = 1000
	pageBytes = 4 << 20
)

// row is a row of a table with values in the types of its columns, so that rows from both kinds of
// stores compare equal: int64, string, []byte, or nil.
type row []any

// errType is returned when another program wrote a value of another type into a table.
var errType = errors.New("holds a value of another type")

// typed converts the columns returned by a store to a row of the table.
func (t *table) typed(columns []any) (row, error) {
	out := make(row, len(columns))
	for i, v := range columns {
		if v == nil {
			continue
		}
		isNumber := false
		switch v := v.(type) {
		case int64:
			isNumber = true
			out[i] = v
		case string, []byte:
			if t.columns[i].kind == blob {
				out[i] = tables.Bytes(v)
			} else {
				out[i] = tables.String(v)
			}
		default:
			return nil, fmt.Errorf("column %s of table %s %w", t.columns[i].name, t.name, errType)
		}
		if want := t.columns[i].kind == number || t.columns[i].kind == boolean; isNumber != want {
			return nil, fmt.Errorf("column %s of table %s %w", t.columns[i].name, t.name, errType)
		}
	}
	return out, nil
}

// arguments converts a row, or its first columns, to arguments of a statement.
func (t *table) arguments(r row) []any {
	out := make([]any, len(r), len(r)+1)
	for i, v := range r {
		s, isText := v.(string)
		switch k := t.columns[i].kind; {
		case isText && k == raw:
			out[i] = tables.Raw(s)
		case k == boolean:
			out[i] = v == int64(1)
		default:
			out[i] = v
		}
	}
	return out
}

// minKey returns the smallest possible key.
func (t *table) minKey() row {
	out := make(row, t.key)
	for i := range out {
		switch t.columns[i].kind {
		case number, boolean:
			out[i] = int64(math.MinInt64)
		case blob:
			out[i] = []byte{}
		case text, raw:
			out[i] = ""
		}
	}
	return out
}

// compare orders rows by their first columns, as databases do.
func (t *table) compare(a, b row) int {
	for i := range t.key {
		c := compareValues(a[i], b[i])
		if c != 0 {
			return c
		}
	}
	return 0
}

func compareValues(a, b any) int {
	switch a := a.(type) {
	case int64:
		if b, ok := b.(int64); ok {
			return cmp.Compare(a, b)
		}
	case string:
		if b, ok := b.(string); ok {
			return cmp.Compare(a, b)
		}
	case []byte:
		if b, ok := b.([]byte); ok {
			return bytes.Compare(a, b)
		}
	}
	return cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)) // NULL, which is never in a key
}

// differences returns the names of the columns that are not equal.
func (t *table) differences(a, b row) []string {
	var out []string
	for i := range t.columns {
		if (a[i] == nil) != (b[i] == nil) || a[i] != nil && compareValues(a[i], b[i]) != 0 {
			out = append(out, t.columns[i].name)
		}
	}
	return out
}

// label returns a readable name of a row.
func (t *table) label(r row) string {
	switch t {
	case runs:
		return "run " + r[1].(string) //nolint:forcetypeassert,nolintlint // typed
	case blobs:
		return fmt.Sprintf("blob %x", r[1])
	}
	parts := make([]string, t.key)
	for i := range parts {
		parts[i] = fmt.Sprint(r[i])
		if b, ok := r[i].([]byte); ok {
			parts[i] = hex.EncodeToString(b)
		}
	}
	return fmt.Sprintf("row %s of table %s", strings.Join(parts, ", "), t.name)
}

// source is where rows are read from: a transaction that is kept open, or a store that provides one
// for each read.
type source struct {
	tx tables.Tx
	db tables.DB
}

// withTx calls do with a transaction.
func (s source) withTx(ctx context.Context, do func(tx tables.Tx) error) error {
	if s.tx != nil {
		return do(s.tx)
	}
	return s.db.View(ctx, do)
}

// sizedKey is a key with the approximate size of its row in bytes.
type sizedKey struct {
	key  row
	size int64
}

// keys iterates over the keys of a table, in order. A source without a transaction also sees what
// is written meanwhile.
type keys struct {
	t     *table
	from  source
	page  []sizedKey
	after row // the last key of the page
	isEnd bool
}

func (t *table) keysOf(from source) *keys { return &keys{t: t, from: from, isEnd: from == source{}} }

// peek returns the next key; nil after the last.
func (k *keys) peek(ctx context.Context) (*sizedKey, error) {
	if len(k.page) == 0 && !k.isEnd {
		if err := k.read(ctx); err != nil {
			return nil, err
		}
	}
	if len(k.page) == 0 {
		return nil, nil
	}
	return &k.page[0], nil
}

func (k *keys) next() { k.page = k.page[1:] }

// errOrder is returned when a table does not return its rows in key order, because it contains a
// value of another type.
var errOrder = errors.New("the rows are not in the order of their key")

func (k *keys) read(ctx context.Context) error {
	begin, isFirst := k.after, k.after == nil
	if isFirst {
		begin = k.t.minKey()
	}
	args := append(k.t.arguments(begin), pageRows)
	var page []sizedKey
	err := k.from.withTx(ctx, func(tx tables.Tx) error {
		page = nil
		return tx.Query(k.t.keys, func(columns []any) error {
			key, err := k.t.typed(columns[:k.t.key])
			if err == nil {
				page = append(page, sizedKey{key, tables.Int(columns[k.t.key])})
			}
			return err
		}, args...)
	})
	if err != nil {
		return fmt.Errorf("read table %s: %w", k.t.name, err)
	}
	k.isEnd = len(page) < pageRows
	if !isFirst && len(page) > 0 && k.t.compare(page[0].key, begin) == 0 {
		page = page[1:]
	}
	last := begin
	for i, p := range page {
		if c := k.t.compare(p.key, last); c < 0 || c == 0 && (i > 0 || !isFirst) {
			return fmt.Errorf("read table %s: %w", k.t.name, errOrder)
		}
		last = p.key
	}
	k.page, k.after = page, last
	return nil
}

// between returns the rows from one key to another.
func (t *table) between(ctx context.Context, from source, first, last row) (out []row, err error) {
	args := append(t.arguments(first), t.arguments(last)...)
	err = from.withTx(ctx, func(tx tables.Tx) error {
		out = nil
		return tx.Query(t.rows, func(columns []any) error {
			r, err := t.typed(columns)
			if err == nil {
				out = append(out, r)
			}
			return err
		}, args...)
	})
	if err != nil {
		return nil, fmt.Errorf("read table %s: %w", t.name, err)
	}
	return out, nil
}

// find returns the row with a key from sorted rows.
func (t *table) find(rows []row, key row) row {
	if i, ok := slices.BinarySearchFunc(rows, key, t.compare); ok {
		return rows[i]
	}
	return nil
}
