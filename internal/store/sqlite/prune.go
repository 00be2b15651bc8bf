package sqlite

import (
	"context"
	"fmt"
	"math"
	"os"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	pruneRuns    = 50      // runs deleted in one transaction
	pruneRecords = 500     // records deleted or moved in one transaction
	pruneBytes   = 4 << 20 // bytes of data deleted or moved in one transaction
)

// pruneTarget is a run to delete, if it has not changed since it was chosen.
type pruneTarget struct {
	id, epoch, last int64
}

// Prune implements journal.Lists.
//
// A run is removed in one transaction, which moves its records to the trash; the records are then
// deleted a few hundred at a time, so that appends of others wait for milliseconds at most. A
// process that dies in between leaves trash, which the next Prune deletes.
func (s *Store) Prune(ctx context.Context, q journal.PruneQuery) (journal.PruneResult, error) {
	var res journal.PruneResult
	size := s.size()
	err := s.prune(ctx, q, &res)
	res.Freed = size - s.size()
	if err != nil {
		return res, fmt.Errorf("prune: %w", err)
	}
	return res, nil
}

func (s *Store) prune(ctx context.Context, q journal.PruneQuery, res *journal.PruneResult) error {
	for _, run := range q.Runs {
		if _, err := s.readOwner(ctx, run); err != nil {
			return err
		}
	}
	for _, run := range q.Runs {
		if err := s.dropNamed(ctx, run, res); err != nil {
			return err
		}
	}
	for _, status := range journal.Statuses() {
		var err error
		switch {
		case status.Ended() && !q.EndedBefore.IsZero():
			err = s.dropOld(ctx, sqlEnded, status, q.EndedBefore, res)
		case status == journal.StatusPaused && !q.PausedBefore.IsZero():
			err = s.dropOld(ctx, sqlPaused, status, q.PausedBefore, res)
		}
		if err != nil {
			return err
		}
	}
	if err := s.emptyTrash(ctx); err != nil {
		return err
	}
	if err := s.forgetOwners(ctx); err != nil {
		return err
	}
	if err := s.repack(ctx); err != nil {
		return err
	}
	return s.shrink(ctx)
}

// dropNamed deletes a run that was requested by name, whatever happened to it since, unless an
// owner has claimed it.
func (s *Store) dropNamed(ctx context.Context, run string, res *journal.PruneResult) error {
	for {
		o, err := s.readOwner(ctx, run)
		if err != nil {
			return err
		}
		before := res.Runs
		if err := s.drop(ctx, []pruneTarget{{id: o.id, epoch: o.epoch, last: o.last}}, res); err != nil ||
			res.Runs > before {
			return err
		}
	}
}

// dropOld deletes the runs with a status that have no living owner and are old enough.
func (s *Store) dropOld(ctx context.Context, text sqlText, status journal.Status, before time.Time,
	res *journal.PruneResult) error {
	var created, id int64 = math.MinInt64, 0
	alive := map[string]bool{}
	for {
		rows := 0
		var victims []pruneTarget
		err := s.readers.read(ctx, func(c *conn) error {
			rows, victims = 0, nil
			fromCreated, fromID := created, id
			return c.query(ctx, text, func(r row) error {
				rows++
				created, id = r.int(0), r.int(1)
				owned, err := s.isAlive(r.text(5), alive)
				if err == nil && !owned {
					victims = append(victims, pruneTarget{id: id, epoch: r.int(2), last: r.int(3)})
				}
				return err
			}, string(status), fromCreated, fromCreated, fromID, ceilMicros(before))
		})
		if err != nil || rows == 0 {
			return err
		}
		for len(victims) > 0 {
			n := min(pruneRuns, len(victims))
			if err := s.drop(ctx, victims[:n], res); err != nil {
				return err
			}
			victims = victims[n:]
		}
		// Empty the trash as it accumulates, so that deleted space can be reused immediately.
		if err := s.emptyTrash(ctx); err != nil {
			return err
		}
	}
}

// drop removes runs in one transaction.
func (s *Store) drop(ctx context.Context, victims []pruneTarget, res *journal.PruneResult) error {
	var runs, blobs int
	err := s.writer.write(ctx, 0, func(c *conn) error {
		runs, blobs = 0, 0
		for _, v := range victims {
			r, err := c.lookUp(sqlHeadRecord, v.id, v.epoch, v.last)
			if err != nil {
				return err
			}
			if r == nil {
				continue // it was resumed
			}
			n, err := dropRun(c, v.id, r.int(0))
			if err != nil {
				return err
			}
			runs++
			blobs += n
		}
		_, err := c.exec(sqlOwnersChanged)
		return err
	})
	if err != nil {
		return err
	}
	s.changes.hub.SignalKind(journal.TopicRun)
	res.Runs += runs
	res.Blobs += blobs
	return nil
}

// dropRun deletes everything that belongs to a run except its records, and returns how many blobs
// were deleted with it.
func dropRun(c *conn, id, record int64) (blobs int, err error) {
	var ids []int64
	err = c.each(sqlHeld, func(r row) error {
		ids = append(ids, r.int(0))
		return nil
	}, id)
	if err != nil {
		return 0, err
	}
	for _, q := range []sqlText{sqlDropHolds, sqlDropInbox, sqlDropNotice, sqlDropLabels, sqlDropTexts, sqlDropPlaces,
		sqlDropHead, sqlDropRun} {
		if _, err := c.exec(q, id); err != nil {
			return 0, err
		}
	}
	for _, blob := range ids {
		n, err := c.change(sqlDropBlob, blob)
		if err != nil {
			return 0, err
		}
		blobs += int(n)
	}
	_, err = c.exec(sqlToTrash, record, id)
	return blobs, err
}

// emptyTrash deletes the records of removed runs.
func (s *Store) emptyTrash(ctx context.Context) error {
	for {
		more := false
		err := s.writer.write(ctx, 0, func(c *conn) (err error) {
			if more, err = takeOutTrash(c, s.pruneRecords); err == nil && more {
				_, err = c.exec(sqlOwnersChanged) // numbers of records deleted at the end are reused
			}
			return err
		})
		if err != nil || !more {
			return err
		}
	}
}

// takeOutTrash deletes as many records as fit in one transaction, along their chains, and leaves
// the rest of a chain in the trash.
func takeOutTrash(c *conn, records int) (more bool, err error) {
	var bytes int64
	for n := 0; n < records && bytes < pruneBytes; {
		r, err := c.lookUp(sqlTrash)
		if err != nil || r == nil {
			return false, err
		}
		tail, run := r.int(0), r.int(1)
		if _, err := c.exec(sqlDropTrash, tail); err != nil {
			return false, err
		}
		at := tail
		for ; at != 0 && n < records && bytes < pruneBytes; n++ {
			r, err := c.lookUp(sqlRecordAt, at, run)
			if err != nil {
				return false, err
			}
			if r == nil {
				at = 0 // a corrupted chain ends here
				break
			}
			if _, err := c.exec(sqlDropRecord, at); err != nil {
				return false, err
			}
			at, bytes = r.int(0), bytes+r.int(1)
		}
		if at != 0 {
			if _, err := c.exec(sqlToTrash, at, run); err != nil {
				return false, err
			}
		}
	}
	return true, nil
}

// size returns the size of the file and its log on disk.
func (s *Store) size() int64 {
	var n int64
	for _, path := range []string{s.path, s.path + "-wal"} {
		if st, err := os.Stat(path); err == nil {
			n += st.Size()
		}
	}
	return n
}

// ceilMicros returns t in microseconds, rounded up: any earlier time is less than the result.
func ceilMicros(t time.Time) int64 {
	us := t.UnixMicro()
	if t.Nanosecond()%1000 != 0 {
		us++
	}
	return us
}
