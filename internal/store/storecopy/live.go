package storecopy

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// left is what is left out of a copy from a store that is used: runs that have neither ended nor wait for a person, with all that is theirs alone.
type left struct {
	runs  map[int64]bool
	blobs map[int64]bool
}

// Statements of what is left out.
const (
	sqlGoingOn tables.Text = `SELECT id FROM runs WHERE status = ? ORDER BY id`
	sqlHeld    tables.Text = `SELECT blob FROM holds WHERE run = ?`
	sqlHolders tables.Text = `SELECT run FROM holds WHERE blob = ? ORDER BY run`
)

func (l left) isEmpty() bool { return len(l.runs) == 0 }

// has tells whether a row is left out.
func (l left) has(t *table, r row) bool {
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

// leftOut gives what is left out of a store.
func leftOut(tx tables.Tx) (left, error) {
	l := left{runs: map[int64]bool{}, blobs: map[int64]bool{}}
	for _, status := range journal.Statuses() {
		if status.IsEnded() || status == journal.StatusPaused {
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

// owned gives a run that a living process has, and the process; "" where there is none. The process that starts scheduled runs has none.
func owned(ctx context.Context, db tables.DB, j journal.Backend) (run, owner string, err error) {
	type ownedRun struct{ run, owner string }
	var found []ownedRun
	const sqlOwned tables.Text = `SELECT r.run, o.owner FROM heads h JOIN runs r ON r.id = h.id JOIN owners o ON o.id = h.owner WHERE h.owner <> 0 ORDER BY h.id`
	err = db.View(ctx, func(tx tables.Tx) error {
		found = nil
		return tx.Query(sqlOwned, func(columns []any) error {
			found = append(found, ownedRun{tables.String(columns[0]), tables.String(columns[1])})
			return nil
		})
	})
	if err != nil {
		return "", "", err
	}
	alive := map[string]bool{}
	for _, f := range found {
		if _, ok := alive[f.owner]; !ok {
			if alive[f.owner], err = j.Alive(ctx, f.owner); err != nil {
				return "", "", err
			}
		}
		if alive[f.owner] {
			head, err := j.Head(ctx, f.run)
			return f.run, head.By.String(), err
		}
	}
	owners, err := j.Owners(ctx)
	if err != nil {
		return "", "", err
	}
	if i := slices.IndexFunc(owners, func(o journal.Owner) bool { return o.ID != j.Owner().ID }); i >= 0 {
		return "", owners[i].String(), nil
	}
	return "", "", nil
}
