package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// state is what the server has stored and done so far.
type state struct {
	rows, records, bytes, wal, transactions int64
	processor                               time.Duration
}

const (
	sqlTables = `SELECT c.relname::text FROM pg_class c WHERE c.relnamespace = '` + schema +
		`'::regnamespace AND c.relkind = 'r' ORDER BY 1`
	// sqlState selects the next transaction number, the position of the log and the size of the
	// tables. Transactions that write nothing are not assigned a number.
	sqlState = `SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint, pg_wal_lsn_diff(pg_current_wal_lsn(), ` +
		`'0/0')::bigint,
  (SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c WHERE c.relnamespace = '` + schema +
		`'::regnamespace AND c.relkind = 'r')`
)

// readState reads the current state. It writes nothing, so its own transaction is not counted.
func (s *server) readState(ctx context.Context) (state, error) {
	var st state
	if err := s.admin.QueryRow(ctx, sqlState).Scan(&st.transactions, &st.wal, &st.bytes); err != nil {
		return st, err
	}
	rows, err := s.admin.Query(ctx, sqlTables)
	if err != nil {
		return st, err
	}
	tables, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return st, err
	}
	for _, table := range tables {
		var n int64
		if err := s.admin.QueryRow(ctx, "SELECT count(*) FROM "+pgx.Identifier{schema, table}.Sanitize()).Scan(
			&n); err != nil {
			return st, err
		}
		st.rows += n
		if strings.HasPrefix(table, "records_") {
			st.records += n
		}
	}
	if s.own != nil {
		st.processor, err = processorTime(s.own.Dir)
	}
	return st, err
}

// processorTime returns the processor time used by all processes of the server in a folder, both
// running and ended.
func processorTime(dir string) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	if err != nil {
		return 0, err
	}
	first, _, _ := bytes.Cut(text, []byte("\n"))
	parent, err := strconv.Atoi(string(first))
	if err != nil {
		return 0, fmt.Errorf("postmaster.pid: %w", err)
	}
	stats, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil || len(stats) == 0 {
		return 0, err // no /proc
	}
	const user, children = 11, 13 // offsets after the program name, starting with the state
	var ticks int
	for _, file := range stats {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
		pid, ppid := filepath.Base(filepath.Dir(file)), fields[1]
		from, to := user, user+2
		switch {
		case pid == strconv.Itoa(parent):
			to = children + 2
		case ppid != strconv.Itoa(parent):
			continue
		}
		for _, f := range fields[from:to] {
			n, err := strconv.Atoi(f)
			if err != nil {
				return 0, fmt.Errorf("%s: %w", file, err)
			}
			ticks += n
		}
	}
	const perSecond = 100 // sysconf(_SC_CLK_TCK) on Linux
	return time.Duration(ticks) * time.Second / perSecond, nil
}
