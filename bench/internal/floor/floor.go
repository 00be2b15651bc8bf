// Package floor measures a lower bound for anything that waits for the disk: inserts into SQLite by
// one goroutine, with the driver and settings of the store.
package floor

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	_ "modernc.org/sqlite" // registers the driver
)

// RowBytes is the size of the data of each row, about what a step stores.
const RowBytes = 600

// Inserts inserts rows into a new file at path, batch rows per transaction with fsync, for duration
// d, and returns the rows per second. batch must be at least 1.
func Inserts(ctx context.Context, path string, batch int, d time.Duration) (rate float64, err error) {
	db, err := sql.Open("sqlite", "file:"+path+"?_pragma=journal_mode(wal)&_pragma=synchronous(full)")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	c, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	if _, err := c.ExecContext(ctx,
		`CREATE TABLE records (id INTEGER PRIMARY KEY, run INTEGER, last INTEGER, data BLOB)`); err != nil {
		return 0, err
	}
	err = c.Raw(func(raw any) error {
		rate, err = inserts(ctx, raw, batch, d)
		return err
	})
	return rate, err
}

// inserts works on the driver's connection, without the overhead of database/sql.
func inserts(ctx context.Context, raw any, batch int, d time.Duration) (float64, error) {
	conn, ok := raw.(driver.Conn)
	if !ok {
		return 0, fmt.Errorf("the driver's connection is a %T", raw)
	}
	var exec [3]driver.StmtExecContext
	for i, q := range []string{`BEGIN IMMEDIATE`, `INSERT INTO records (run, last, data) VALUES (?, ?, ?)`, `COMMIT`} {
		s, err := conn.Prepare(q)
		if err != nil {
			return 0, err
		}
		defer s.Close()
		if exec[i], ok = s.(driver.StmtExecContext); !ok {
			return 0, fmt.Errorf("the driver's statement is a %T", s)
		}
	}
	begin, insert, commit := exec[0], exec[1], exec[2]
	data := make([]byte, RowBytes)
	rows, began := 0, time.Now()
	for time.Since(began) < d {
		if _, err := begin.ExecContext(ctx, nil); err != nil {
			return 0, err
		}
		for i := range batch {
			args := []driver.NamedValue{{Ordinal: 1, Value: int64(i)}, {Ordinal: 2, Value: int64(rows)},
				{Ordinal: 3, Value: data}}
			if _, err := insert.ExecContext(ctx, args); err != nil {
				return 0, err
			}
			rows++
		}
		if _, err := commit.ExecContext(ctx, nil); err != nil {
			return 0, err
		}
	}
	return float64(rows) / time.Since(began).Seconds(), nil
}
