package postgres

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store/tables"
)

// SQLSTATEs for rows that another transaction changed between two statements of this one.
const (
	stateNotNull    = "23502"
	stateForeignKey = "23503"
	stateUnique     = "23505"
)

// lostTimeout is how long a batch is retried while the server is unreachable.
const lostTimeout = 5 * time.Second

// errMoved is returned when another transaction changed something between two statements of this
// one.
var errMoved = errors.New("another transaction changed the same rows")

// appendInTx stores a batch in a transaction that first looks up and locks the runs, and answers
// all its appends.
//
// If the connection is lost, the transaction may have been committed. The batch is then repeated,
// and its runs are locked first, which waits for the end of the lost transaction: an append whose
// last record exists is stored, any other is not.
func (w *writer) appendInTx(batch []*pending) {
	began := time.Now()
	for n := 0; ; n++ {
		refused, err := w.transact(batch)
		lost := err != nil && isLost(err)
		switch {
		case err == nil:
			var stored []*pending
			for _, p := range batch {
				if refused[p] == nil {
					stored = append(stored, p)
				}
			}
			w.s.changes.appended(stored)
			for _, p := range batch {
				p.done <- refused[p]
			}
			return
		case lost:
			for _, p := range batch {
				p.isUncertain = true
			}
			if time.Since(began) < lostTimeout && !w.s.db.network.silent() {
				time.Sleep(backoff(n))
				continue
			}
		case isConflict(err), isMoved(err):
			if n < maxRetries {
				time.Sleep(backoff(n))
				continue
			}
		}
		if !lost && len(batch) > 1 { // one of several cannot be stored
			for _, p := range batch {
				w.appendInTx([]*pending{p})
			}
			return
		}
		for _, p := range batch {
			w.forget(p.Run)
			p.done <- explain(err)
		}
		return
	}
}

// isLost reports whether a batch may have been stored although it returned err, because the server
// did not confirm the opposite.
func isLost(err error) bool {
	_, isSaid := errors.AsType[*pgconn.PgError](err)
	return classify(err) == classLost || !isSaid && !errors.Is(err, errMoved)
}

// isMoved reports whether another transaction changed something between two statements of the one
// that failed.
func isMoved(err error) bool {
	if e, ok := errors.AsType[*pgconn.PgError](err); ok {
		return e.Code == stateNotNull || e.Code == stateForeignKey || e.Code == stateUnique
	}
	return errors.Is(err, errMoved)
}

// attempt is one transaction of appendInTx.
type attempt struct {
	w        *writer
	ctx      context.Context //nolint:containedctx,nolintlint // it lives as long as the call
	conn     *pgxpool.Conn
	batch    []*pending
	targets  map[string]*target // by run
	seals    map[string][]byte  // seals of the last records of the uncertain appends
	hashes   map[string]bool    // hashes of the blobs named without data
	open     map[string]string  // runs that have not ended, by session
	refused  map[*pending]error // nil for those already stored
	created  map[string]int64   // new runs
	existing map[string]bool    // existing runs among those to be created
}

// transact stores a batch, and returns the rejected appends. After an error nothing is stored,
// unless the connection was lost.
func (w *writer) transact(batch []*pending) (refused map[*pending]error, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), batchTimeout)
	defer cancel()
	conn, err := w.s.db.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer conn.Release()
	a := &attempt{
		w: w, ctx: ctx, conn: conn, batch: batch,
		targets: map[string]*target{}, seals: map[string][]byte{}, hashes: map[string]bool{}, open: map[string]string{},
		refused: map[*pending]error{}, created: map[string]int64{}, existing: map[string]bool{},
	}
	after, err := a.do()
	if err != nil {
		if !conn.Conn().IsClosed() {
			_, _ = conn.Exec(ctx, string(sqlRollback)) // if it fails, the pool closes the connection
		}
		return nil, err
	}
	for _, p := range batch {
		if t := after[p]; t != nil && !p.Release && !p.Common {
			w.remember(p.Run, t)
		} else {
			w.forget(p.Run)
		}
	}
	return a.refused, nil
}

func (a *attempt) do() (map[*pending]*target, error) {
	if err := a.lock(); err != nil {
		return nil, err
	}
	a.rejectInvalid()
	if err := a.create(); err != nil {
		return nil, err
	}
	return a.store()
}

// queue adds a statement to b; each is called for every row, after scanning the row into columns.
func (a *attempt) queue(b *pgx.Batch, q sqlText, args, columns []any, each func()) {
	item := b.Queue(a.w.s.text(q), args...)
	if columns == nil {
		return
	}
	item.Query(func(rows pgx.Rows) error {
		_, err := pgx.ForEachRow(rows, columns, func() error {
			each()
			return nil
		})
		return err
	})
}

func (a *attempt) send(b *pgx.Batch) error { return a.conn.SendBatch(a.ctx, b).Close() }

// lock locks the runs, and looks up what the appends depend on.
func (a *attempt) lock() error {
	var runs, names, uncertain [][]byte
	var lasts []int64
	for _, p := range a.batch {
		runs = append(runs, bytesOf(p.Run))
		for i := range p.Blobs {
			if p.Blobs[i].Data == nil {
				names = append(names, p.hashes[i])
			}
		}
		if p.isUncertain && len(p.seals) > 0 {
			uncertain, lasts = append(uncertain, bytesOf(p.Run)), append(lasts, key(p.Last()))
		}
	}
	b := &pgx.Batch{}
	b.Queue(string(sqlBegin))
	b.Queue(string(sqlInTime), a.w.s.stepLimit())
	var run, seal []byte
	var t target
	var last int64
	a.queue(b, sqlTargets, []any{runs}, []any{&run, &t.id, &t.epoch, &t.owner, &last, &seal, &t.status, &t.waiting,
		&t.ended, &t.session, &t.kind}, func() {
		found := t
		found.last = uint64(last)
		_, found.sum = unseal(seal)
		a.targets[string(run)] = &found
	})
	if len(uncertain) > 0 {
		a.queue(b, sqlStored, []any{uncertain, lasts}, []any{&run, &seal}, func() { a.seals[string(run)] = seal })
	}
	if len(names) > 0 {
		var hash []byte
		a.queue(b, sqlHashes, []any{names}, []any{&hash}, func() { a.hashes[string(hash)] = true })
	}
	return a.send(b)
}

// rejectInvalid rejects the appends that cannot be stored, as far as is known by now.
func (a *attempt) rejectInvalid() {
	for _, p := range a.batch {
		t := a.targets[p.Run]
		if seal := a.seals[p.Run]; p.isUncertain && len(p.seals) > 0 && string(seal) == string(p.lastSeal()) {
			a.refused[p] = nil
			continue
		}
		var err error
		switch {
		case p.Create != nil && t != nil:
			err = journal.ErrExists
		case p.Create == nil && t == nil:
			err = journal.ErrNotFound
		case t != nil:
			err = t.reject(p)
		}
		if err != nil {
			a.refused[p] = err
		}
	}
}

// missing returns an error for a blob that p names without data and that is not stored, or nil if
// all are stored.
func (a *attempt) missing(p *pending) error {
	for i := range p.Blobs {
		if p.Blobs[i].Data == nil && !a.hashes[string(p.hashes[i])] {
			return fmt.Errorf("blob %s: %w", p.Blobs[i].Hash, journal.ErrNotFound)
		}
	}
	return nil
}

// isAnswered reports whether p has been answered already.
func (a *attempt) isAnswered(p *pending) bool {
	_, ok := a.refused[p]
	return ok
}

// create stores new runs, and rejects appends that would open a session that another run has open,
// or that name a missing blob.
func (a *attempt) create() error {
	var c newRuns
	var runs, sessions [][]byte
	for _, p := range a.batch {
		if a.isAnswered(p) {
			continue
		}
		if s := a.opens(p); s != "" {
			sessions = append(sessions, []byte(s))
		}
		if p.Create != nil {
			runs = append(runs, bytesOf(p.Run))
			if a.missing(p) == nil {
				c.add(p)
			}
		}
	}
	if len(sessions) > 0 || len(runs) > 0 {
		b := &pgx.Batch{}
		var id int64
		var run, session []byte
		if len(c.runs) > 0 {
			a.queue(b, sqlNewRuns, c.columns(), []any{&id, &run}, func() { a.created[string(run)] = id })
		}
		a.queue(b, sqlOpenRuns, []any{sessions}, []any{&session, &run}, func() {
			a.open[string(session)] = string(run)
		})
		a.queue(b, sqlThere, []any{runs}, []any{&run}, func() { a.existing[string(run)] = true })
		if err := a.send(b); err != nil {
			return err
		}
	}
	for _, p := range a.batch {
		if a.isAnswered(p) || a.created[p.Run] != 0 {
			continue
		}
		session := a.opens(p)
		other, isBusy := a.open[session]
		switch {
		case p.Create != nil && a.existing[p.Run] && p.isUncertain:
			// the existing run may be p's own, created by the lost transaction
			return errMoved
		case p.Create != nil && a.existing[p.Run]:
			a.refused[p] = journal.ErrExists
		case isBusy && other != p.Run:
			a.refused[p] = &journal.BusyError{Session: session, Run: other}
		case a.missing(p) != nil:
			a.refused[p] = a.missing(p)
		case p.Create != nil: // the obstacle is gone
			return errMoved
		}
	}
	return nil
}

// opens returns the session that p opens; "" if none.
func (a *attempt) opens(p *pending) string {
	switch t := a.targets[p.Run]; {
	case p.Status.Ended():
		return ""
	case p.Create != nil:
		return p.Create.Session
	case journal.Status(t.status).Ended():
		return string(t.session)
	}
	return ""
}

// newRuns holds the columns of new runs.
type newRuns struct {
	runs, workflows, names, formats, parents, kinds, definitions, metas, sessions, places [][]byte
	branches, causes, labels, previews, codes, messages                                   [][]byte
	created, waiting, ended, tokens, calls, costs                                         []int64
	statuses                                                                              []string
}

func (c *newRuns) add(p *pending) {
	n := p.Create
	c.runs, c.created, c.statuses = append(c.runs, bytesOf(p.Run)), append(c.created, tables.Micros(n.Created)),
		append(c.statuses, string(p.Status))
	c.waiting, c.ended = append(c.waiting, int64(p.Waiting)), append(c.ended, p.ended(0))
	c.workflows, c.names, c.formats = append(c.workflows, bytesOf(n.Workflow)),
		append(c.names, bytesOf(n.WorkflowName)), append(c.formats, bytesOf(n.Format))
	c.parents, c.kinds, c.sessions = append(c.parents, bytesOf(n.Parent)), append(c.kinds, bytesOf(n.Kind)),
		append(c.sessions, bytesOf(n.Session))
	c.places = append(c.places, bytesOf(n.Place))
	c.definitions, c.metas = append(c.definitions, p.definition), append(c.metas, p.meta)
	c.branches, c.causes, c.labels, c.previews = append(c.branches, bytesOf(n.Branch)),
		append(c.causes, bytesOf(n.Trigger)), append(c.labels, p.labels), append(c.previews, bytesOf(n.Preview))
	o := p.outcome()
	c.tokens, c.calls, c.costs = append(c.tokens, o.Tokens), append(c.calls, o.Calls), append(c.costs, int64(o.Cost))
	c.codes, c.messages = append(c.codes, bytesOf(o.Code)), append(c.messages, bytesOf(o.Message))
}

func (c *newRuns) columns() []any {
	return []any{
		c.runs, c.created, c.statuses, c.waiting, c.ended, c.workflows, c.names, c.formats, c.parents, c.kinds,
		c.definitions, c.metas, c.sessions, c.places,
		c.branches, c.causes, c.labels, c.previews, c.tokens, c.calls, c.costs, c.codes, c.messages,
	}
}

// store stores the appends that were not rejected, and commits. It returns the resulting states of
// the runs.
func (a *attempt) store() (map[*pending]*target, error) {
	var made, moved rows
	after := map[*pending]*target{}
	var blobs, contents, held [][]byte
	var holders []int64
	for _, p := range a.batch {
		if a.isAnswered(p) {
			continue
		}
		r, t := &moved, a.targets[p.Run]
		if p.Create != nil {
			r = &made
			t = &target{
				id: a.created[p.Run], epoch: 1, owner: p.owner, sum: journal.Genesis(p.Run),
				status: string(p.Status), waiting: p.Waiting, ended: p.ended(0), session: bytesOf(p.Create.Session),
			}
		}
		after[p] = r.add(p, t)
		for i := range p.Blobs {
			holders, held = append(holders, t.id), append(held, p.hashes[i])
			if p.Blobs[i].Data != nil {
				blobs, contents = append(blobs, p.hashes[i]), append(contents, p.Blobs[i].Data)
			}
		}
	}
	if len(after) == 0 {
		_, err := a.conn.Exec(a.ctx, string(sqlRollback))
		return after, err
	}
	b := &pgx.Batch{}
	put := func(n int, q sqlText, args []any) {
		if n > 0 {
			b.Queue(a.w.s.text(q), args...)
		}
	}
	put(len(made.runs), sqlNewHeads, made.headColumns())
	put(len(moved.runs), sqlMoveHead, moved.headColumns())
	put(len(blobs), sqlNewBlobs, []any{blobs, contents})
	put(len(held), sqlHolds, []any{holders, held})
	for _, r := range []*rows{&made, &moved} {
		put(len(r.runs), sqlRecords, r.recordColumns())
		put(len(r.statuses), sqlStatus, r.statusColumns())
		put(len(r.textRuns), sqlTexts, r.textColumns())
		put(len(r.labels[0]), sqlLabels, r.labelColumns())
	}
	for _, r := range []*rows{&made, &moved} {
		put(len(r.types), sqlNoticed, r.noticeColumns())
	}
	b.Queue(string(sqlCommit))
	return after, a.send(b)
}
