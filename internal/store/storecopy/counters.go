package storecopy

import (
	"context"
	"fmt"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// counter assigns numbers that are not reused, even if the rows that had them are gone.
type counter struct {
	// name is the name of the table, whose counter SQLite keeps in sqlite_sequence. highest queries
	// the highest number, for tables whose numbers SQLite may reuse.
	name    string
	highest tables.Text
	// read and set are for PostgreSQL.
	read, set tables.Text
}

const (
	sqlSequence    tables.Text = `SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = ?`
	sqlSetSequence tables.Text = `UPDATE sqlite_sequence SET seq = max(seq, ?) WHERE name = ?`
	sqlNewSequence tables.Text = `INSERT INTO sqlite_sequence (seq, name) SELECT ?, ? WHERE NOT EXISTS (SELECT 1 ` +
		`FROM sqlite_sequence WHERE name = ?)`
)

var counters = []counter{
	{"runs", "", `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM runs_id_seq`,
		`SELECT setval('runs_id_seq', ?)`},
	{"inbox", "", `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM inbox_id_seq`,
		`SELECT setval('inbox_id_seq', ?)`},
	{"notices", "", `SELECT last FROM notice_counter`, `UPDATE notice_counter SET last = ? RETURNING last`},
	{"memories", "", `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM memories_n_seq`,
		`SELECT setval('memories_n_seq', ?)`},
	{"access_tokens", "", `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM access_tokens_n_seq`,
		`SELECT setval('access_tokens_n_seq', ?)`},
	{"notifications", "", `SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM notifications_n_seq`,
		`SELECT setval('notifications_n_seq', ?)`},
	{"blobs", `SELECT coalesce(max(id), 0) FROM blobs`,
		`SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM blobs_id_seq`, `SELECT setval('blobs_id_seq', ?)`},
	{"checkpoints", `SELECT coalesce(max(n), 0) FROM checkpoints`,
		`SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM checkpoints_n_seq`,
		`SELECT setval('checkpoints_n_seq', ?)`},
	{
		"agent_workflow_nodes", `SELECT coalesce(max(rowid), 0) FROM agent_workflow_nodes`,
		`SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM agent_workflow_nodes_rowid_seq`,
		`SELECT setval('agent_workflow_nodes_rowid_seq', ?)`,
	},
	{
		"agent_workflow_edges", `SELECT coalesce(max(rowid), 0) FROM agent_workflow_edges`,
		`SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM agent_workflow_edges_rowid_seq`,
		`SELECT setval('agent_workflow_edges_rowid_seq', ?)`,
	},
}

// value returns the last assigned number.
func (c *counter) value(tx tables.Tx) (n int64, err error) {
	take := func(columns []any) error { n = tables.Int(columns[0]); return nil }
	switch {
	case tx.Dialect() == tables.Postgres:
		err = tx.Query(c.read, take)
	case c.highest != "":
		err = tx.Query(c.highest, take)
	default:
		err = tx.Query(sqlSequence, take, c.name)
	}
	return n, err
}

// raise sets the counter to a number, unless it is already higher.
func (c *counter) raise(tx tables.Tx, to int64) error {
	now, err := c.value(tx)
	if err != nil || now >= to {
		return err
	}
	if tx.Dialect() == tables.Postgres {
		return tx.Query(c.set, func([]any) error { return nil }, to)
	}
	if c.highest != "" {
		return nil
	}
	if _, err := tx.Exec(sqlSetSequence, to, c.name); err != nil {
		return err
	}
	_, err = tx.Exec(sqlNewSequence, to, c.name, c.name)
	return err
}

// raiseCounters makes numbers of TO continue after those of FROM.
func (p *pair) raiseCounters(ctx context.Context) error {
	values := make([]int64, len(counters))
	err := p.from.withTx(ctx, func(tx tables.Tx) (err error) {
		for i := range counters {
			if values[i], err = counters[i].value(tx); err != nil {
				return fmt.Errorf("read the counter of %s: %w", counters[i].name, err)
			}
		}
		return nil
	})
	if err != nil {
		return p.in(p.job.from, err)
	}
	return p.job.write(ctx, p.to.db, p.name, 0, func(tx tables.Tx) error {
		for i := range counters {
			if err := counters[i].raise(tx, values[i]); err != nil {
				return fmt.Errorf("set the counter of %s: %w", counters[i].name, err)
			}
		}
		return nil
	})
}
