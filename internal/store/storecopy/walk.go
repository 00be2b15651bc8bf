package storecopy

import (
	"context"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// pair is one namespace in both stores.
type pair struct {
	job      *job
	name     string
	from, to source
	left     excluded
	// stale receives the keys of rows that only TO has; nil means that there must be none.
	stale func(key row) error
}

// piece is a sequence of consecutive rows of FROM.
type piece struct {
	first, last      row
	keys             []sizedKey
	isThere          []bool // whether TO has the key at this index of keys
	bytes            int64
	missing, present int // how many rows TO lacks and has
}

func (p *piece) add(k sizedKey, isThere bool) {
	if len(p.keys) == 0 {
		p.first = k.key
	}
	p.last = k.key
	p.keys, p.isThere = append(p.keys, k), append(p.isThere, isThere)
	p.bytes += k.size
	if isThere {
		p.present++
	} else {
		p.missing++
	}
}

func (p *piece) isFull(limit int64) bool { return p.bytes >= limit || len(p.keys) >= pageRows }

// walk iterates over a table in both stores in parallel, in key order, and calls do with the rows
// of FROM, piece by piece. A row that only TO has ends the walk with an error.
func (p *pair) walk(ctx context.Context, t *table, do func(context.Context, *table, *piece) error) error {
	from, to := t.keysOf(p.from), t.keysOf(p.to)
	next := &piece{}
	for {
		a, err := from.peek(ctx)
		if err != nil {
			return p.in(p.job.from, err)
		}
		b, err := to.peek(ctx)
		if err != nil {
			return p.in(p.job.to, err)
		}
		c := 0
		if a != nil && b != nil {
			c = t.compare(a.key, b.key)
		}
		switch {
		case b != nil && (a == nil || c > 0):
			if err := p.rejectExtra(ctx, t, b.key); err != nil {
				return err
			}
			to.next()
			continue
		case a != nil:
			next.add(*a, b != nil && c == 0)
			from.next()
			if b != nil && c == 0 {
				to.next()
			}
		}
		if len(next.keys) > 0 && (a == nil || next.isFull(p.job.cfg.piece)) {
			if err := do(ctx, t, next); err != nil {
				return err
			}
			next = &piece{}
		}
		if a == nil {
			return nil
		}
	}
}

// sideError records in which store an error occurred.
type sideError struct {
	store string
	err   error
}

func (e *sideError) Error() string { return e.store + ": " + e.err.Error() }

func (e *sideError) Unwrap() error { return e.err }

func (p *pair) in(side *side, err error) error { return &sideError{side.name(p.name), err} }

// rejectExtra returns an error for a row that only TO has, unless stale rows are accepted.
func (p *pair) rejectExtra(ctx context.Context, t *table, key row) error {
	if p.stale != nil {
		return p.stale(key)
	}
	rows, err := t.between(ctx, p.to, key, key)
	if err != nil {
		return p.in(p.job.to, err)
	}
	if len(rows) == 0 {
		return p.in(p.job.to, &journal.CorruptError{Reason: fmt.Sprintf("a row of table %s has no head", t.name)})
	}
	return differsError(t.label(rows[0]), p.name, "only TO has it")
}

// plan compares the rows that both stores have, and counts.
func (p *pair) plan(ctx context.Context, t *table, x *piece) error {
	p.job.stored += x.bytes
	if x.present == 0 && p.left.isEmpty() {
		p.job.countPlanned(t, x.missing, 0, x.bytes)
		return nil
	}
	rows, err := p.read(ctx, t, x)
	if err != nil {
		return err
	}
	missing, size := 0, int64(0)
	for i, k := range x.keys {
		if !x.isThere[i] && rows.from[i] != nil {
			missing++
			size += k.size
		}
	}
	p.job.countPlanned(t, missing, x.present, size)
	return nil
}

// rowPairs holds the rows of a piece, by its keys; nil means missing, or left out.
type rowPairs struct{ from, to []row }

// read returns the rows of a piece from both stores, and checks that rows that both have are equal.
func (p *pair) read(ctx context.Context, t *table, x *piece) (rowPairs, error) {
	var out rowPairs
	var err error
	if out.from, err = p.rowsOf(ctx, t, p.job.from, p.from, x); err != nil {
		return out, err
	}
	if x.present == 0 {
		return out, nil
	}
	if out.to, err = p.rowsOf(ctx, t, p.job.to, p.to, x); err != nil {
		return out, err
	}
	for i := range x.keys {
		a, b := out.from[i], out.to[i]
		switch {
		case !x.isThere[i]:
		case a == nil:
			return out, differsError(t.label(b), p.name, "it goes on in FROM, and TO has a copy")
		case b == nil:
			return out, differsError(t.label(a), p.name, "TO does not have it any more")
		default:
			if err := p.checkEqual(t, a, b); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// rowsOf returns the rows of a piece from one store, verified.
func (p *pair) rowsOf(ctx context.Context, t *table, side *side, from source, x *piece) ([]row, error) {
	rows, err := t.between(ctx, from, x.first, x.last)
	if err != nil {
		return nil, p.in(side, err)
	}
	out := make([]row, len(x.keys))
	for i, k := range x.keys {
		r := t.find(rows, k.key)
		if r == nil || side == p.job.from && p.left.has(t, r) {
			continue
		}
		if t.check != nil {
			if err := t.check(r); err != nil {
				return nil, p.in(side, &journal.CorruptError{Reason: t.label(r) + ": " + err.Error()})
			}
		}
		out[i] = r
	}
	return out, nil
}

// checkEqual checks that a row is the same in both stores.
func (p *pair) checkEqual(t *table, a, b row) error {
	different := t.differences(a, b)
	if len(different) == 0 {
		return nil
	}
	if t == runs && a[runLast] != b[runLast] {
		return differsError(t.label(a), p.name, fmt.Sprintf("%d events in FROM, %d in TO", a[runLast], b[runLast]))
	}
	return differsError(t.label(a), p.name, "different values in "+strings.Join(different, ", "))
}

// copy adds the rows that TO lacks.
func (p *pair) copy(ctx context.Context, t *table, x *piece) error {
	if x.missing == 0 && t != runs && t.check == nil { // already compared by plan
		return nil
	}
	found, err := p.rowsOf(ctx, t, p.job.from, p.from, x)
	if err != nil {
		return err
	}
	var missing, present []row
	size := int64(0)
	for i, r := range found {
		switch {
		case r == nil:
		case x.isThere[i]:
			present = append(present, r)
		default:
			missing = append(missing, r)
			size += x.keys[i].size
		}
	}
	if t == runs { // runs that are not written are verified too
		n, err := p.verifyRecords(ctx, p.job.from, p.from, present)
		if err != nil {
			return err
		}
		p.job.res.Records.Present += n
	}
	if len(missing) == 0 {
		return nil
	}
	records, written := 0, size
	err = p.job.write(ctx, p.to.db, p.name, size, func(tx tables.Tx) (err error) {
		if t == runs {
			records, written, err = p.addRuns(ctx, tx, missing)
			return err
		}
		return tx.Insert(t.into(), each(missing, func(r row) []any { return t.arguments(r) }))
	})
	if err != nil {
		return err
	}
	p.job.countWritten(t, len(missing), records, written)
	p.job.progress(Copying, p.name, t, size)
	return nil
}

// verify checks that TO contains everything in FROM, with the expected checksums.
func (p *pair) verify(ctx context.Context, t *table, x *piece) error {
	rows, err := p.read(ctx, t, x)
	if err != nil {
		return err
	}
	there := make([]row, 0, len(x.keys))
	for i, r := range rows.from {
		switch {
		case r == nil:
		case !x.isThere[i]:
			return differsError(t.label(r), p.name, "only FROM has it")
		default:
			there = append(there, rows.to[i])
		}
	}
	if t == runs {
		n, err := p.verifyRecords(ctx, p.job.to, p.to, there)
		if err != nil {
			return err
		}
		p.job.res.Verified.Records += n
	}
	p.job.verified(t, len(there))
	p.job.progress(Verifying, p.name, t, x.bytes)
	return nil
}
