package sqlite

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// Explain gives errors of SQLite the types that callers look for.
var Explain = explain

// SetPruneRecords makes pruning go in steps of n records.
func (s *Store) SetPruneRecords(n int) { s.pruneRecords = n }

// SetBatchBytes makes Each read batches of one record that ends beyond n bytes.
func (s *Store) SetBatchBytes(n int) { s.batchBytes = n }

// LosePatience makes Close wait for no other process.
func (s *Store) LosePatience() { s.writer.deadline = time.Unix(1, 0) }

// IsWriting tells whether a transaction writes, or waits for that of another process.
func (s *Store) IsWriting() bool {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return s.writer.isBusy
}

// CountWithoutRoom counts the runs of a store as on a disk without room for the index of the log.
func CountWithoutRoom(ctx context.Context, path string) (n int64, err error) {
	r := newReaders(path, newPatience(Config{}, func() string { return "" }), &sync.Mutex{})
	err = r.withoutRoom(ctx, func(c *conn) error {
		row, err := c.one(ctx, sqlText(`SELECT count(*) FROM runs`))
		if err == nil {
			n = row.int(0)
			if _, made := os.Stat(path + "-shm"); made == nil { // the last connection to close would remove it
				err = errors.New("a file for the index of the log was made")
			}
		}
		return err
	})
	return n, errors.Join(err, r.close())
}

// Plans gives how SQLite carries out the list and the counts of q.
func (s *Store) Plans(ctx context.Context, q journal.Query) (list, counts []string, err error) {
	err = s.readers.read(ctx, func(c *conn) error {
		for _, p := range []struct {
			by  statements
			out *[]string
		}{{finds, &list}, {tallies, &counts}} {
			text, args, err := s.statement(ctx, c, &q, bounds(&q), map[string]bool{}, p.by)
			if err == nil {
				err = c.query(ctx, `EXPLAIN QUERY PLAN `+text, func(r row) error {
					*p.out = append(*p.out, r.text(3))
					return nil
				}, args...)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
	return list, counts, err
}
