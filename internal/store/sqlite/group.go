package sqlite

import (
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// group holds the appends of the current transaction whose statements have not run yet. Each
// continues a run that the writer remembers, with one record and nothing else, so that two
// statements can store many of them.
type group struct {
	rows  []groupRow
	seals []byte
	args  []any
}

// groupRow is one append of a group. Its values are boxed: most of them are bound twice.
type groupRow struct {
	t                      *target
	last, seal, data, time any
}

// maxGroup is the maximum number of appends that one statement stores.
const maxGroup = 32

// groupTexts are the statements for groups, the largest first.
var groupTexts = [...]struct {
	rows          int
	records, head sqlText
}{
	{maxGroup, sqlNewRecords32, sqlMoveHeads32},
	{16, sqlNewRecords16, sqlMoveHeads16},
	{8, sqlNewRecords8, sqlMoveHeads8},
	{4, sqlNewRecords4, sqlMoveHeads4},
	{2, sqlNewRecords2, sqlMoveHeads2},
	{1, sqlNewRecord, sqlMoveHead},
}

// errChanged is returned when a run is not what the writer remembers, because another process
// changed it. When repeated without memory, each operation gets the right answer.
var errChanged = errors.New("another process changed the run")

// join adds an append to the group. It returns false if the append needs its own statements.
func (w *writer) join(p *pendingAppend) bool {
	if p == nil || p.Create != nil || p.Release || p.Index != nil || len(p.More)+len(p.Blobs)+len(p.Notices) > 0 {
		return false
	}
	t := w.memory[p.Run]
	if t == nil || t.isGrouped || p.Status != t.status || p.Waiting != t.waiting || t.status.Ended() ||
		t.refuses(p) != nil {
		return false
	}
	g := &w.group
	if g.seals == nil {
		g.seals = make([]byte, 0, maxGroup*sealBytes)
	}
	t.sum = t.sum.Next(p.Record, p.digest)
	t.last, t.isGrouped = p.Record.Last, true
	begin := len(g.seals)
	g.seals = appendSeal(g.seals, p.Record.Version, t.sum)
	g.rows = append(g.rows, groupRow{t: t, last: int64(t.last), seal: g.seals[begin:], data: p.Record.Data,
		time: tables.Micros(p.At)})
	return true
}

// refuses returns the reason why p cannot continue a run that has not ended, or nil if it can.
func (t *target) refuses(p *pendingAppend) error {
	switch {
	case t.owner != p.owner || p.owner == 0 || t.epoch != p.Epoch:
		return refusal{journal.ErrFenced}
	case t.last+1 != p.Record.First:
		return refusal{journal.ErrConflict}
	}
	return nil
}

// doGroup runs the statements of the group. After an error the transaction must be rolled back.
func (w *writer) doGroup() error {
	rows := w.group.rows
	for len(rows) > 0 {
		for _, text := range groupTexts {
			if len(rows) < text.rows {
				continue
			}
			if err := w.group.do(w.conn, rows[:text.rows], text.records, text.head); err != nil {
				return err
			}
			rows = rows[text.rows:]
			break
		}
	}
	w.group.reset()
	return nil
}

// do stores the records of rows and updates the heads of their runs.
func (g *group) do(c *conn, rows []groupRow, records, heads sqlText) error {
	args := g.args[:0]
	for i := range rows {
		r := &rows[i]
		args = append(args, r.t.id, r.t.record, r.last, r.seal, r.data)
	}
	res, err := c.exec(records, args...)
	if err != nil {
		return err
	}
	newest, err := res.LastInsertId()
	if err != nil {
		return err
	}
	args = args[:0]
	for i := range rows {
		r := &rows[i]
		former := r.t.record
		r.t.record = newest - int64(len(rows)-1-i) // each record is appended to the end of the table
		args = append(args, r.last, r.seal, r.t.record, r.time, r.t.id, r.t.epoch, former)
	}
	g.args = args
	n, err := c.change(heads, args...)
	if err == nil && n != int64(len(rows)) {
		err = fmt.Errorf("%w: %d of %d heads moved", errChanged, n, len(rows))
	}
	return err
}

// reset empties the group.
func (g *group) reset() {
	for i := range g.rows {
		g.rows[i].t.isGrouped = false
	}
	clear(g.rows)
	clear(g.args[:cap(g.args)])
	*g = group{rows: g.rows[:0], seals: g.seals[:0], args: g.args[:0]}
}
