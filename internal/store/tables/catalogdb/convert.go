package catalogdb

import (
	"cmp"
	"errors"
	"math"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/internal/catalog"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// write runs a statement whose arguments are columns of a table. If the store cannot store a text,
// the error names the text's column.
func write(tx tables.Tx, q tables.Text, table string, columns []string, args ...any) error {
	err := tx.Do(q, args...)
	if e, ok := errors.AsType[*tables.TextError](err); ok && e.Arg >= 0 && e.Arg < len(columns) {
		table += "." + columns[e.Arg]
	}
	return withColumn(err, table)
}

// withColumn adds the column to an error about a text that the store cannot store.
func withColumn(err error, column string) error {
	if e, ok := errors.AsType[*tables.TextError](err); ok {
		return &catalog.TextError{Column: cmp.Or(e.What, column), Reason: e.Reason}
	}
	return err
}

// writeRow is like write, for a row.
func writeRow(tx tables.Tx, q tables.Text, table string, columns []catalog.Column, r catalog.Row) error {
	args, names := r.Normal(), make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
		if tx.Dialect() != tables.Postgres {
			continue
		}
		value, ok := convertColumn(c, args[i])
		if !ok {
			return &catalog.TextError{Column: table + "." + c.Name,
				Reason: "is no whole number, and PostgreSQL keeps nothing else in this column"}
		}
		args[i] = value
	}
	return write(tx, q, table, names, args...)
}

// convertColumn converts a value to the type of its column, as SQLite does by itself. It returns
// false for a non-numeric value of a numeric column, which SQLite stores unchanged.
func convertColumn(c catalog.Column, v any) (any, bool) {
	if v == nil {
		return nil, true
	}
	if !c.IsNumber() {
		switch v := v.(type) {
		case int64:
			return strconv.FormatInt(v, 10), true
		case float64:
			return strconv.FormatFloat(v, 'g', -1, 64), true
		case []byte:
			return string(v), true
		}
		return v, true
	}
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return integral(n)
	case []byte:
		v = string(n)
	}
	text, _ := v.(string)
	text = strings.TrimSpace(text)
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, true
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, false
	}
	return integral(f)
}

// integral converts a number without a fraction to an integer.
func integral(f float64) (any, bool) {
	if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return nil, false
	}
	return int64(f), true
}

// notFoundError converts the error of looking up an ID: no entry has an ID that the store cannot
// store.
func notFoundError(err error) error {
	if e, ok := errors.AsType[*tables.TextError](err); ok && e.What == "" {
		return catalog.ErrNotFound
	}
	return withColumn(err, "")
}
