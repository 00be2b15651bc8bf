package postgres

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	pruneRuns = 50 // runs deleted in one transaction
	// Records deleted in one transaction: as many as take about pruneTime.
	minPruneRecords = 10
	maxPruneRecords = 5000
	pruneTime       = 20 * time.Millisecond
)

// pruneTarget is a run to delete, if it has not changed since it was chosen.
type pruneTarget struct{ id, epoch, last int64 }

// SizeOf is the statement for the size of the tables of the schema $1 in bytes, including indexes
// and space that a prune has freed.
const SizeOf = `SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE c.relnamespace ` +
	`= to_regnamespace($1) AND c.relkind IN ('r', 'm')`

// Size returns the size of the store's tables in bytes, including their indexes.
func (s *Store) Size(ctx context.Context) (n int64, err error) {
	_, err = s.queryRow(ctx, SizeOf, []any{s.schema}, []any{&n})
	return n, err
}

// Prune implements journal.Lists.
//
// A run is removed in one transaction, which moves its records to the trash; the records are then
// deleted in steps of some milliseconds. A process that dies in between leaves trash, which the
// next Prune deletes. The server reuses the space; only when it vacuums does it return to the file
// system what is free at the end of a table.
func (s *Store) Prune(ctx context.Context, q journal.PruneQuery) (journal.PruneResult, error) {
	var res journal.PruneResult
	before, err := s.Size(ctx)
	if err == nil {
		err = s.prune(ctx, q, &res)
	}
	if err == nil {
		var after int64
		after, err = s.Size(ctx)
		res.Freed = before - after
	}
	if err != nil {
		return res, fmt.Errorf("prune: %w", err)
	}
	return res, nil
}

func (s *Store) prune(ctx context.Context, q journal.PruneQuery, res *journal.PruneResult) error {
	for _, run := range q.Runs {
		if err := s.refuseOwned(ctx, run); err != nil {
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
	_, err := s.exec(ctx, sqlForget)
	return err
}

// dropNamed deletes a run that was requested by name, whatever happened to it since, unless an
// owner has claimed it.
func (s *Store) dropNamed(ctx context.Context, run string, res *journal.PruneResult) error {
	for {
		if err := s.refuseOwned(ctx, run); err != nil {
			return err
		}
		var e entry
		found, err := s.queryRow(ctx, sqlHead, []any{bytesOf(run)}, e.columns())
		if err == nil && !found {
			err = journal.ErrNotFound
		}
		if err != nil {
			return err
		}
		before := res.Runs
		if err := s.drop(ctx, []pruneTarget{{e.key, e.epoch, e.last}}, res); err != nil || res.Runs > before {
			return err
		}
	}
}

// dropOld deletes the runs with a status that have no living owner and are old enough.
func (s *Store) dropOld(ctx context.Context, text sqlText, status journal.Status, before time.Time,
	res *journal.PruneResult) error {
	var from, id int64 = math.MinInt64, 0
	for {
		var v pruneTarget
		var at int64
		var owned bool
		rows, last := 0, [2]int64{}
		var victims []pruneTarget
		args := []any{string(status), from, id, ceilMicros(before)}
		err := s.query(ctx, text, args, []any{&at, &v.id, &v.epoch, &v.last, &owned}, func() { rows, victims = 0, nil },
			func() error {
				rows++
				last = [2]int64{at, v.id}
				if !owned {
					victims = append(victims, v)
				}
				return nil
			})
		if err != nil || rows == 0 {
			return err
		}
		from, id = last[0], last[1]
		for len(victims) > 0 {
			n := min(pruneRuns, len(victims))
			if err := s.drop(ctx, victims[:n], res); err != nil {
				return err
			}
			victims = victims[n:]
		}
		// Empty the trash as it accumulates, so that its space can be reused soon.
		if err := s.emptyTrash(ctx); err != nil {
			return err
		}
	}
}

// drop removes runs in one transaction. It is repeated if another run refers to one of the
// blobs meanwhile.
func (s *Store) drop(ctx context.Context, victims []pruneTarget, res *journal.PruneResult) error {
	if err := s.enter(ctx); err != nil {
		return err
	}
	defer s.leave()
	var runs, blobs int64
	for {
		err := s.retryConflicts(ctx, func() error {
			return pgx.BeginFunc(ctx, s.db.pool, func(tx pgx.Tx) (err error) {
				runs, blobs, err = s.dropRuns(ctx, tx, victims)
				return err
			})
		})
		if e, ok := errors.AsType[*pgconn.PgError](err); ok && e.Code == stateForeignKey {
			continue
		}
		if err != nil {
			return s.fault(ctx, err)
		}
		break
	}
	s.changes.all()
	res.Runs += int(runs)
	res.Blobs += int(blobs)
	return nil
}

// dropRuns deletes everything that belongs to runs except their records, and returns how many runs
// and blobs were deleted.
func (s *Store) dropRuns(ctx context.Context, tx pgx.Tx, victims []pruneTarget) (runs, blobs int64, err error) {
	var ids, epochs, lasts []int64
	for _, v := range victims {
		ids, epochs, lasts = append(ids, v.id), append(epochs, v.epoch), append(lasts, v.last)
	}
	if _, err := tx.Exec(ctx, string(sqlInTime), s.stepLimit()); err != nil {
		return 0, 0, err
	}
	if _, err := tx.Exec(ctx, s.text(sqlPruneLock)); err != nil {
		return 0, 0, err
	}
	rows, err := tx.Query(ctx, s.text(sqlVictims), ids, epochs, lasts)
	if err != nil {
		return 0, 0, err
	}
	if ids, err = pgx.CollectRows(rows, pgx.RowTo[int64]); err != nil || len(ids) == 0 { // they were resumed
		return 0, 0, err
	}
	if rows, err = tx.Query(ctx, s.text(sqlDropHolds), ids); err != nil {
		return 0, 0, err
	}
	held, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if err != nil {
		return 0, 0, err
	}
	b := &pgx.Batch{}
	for _, q := range []sqlText{sqlDropInbox, sqlDropNotes, sqlDropLabels, sqlDropTexts, sqlDropPlaces, sqlDropHeads,
		sqlDropRuns, sqlToTrash} {
		b.Queue(s.text(q), ids)
	}
	b.Queue(s.text(sqlDropBlobs), held).Exec(func(tag pgconn.CommandTag) error {
		blobs = tag.RowsAffected()
		return nil
	})
	err = tx.SendBatch(ctx, b).Close()
	return int64(len(ids)), blobs, err
}

// emptyTrash deletes the records of removed runs, in steps of about pruneTime.
func (s *Store) emptyTrash(ctx context.Context) error {
	for n := 200; ; {
		began := time.Now()
		if _, err := s.exec(ctx, sqlTakeOut, n); err != nil {
			return err
		}
		took := time.Since(began)
		more := false
		if err := s.execReturning(ctx, sqlTrashLeft, nil, []any{&more}, func() error { return nil }); err != nil ||
			!more {
			return err
		}
		switch {
		case took > pruneTime:
			n = max(n/2, minPruneRecords)
		case took < pruneTime/2:
			n = min(2*n, maxPruneRecords)
		}
	}
}
