package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/hocket-run/hocket/bench/internal/fill"
	"github.com/hocket-run/hocket/internal/documents/linked"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/internal/store/pghome"
)

// deleted is the cost of one way to delete runs.
type deleted struct {
	way string
	// took is the time until the rows are deleted, vacuum the time of the vacuum that follows; wal
	// is the log written by both.
	took, vacuum time.Duration
	wal          int64
	// before and after are the sizes of the tables in bytes.
	before, after int64
}

// days is the number of days over which the runs were created. Half of the runs are deleted.
const days = 10

// measureRetention fills a store with runs of 2 calls, deletes the older half as a server's
// retention does, and drops the same number of records from a table that is partitioned by day.
func measureRetention(ctx context.Context, s *server, runs int, out io.Writer) (err error) {
	w, err := openWorld(ctx, kinds[0], service.Config{Documents: linked.Kit(), DB: s.url,
		Stores: store.Servers{Postgres: pghome.New(nil)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, w.Close()) }()
	first := time.Now().Add(-days * 24 * time.Hour)
	if err := fillRuns(ctx, s, w, runs, first); err != nil {
		return err
	}
	byDay, err := s.dropDays(ctx, runs)
	if err != nil {
		return fmt.Errorf("drop partitions: %w", err)
	}
	steps, err := s.deletedBy(ctx, "in steps: runs, heads, holds, records", func() error {
		res, err := w.Home().Journal.Prune(ctx, journal.PruneQuery{EndedBefore: first.Add(days * 12 * time.Hour)})
		if err == nil && res.Runs < runs/2-1 {
			err = fmt.Errorf("%d of %d runs were deleted", res.Runs, runs/2)
		}
		return err
	}, schema+".records", schema+".heads", schema+".runs", schema+".holds")
	if err != nil {
		return fmt.Errorf("prune: %w", err)
	}
	p := &printer{w: out}
	p.linef("%d of %d runs of 2 calls are deleted:", runs/2, runs)
	p.linef("")
	p.table("way", "runs a second", "time", "vacuum after it", "log (WAL)", "tables before", "after")
	for _, d := range []deleted{steps, byDay} {
		p.row(d.way, fixed(float64(runs/2)/d.took.Seconds()), seconds(d.took), seconds(d.vacuum), size(float64(d.wal)),
			size(float64(d.before)), size(float64(d.after)))
	}
	return p.err
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.3g s", d.Seconds()) }

// fillRuns stores the given number of copies of a run of w.
func fillRuns(ctx context.Context, s *server, w *fixture, runs int, first time.Time) error {
	id, err := w.Start(ctx, service.StartRequest{Workflow: w.w, Input: w.fake.text(inputBytes)})
	if err != nil {
		return err
	}
	if _, err := w.Wait(ctx, id); err != nil {
		return err
	}
	records, err := w.Home().Journal.Read(ctx, id, 0)
	if err != nil {
		return err
	}
	return fill.Runs(ctx, s.admin, fill.Config{
		Schema: schema, Run: id, Records: records, Runs: runs, First: first,
		Every:  days * 24 * time.Hour / time.Duration(runs),
		Status: func(int) journal.Status { return journal.StatusCompleted },
	})
}

// dropDays copies the records into a table that is partitioned by the day of their run, and drops
// the older half of the partitions.
func (s *server) dropDays(ctx context.Context, runs int) (deleted, error) {
	statements := []string{
		"CREATE TABLE " + schema + ".by_day (day integer NOT NULL, run bigint NOT NULL, last bigint NOT NULL, seal " +
			"bytea NOT NULL, data bytea NOT NULL, PRIMARY KEY (day, run, last)) PARTITION BY RANGE (day)",
	}
	for day := range days {
		statements = append(statements,
			fmt.Sprintf("CREATE TABLE %[1]s.by_day_%[2]d PARTITION OF %[1]s.by_day FOR VALUES FROM (%[2]d) TO (%[3]d)",
				schema, day, day+1))
	}
	statements = append(statements, fmt.Sprintf(
		"INSERT INTO %[1]s.by_day SELECT least(%[2]d, (r.run - (SELECT min(run) FROM %[1]s.records)) * %[3]d / "+
			"%[4]d), r.run, r.last, r.seal, r.data FROM %[1]s.records r", schema, days-1, days, runs))
	for _, sql := range statements {
		if _, err := s.admin.Exec(ctx, sql); err != nil {
			return deleted{}, err
		}
	}
	return s.deletedBy(ctx, "by dropping days: records alone", func() error {
		for day := range days / 2 {
			if _, err := s.admin.Exec(ctx, fmt.Sprintf("DROP TABLE %s.by_day_%d", schema, day)); err != nil {
				return err
			}
		}
		return nil
	}, schema+".by_day")
}

// deletedBy measures do, followed by a vacuum of the tables.
func (s *server) deletedBy(ctx context.Context, way string, do func() error, tables ...string) (d deleted, err error) {
	d.way = way
	if _, err := s.admin.Exec(ctx, "CHECKPOINT"); err != nil {
		return d, err
	}
	var wal int64
	if d.before, wal, err = s.sizeOf(ctx, tables); err != nil {
		return d, err
	}
	began := time.Now()
	if err := do(); err != nil {
		return d, err
	}
	d.took = time.Since(began)
	began = time.Now()
	for _, table := range tables {
		if _, err := s.admin.Exec(ctx, "VACUUM "+table); err != nil {
			return d, err
		}
	}
	d.vacuum = time.Since(began)
	d.after, d.wal, err = s.sizeOf(ctx, tables)
	d.wal -= wal
	return d, err
}

// sizeOf returns the size in bytes of tables with their partitions and indexes, and the current
// position of the log.
func (s *server) sizeOf(ctx context.Context, tables []string) (size, wal int64, err error) {
	const sql = `SELECT coalesce(sum(pg_total_relation_size(p.relid)), 0)::bigint, ` +
		`pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint
FROM unnest($1::text[]) AS t(name), LATERAL pg_partition_tree(t.name::regclass) AS p`
	err = s.admin.QueryRow(ctx, sql, tables).Scan(&size, &wal)
	return size, wal, err
}
