package sqlite

import (
	"context"
	"errors"
	"slices"
)

// forgetOwners deletes the rows of dead owners to which no run refers any more.
func (s *Store) forgetOwners(ctx context.Context) error {
	for from := int64(0); ; {
		rows := 0
		var dead []int64
		err := s.readers.read(ctx, func(c *conn) error {
			start := from
			rows, dead = 0, nil
			return c.query(ctx, sqlUnused, func(r row) error {
				rows++
				from = r.int(0)
				alive, err := s.owners.isAlive(r.text(1))
				if err == nil && !alive {
					dead = append(dead, from)
				}
				return err
			}, start)
		})
		if err != nil || rows == 0 {
			return err
		}
		err = s.writer.write(ctx, 0, func(c *conn) error {
			for _, id := range dead {
				if _, err := c.exec(sqlForget, id); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
}

// shrink returns free pages, and those of the log, to the file system.
func (s *Store) shrink(ctx context.Context) error {
	for {
		var free int64
		err := s.writer.write(ctx, 0, func(c *conn) error {
			if _, err := c.exec(sqlVacuum); err != nil {
				return err
			}
			r, err := c.lookUp(sqlFreePages)
			if err == nil {
				free = r.int(0)
			}
			return err
		})
		if err != nil {
			return err
		}
		if free == 0 {
			break
		}
	}
	// If a reader needs the log now, a later writer truncates it.
	return s.writer.runOutsideTx(ctx, func(c *conn) error {
		s.writer.folder.wg.Wait()
		return checkpoint(c, sqlTruncateWAL)
	})
}

// How much of the pages of records may be unused: 1/maxUnused of them, or minUnused bytes if that
// is more. Reclaiming less is not worth the writes.
const (
	maxUnused = 5
	minUnused = 8 << 10
)

// repack moves the remaining records together where pruning left pages half empty: SQLite by itself
// merges pages only when they are less than a third full. Each run's records are moved to the end
// of the table, in transactions as small as those of pruning; appends continue in between, and a
// run can be read at any time. It costs as much as the live data, and runs only if at least a fifth
// of the space can be saved.
func (s *Store) repack(ctx context.Context) error {
	isSparse := false
	err := s.readers.read(ctx, func(c *conn) error {
		r, err := c.one(ctx, sqlFill)
		isSparse = r != nil && r.int(1) > max(minUnused, r.int(0)/maxUnused)
		return err
	})
	if err != nil || !isSparse {
		return err
	}
	for from := int64(0); ; {
		var runs []int64
		err := s.readers.read(ctx, func(c *conn) error {
			runs = nil
			return c.query(ctx, sqlRunsFrom, func(r row) error {
				runs = append(runs, r.int(0))
				return nil
			}, from)
		})
		if err != nil || len(runs) == 0 {
			return err
		}
		from = runs[len(runs)-1]
		if err := s.move(ctx, runs); err != nil {
			return err
		}
	}
}

// move moves the records of runs.
func (s *Store) move(ctx context.Context, runs []int64) error {
	for p := (chainMove{}); len(runs) > 0; {
		rest, next := runs, p
		err := s.writer.write(ctx, 0, func(c *conn) error {
			rest, next = runs, p
			next.records, next.bytes = 0, 0
			for len(rest) > 0 && next.records < s.pruneRecords && next.bytes < pruneBytes {
				isDone, err := next.move(c, rest[0], s.pruneRecords)
				if err != nil {
					return err
				}
				if isDone {
					rest, next.after = rest[1:], 0
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
		runs, p = rest, next
	}
	return nil
}

// chainMove is the progress of moving a run's chain: the records from its end to after have been
// moved. after is 0 if none have.
type chainMove struct {
	after   int64
	records int
	bytes   int64
}

// errEnough ends a query when enough has been read.
var errEnough = errors.New("enough")

// move moves the next records of the chain, from newer to older, so that only the reference to the
// newest of them changes: in the head, or in the record moved last. It moves at most limit records,
// and at most pruneBytes plus the record that passes it.
func (p *chainMove) move(c *conn, run int64, limit int) (isDone bool, err error) {
	var r row
	if p.after == 0 {
		r, err = c.lookUp(sqlLastOf, run)
	} else {
		r, err = c.lookUp(sqlPrevOf, p.after, run)
	}
	if err != nil || r == nil || r.int(0) == 0 {
		return true, err // the run was pruned, or everything was moved
	}
	var olds []row
	size := int64(0)
	err = c.each(sqlPiece, func(r row) error {
		olds = append(olds, append(row(nil), r...))
		if size += int64(len(r.bytes(4))); size >= pruneBytes {
			return errEnough
		}
		return nil
	}, r.int(0), limit)
	if err != nil && !errors.Is(err, errEnough) || len(olds) == 0 {
		return true, err // no record: a corrupted chain ends here
	}
	prev, first := olds[len(olds)-1].int(1), int64(0)
	for _, old := range slices.Backward(olds) {
		res, err := c.exec(sqlNewRecord, run, prev, old.int(2), old.bytes(3), old.bytes(4))
		if err != nil {
			return false, err
		}
		if prev, err = res.LastInsertId(); err != nil {
			return false, err
		}
		if first == 0 {
			first = prev
		}
	}
	for _, old := range olds {
		if _, err := c.exec(sqlDropRecord, old.int(0)); err != nil {
			return false, err
		}
	}
	if p.after == 0 {
		_, err = c.exec(sqlSetLast, prev, run)
	} else {
		_, err = c.exec(sqlSetPrev, prev, p.after)
	}
	p.after = first
	p.records += len(olds)
	p.bytes += size
	return olds[len(olds)-1].int(1) == 0, err
}
