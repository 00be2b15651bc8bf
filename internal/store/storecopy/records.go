package storecopy

import (
	"context"
	"errors"
	"iter"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// Columns of runs.
const (
	runID     = 0
	runName   = 1
	runStatus = 3
	runLast   = 25
	runSeal   = 26
)

// Statements of records.
const (
	// SQLite: records are a chain that leads back from the head. Pruning renumbers them, so only
	// last is ordered.
	sqlChain tables.Text = `WITH RECURSIVE chain (id, prev, last) AS (
  SELECT r.id, r.prev, r.last FROM heads h JOIN records r ON r.id = h.record WHERE h.id = ?
  UNION ALL
  SELECT p.id, p.prev, p.last FROM chain c JOIN records p ON p.id = c.prev WHERE p.last < c.last
)
SELECT id FROM chain`
	sqlRecord tables.Text = `SELECT last, seal, data FROM records WHERE id = ? AND run = ?`
	sqlNewest tables.Text = `SELECT coalesce(max(id), 0) FROM records`
	// PostgreSQL: records of deleted runs may be among them.
	sqlRecords tables.Text = `SELECT run, last, seal, data FROM records WHERE run >= ? AND run <= ? ORDER BY run, last`
)

// Destinations of added runs.
var (
	intoRuns = tables.Into{
		Table: "runs",
		Columns: []string{"id", "run", "created", "status", "waiting", "ended", "workflow", "name", "format", "parent",
			"kind", "definition", "meta", "session", "place", "branch", "cause", "labels", "preview", "tokens", "calls",
			"cost", "code", "message"},
		One: `INSERT INTO runs (id, run, created, status, waiting, ended, workflow, name, format, parent, kind, ` +
			`definition, meta, session, place, branch, cause, labels, preview, tokens, calls, cost, code, message)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
	}
	intoHeads     = tables.Into{Table: "heads", Columns: []string{"id", "epoch", "last", "seal", "updated", "owner"}}
	intoHeadsLite = tables.Into{
		One: `INSERT INTO heads (id, epoch, last, seal, updated, owner, record) VALUES (?, ?, ?, ?, ?, ?, ?)`,
	}
	intoRecords     = tables.Into{Table: "records", Columns: []string{"run", "last", "seal", "data"}}
	intoRecordsLite = tables.Into{
		One: `INSERT INTO records (id, run, prev, last, seal, data) VALUES (?, ?, ?, ?, ?, ?)`,
	}
)

// stored is a record in its stored form.
type stored struct {
	run        int64 // its run's number
	last       int64
	seal, data []byte
}

// chain verifies the records of a run, in order.
type chain struct {
	name string
	last uint64
	sum  journal.Sum
}

func newChain(run row) chain {
	name, _ := run[runName].(string)
	return chain{name: name, sum: journal.Genesis(name)}
}

// next verifies the next record.
func (c *chain) next(r stored) error {
	version, sum := unseal(r.seal)
	l := journal.Link{Record: journal.Record{Version: version, First: c.last + 1, Last: uint64(r.last), Data: r.data},
		Sum: sum}
	if err := journal.VerifyChain(c.name, c.last, c.sum, []journal.Link{l}, l.Last, l.Sum); err != nil {
		return err
	}
	c.last, c.sum = l.Last, sum
	return nil
}

// end checks that the records end where the run's head says.
func (c *chain) end(run row) error {
	_, sum := unseal(tables.Bytes(run[runSeal]))
	return journal.VerifyChain(c.name, c.last, c.sum, nil, uint64(tables.Int(run[runLast])), sum)
}

// unseal returns the version and the sum of a record. For an invalid seal it returns version 0 with
// a sum that matches nothing.
func unseal(b []byte) (version uint8, sum journal.Sum) {
	if len(b) != 1+len(sum) {
		return 0, sum
	}
	return b[0], journal.Sum(b[1:])
}

// eachRecord calls take with the records of runs, in the order of runs and records, verified to the
// end of each run.
func eachRecord(tx tables.Tx, of []row, take func(stored) error) error {
	if len(of) == 0 {
		return nil
	}
	if tx.Dialect() == tables.SQLite {
		for _, run := range of {
			if err := eachInChain(tx, run, take); err != nil {
				return err
			}
		}
		return nil
	}
	rest := of
	c := newChain(rest[0])
	err := tx.Query(sqlRecords, func(columns []any) error {
		r := stored{tables.Int(columns[0]), tables.Int(columns[1]), tables.Bytes(columns[2]), tables.Bytes(columns[3])}
		for len(rest) > 0 && tables.Int(rest[0][runID]) < r.run {
			if err := c.end(rest[0]); err != nil {
				return err
			}
			if rest = rest[1:]; len(rest) > 0 {
				c = newChain(rest[0])
			}
		}
		if len(rest) == 0 || tables.Int(rest[0][runID]) > r.run {
			return nil // of a run that was not requested
		}
		if err := c.next(r); err != nil {
			return err
		}
		return take(r)
	}, of[0][runID], of[len(of)-1][runID])
	for ; err == nil && len(rest) > 0; rest = rest[1:] {
		err = c.end(rest[0])
		if len(rest) > 1 {
			c = newChain(rest[1])
		}
	}
	return err
}

// eachInChain is like eachRecord, for one run in SQLite.
func eachInChain(tx tables.Tx, run row, take func(stored) error) error {
	var ids []int64 // newest first
	err := tx.Query(sqlChain, func(columns []any) error {
		ids = append(ids, tables.Int(columns[0]))
		return nil
	}, run[runID])
	c := newChain(run)
	for i := len(ids) - 1; i >= 0 && err == nil; i-- {
		err = tx.Query(sqlRecord, func(columns []any) error {
			r := stored{tables.Int(run[runID]), tables.Int(columns[0]), tables.Bytes(columns[1]),
				tables.Bytes(columns[2])}
			if err := c.next(r); err != nil {
				return err
			}
			return take(r)
		}, ids[i], run[runID])
	}
	if err != nil {
		return err
	}
	return c.end(run)
}

// verifyRecords verifies the journals of runs, and returns the number of their records.
func (p *pair) verifyRecords(ctx context.Context, side *side, from source, of []row) (n int, err error) {
	err = from.withTx(ctx, func(tx tables.Tx) error {
		n = 0
		return eachRecord(tx, of, func(stored) error {
			n++
			return nil
		})
	})
	if err != nil {
		return 0, p.in(side, err)
	}
	return n, nil
}

// addRuns adds runs with their records, which it reads from FROM, in one transaction. It returns
// the number and the size in bytes of the records.
func (p *pair) addRuns(ctx context.Context, tx tables.Tx, of []row) (n int, size int64, err error) {
	err = tx.Insert(intoRuns, each(of, func(run row) []any { return runs.arguments(run[:len(intoRuns.Columns)]) }))
	if err != nil {
		return 0, 0, err
	}
	newest := map[int64]int64{} // numbers of the last records by run, in SQLite
	if n, size, err = p.addRecords(ctx, tx, of, newest); err != nil {
		return 0, 0, err
	}
	into, lite := intoHeads, tx.Dialect() == tables.SQLite
	if lite {
		into = intoHeadsLite
	}
	return n, size, tx.Insert(into, each(of, func(run row) []any {
		args := append([]any{run[runID]}, run[len(intoRuns.Columns):]...)
		args = append(args, int64(0)) // no owner
		if lite {
			args = append(args, newest[tables.Int(run[runID])])
		}
		return args
	}))
}

// addRecords adds the records of runs.
func (p *pair) addRecords(ctx context.Context, tx tables.Tx, of []row, newest map[int64]int64) (
	n int, size int64, err error) {
	lite := tx.Dialect() == tables.SQLite
	var id int64
	if lite {
		err := tx.Query(sqlNewest, func(columns []any) error { id = tables.Int(columns[0]); return nil })
		if err != nil {
			return 0, 0, err
		}
	}
	var failed error
	records := func(yield func([]any) bool) {
		failed = p.from.withTx(ctx, func(from tables.Tx) error {
			return eachRecord(from, of, func(r stored) error {
				n++
				size += int64(len(r.data))
				args := []any{r.run, r.last, r.seal, r.data}
				if lite {
					id++
					args = []any{id, r.run, newest[r.run], r.last, r.seal, r.data}
					newest[r.run] = id
				}
				if !yield(args) {
					return errNotWritten
				}
				return nil
			})
		})
	}
	into := intoRecords
	if lite {
		into = intoRecordsLite
	}
	next, stop := iter.Pull(iter.Seq[[]any](records))
	defer stop()
	err = tx.Insert(into, func() ([]any, error) {
		r, ok := next()
		if !ok && failed != nil {
			return nil, p.in(p.job.from, failed)
		}
		return r, nil
	})
	return n, size, err
}

// each returns a function that yields one row after another, for tables.Tx.
func each(of []row, arguments func(row) []any) func() ([]any, error) {
	return func() ([]any, error) {
		if len(of) == 0 {
			return nil, nil
		}
		r := of[0]
		of = of[1:]
		return arguments(r), nil
	}
}

// errNotWritten ends reading when the rows that are read are no longer written.
var errNotWritten = errors.New("what was read is not written")
