package storecopy

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// excluded holds what is left out of a copy from a store that is in use: runs that have neither
// ended nor wait for a person, with all data that only they use.
type excluded struct {
	runs  map[int64]bool
	blobs map[int64]bool
}

// Statements for what is left out.
const (
	sqlGoingOn tables.Text = `SELECT id FROM runs WHERE status = ? ORDER BY id`
	sqlHeld    tables.Text = `SELECT blob FROM holds WHERE run = ?`
	sqlHolders tables.Text = `SELECT run FROM holds WHERE blob = ? ORDER BY run`
)

func (l excluded) isEmpty() bool { return len(l.runs) == 0 }

// has reports whether a row is left out.
func (l excluded) has(t *table, r row) bool {
	switch {
	case l.isEmpty():
		return false
	case t == blobs:
		return l.blobs[tables.Int(r[0])]
	}
	return t.run >= 0 && l.runs[tables.Int(r[t.run])]
}

// errStop ends a query early.
var errStop = errors.New("seen enough")

// leftOut returns what is left out of a store.
func leftOut(tx tables.Tx) (excluded, error) {
	l := excluded{runs: map[int64]bool{}, blobs: map[int64]bool{}}
	for _, status := range journal.Statuses() {
		if status.Ended() || status == journal.StatusPaused {
			continue
		}
		err := tx.Query(sqlGoingOn, func(columns []any) error {
			l.runs[tables.Int(columns[0])] = true
			return nil
		}, string(status))
		if err != nil {
			return l, err
		}
	}
	held := map[int64]bool{}
	for run := range l.runs {
		err := tx.Query(sqlHeld, func(columns []any) error {
			held[tables.Int(columns[0])] = true
			return nil
		}, run)
		if err != nil {
			return l, err
		}
	}
	for b := range held {
		others := false
		err := tx.Query(sqlHolders, func(columns []any) error {
			if others = !l.runs[tables.Int(columns[0])]; others {
				return errStop
			}
			return nil
		}, b)
		if err != nil && !errors.Is(err, errStop) {
			return l, err
		}
		if !others {
			l.blobs[b] = true
		}
	}
	return l, nil
}

// refresh replaces rows that have changed in FROM since an earlier call wrote them, and compares
// and counts the existing ones. It may change other rows, through triggers, so it repeats until all
// are equal.
func (p *pair) refresh(ctx context.Context) error {
	for isChanged := true; isChanged; {
		isChanged = false
		for _, t := range slices.Backward(list) { // referring rows first
			n := 0
			p.stale = func(key row) error { n++; return p.replace(ctx, t, []row{key}, nil) }
			err := p.walk(ctx, t, func(ctx context.Context, t *table, x *piece) error {
				keys, fresh, err := p.changed(ctx, t, x)
				if err != nil || len(keys) == 0 {
					return err
				}
				n += len(keys)
				return p.replace(ctx, t, keys, fresh)
			})
			p.stale = nil
			if err != nil {
				return err
			}
			isChanged = isChanged || n > 0
		}
	}
	before := p.job.res
	err := p.all(ctx, p.plan)
	planned := p.job.res
	p.job.res = before
	p.job.total += planned.Bytes - before.Bytes
	p.job.res.Runs.Present, p.job.res.Blobs.Present, p.job.res.Rows.Present = planned.Runs.Present,
		planned.Blobs.Present, planned.Rows.Present
	return err
}

// forecast counts what refresh and the copy after it will find, and writes nothing: rows that have
// changed in FROM are copied again, and rows that only TO has are deleted.
func (p *pair) forecast(ctx context.Context) error {
	p.stale = func(row) error { return nil }
	return p.all(ctx, func(ctx context.Context, t *table, x *piece) error {
		a, err := p.rowsOf(ctx, t, p.job.from, p.from, x)
		if err != nil {
			return err
		}
		b := make([]row, len(x.keys))
		if x.present > 0 {
			if b, err = p.rowsOf(ctx, t, p.job.to, p.to, x); err != nil {
				return err
			}
		}
		missing, present, size := 0, 0, int64(0)
		for i, k := range x.keys {
			switch {
			case a[i] == nil: // left out
			case b[i] != nil && len(t.differences(a[i], b[i])) == 0:
				present++
			default:
				missing++
				size += k.size
			}
		}
		p.job.countPlanned(t, missing, present, size)
		return nil
	})
}

// changed returns the keys of rows that differ, or that are left out now, and the rows of FROM that
// replace them. Runs are copied later, with their records.
func (p *pair) changed(ctx context.Context, t *table, x *piece) (keys, fresh []row, err error) {
	if x.present == 0 {
		return nil, nil, nil
	}
	a, err := p.rowsOf(ctx, t, p.job.from, p.from, x)
	if err != nil {
		return nil, nil, err
	}
	b, err := p.rowsOf(ctx, t, p.job.to, p.to, x)
	if err != nil {
		return nil, nil, err
	}
	for i, k := range x.keys {
		if !x.isThere[i] || a[i] != nil && b[i] != nil && len(t.differences(a[i], b[i])) == 0 {
			continue
		}
		keys = append(keys, k.key)
		if a[i] != nil && t != runs {
			fresh = append(fresh, a[i])
		}
	}
	return keys, fresh, nil
}

// replace deletes rows and adds others in one transaction, because other rows may refer to them.
func (p *pair) replace(ctx context.Context, t *table, keys, fresh []row) error {
	return p.job.write(ctx, p.to.db, p.name, 0, func(tx tables.Tx) error {
		for _, k := range keys {
			if err := t.dropRow(tx, k); err != nil {
				return err
			}
		}
		if len(fresh) == 0 {
			return nil
		}
		return tx.Insert(t.into(), each(fresh, func(r row) []any { return t.arguments(r) }))
	})
}

// Statements that delete a run, including the chain of its records in SQLite.
const (
	sqlDropRecord  tables.Text = `DELETE FROM records WHERE id = ?`
	sqlDropRecords tables.Text = `DELETE FROM records WHERE run = ?`
	sqlDropHead    tables.Text = `DELETE FROM heads WHERE id = ?`
	sqlDropRun     tables.Text = `DELETE FROM runs WHERE id = ?`
)

// dropRow deletes a row.
func (t *table) dropRow(tx tables.Tx, key row) error {
	if t != runs {
		return tx.Do(t.drop, t.arguments(key)...)
	}
	if tx.Dialect() == tables.Postgres {
		return errors.Join(tx.Do(sqlDropRecords, key[0]), tx.Do(sqlDropHead, key[0]), tx.Do(sqlDropRun, key[0]))
	}
	var ids []int64
	err := tx.Query(sqlChain, func(columns []any) error { ids = append(ids, tables.Int(columns[0])); return nil },
		key[0])
	for _, id := range ids {
		err = errors.Join(err, tx.Do(sqlDropRecord, id))
	}
	return errors.Join(err, tx.Do(sqlDropHead, key[0]), tx.Do(sqlDropRun, key[0]))
}

// Statements about owners: of runs, and all processes that ever registered.
const (
	sqlOwned tables.Text = `SELECT o.owner, o.kind, o.pid, o.host, r.run FROM heads h JOIN runs r ON r.id = h.id ` +
		`JOIN owners o ON o.id = h.owner WHERE h.owner <> 0 ORDER BY h.id`
	sqlOwners tables.Text = `SELECT owner, kind, pid, host, '' FROM owners WHERE id > 0 ORDER BY id`
)

// describeUsers names the living processes that use a store, one of them with a run that it owns;
// "" means that there are none. Processes that only read do not count.
func describeUsers(ctx context.Context, db tables.DB, j journal.Backend) (names string, err error) {
	type found struct {
		journal.Owner
		run string
	}
	var all []found
	err = db.View(ctx, func(tx tables.Tx) error {
		all = nil
		take := func(c []any) error {
			o := journal.Owner{ID: tables.String(c[0]), Kind: journal.Kind(tables.String(c[1])),
				PID: int(tables.Int(c[2])), Host: tables.String(c[3])}
			all = append(all, found{o, tables.String(c[4])})
			return nil
		}
		return errors.Join(tx.Query(sqlOwned, take), tx.Query(sqlOwners, take))
	})
	asked := map[string]bool{j.Owner().ID: true}
	living := 0
	for _, f := range all {
		if err != nil {
			return "", err
		}
		if asked[f.ID] {
			continue
		}
		asked[f.ID] = true
		var isAlive bool
		if isAlive, err = j.Alive(ctx, f.ID); !isAlive {
			continue
		}
		if living++; living <= maxUsers {
			if names != "" {
				names += "; "
			}
			names += f.String()
			if f.run != "" {
				names += " has run " + f.run
			}
		}
	}
	if living > maxUsers {
		names += fmt.Sprintf("; %d more", living-maxUsers)
	}
	return names, err
}

// maxUsers is the maximum number of processes that an error names.
const maxUsers = 5
