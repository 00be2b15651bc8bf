package sqlite

import (
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

// Explain converts errors of SQLite to the types that callers check for.
var Explain = explain

// SetPruneRecords makes pruning proceed in steps of n records.
func (s *Store) SetPruneRecords(n int) { s.pruneRecords = n }

// SetBatchBytes makes Each read batches that end with the record that passes n bytes.
func (s *Store) SetBatchBytes(n int) { s.batchBytes = n }

// LosePatience makes Close not wait for other processes.
func (s *Store) LosePatience() { s.writer.deadline = time.Unix(1, 0) }

// IsWriting reports whether a transaction is writing, or waits for that of another process.
func (s *Store) IsWriting() bool {
	s.writer.mu.Lock()
	defer s.writer.mu.Unlock()
	return s.writer.isBusy
}

// CountWithoutRoom counts the runs of a store as on a disk without space for the index of the log.
func CountWithoutRoom(ctx context.Context, path string) (n int64, err error) {
	r := newReaders(path, newPatience(Config{}, func() string { return "" }), &sync.Mutex{})
	err = r.readExclusive(ctx, func(c *conn) error {
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

// Plans returns the query plans of the list and the counts of q.
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
