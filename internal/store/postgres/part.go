package postgres

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/hocket-run/hocket/internal/store/tables"
)

// maxShared is how many writes share a transaction. Beyond 64 savepoints a transaction costs all others time.
const maxShared = 50

// part is the tables of a part, and the queue of those in this process who write them. Callers that wait share a transaction and are answered after its commit: one commit at a time would be
// a few hundred a second on a disk, and they cannot overlap.
type part struct {
	store *Store
	name  Part

	mu     sync.Mutex
	line   []*write
	isBusy bool // a goroutine writes
}

// write is one call of Write.
type write struct {
	do    func(tables.Tx) error
	err   error
	panic any // what do panicked with; nil: it returned
	done  chan struct{}
}

// errPanicked is the error of a write that panicked. Its caller gets the panic.
var errPanicked = errors.New("the write panicked")

// run calls do, and sends what it has left. One that panicked is not done again.
func (w *write) run(l *lent) (err error) {
	if w.panic != nil {
		return errPanicked
	}
	defer func() {
		if w.panic = recover(); w.panic != nil {
			err = errPanicked
		}
	}()
	if err := w.do(l); err != nil {
		return err
	}
	return l.flush()
}

// result gives what the caller gets, once the write is done.
func (w *write) result() error {
	if w.panic != nil {
		panic(w.panic)
	}
	return w.err
}

// Write implements tables.DB.
func (p *part) Write(ctx context.Context, _ int, do func(tx tables.Tx) error) error {
	if err := p.store.enter(ctx); err != nil {
		return err
	}
	defer p.store.leave()
	w := &write{do: do, done: make(chan struct{})}
	p.mu.Lock()
	p.line = append(p.line, w)
	leads := !p.isBusy
	p.isBusy = true
	p.mu.Unlock()
	if leads {
		go p.drain(context.WithoutCancel(ctx))
	}
	select {
	case <-w.done:
		return w.result()
	case <-ctx.Done():
	}
	p.mu.Lock()
	at := slices.Index(p.line, w)
	if at >= 0 {
		p.line = slices.Delete(p.line, at, at+1)
	}
	p.mu.Unlock()
	if at >= 0 {
		return ctx.Err()
	}
	<-w.done
	return w.result()
}

// drain writes until the line is empty.
func (p *part) drain(ctx context.Context) {
	for {
		p.share(ctx)
		p.mu.Lock()
		if len(p.line) == 0 {
			p.isBusy = false
			p.mu.Unlock()
			return
		}
		p.mu.Unlock()
	}
}

// take takes writes out of the line: their turn has come.
func (p *part) take() []*write {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(p.line), maxShared)
	out := slices.Clone(p.line[:n])
	p.line = slices.Delete(p.line, 0, n)
	return out
}

// settings of transactions of a part. A process that stops in the middle of one is disconnected, so that it holds up the others no longer than that, and they do not wait for ever.
func (p *part) settings(attempt int) string {
	text := "; SET LOCAL idle_in_transaction_session_timeout = '20s'; SET LOCAL lock_timeout = '30s'; LOCK TABLE " + string(p.name) + "_turn IN EXCLUSIVE MODE"
	if shared := sharedTables[p.name]; shared != "" && attempt >= patient {
		text += "; LOCK TABLE " + shared + " IN SHARE ROW EXCLUSIVE MODE"
	}
	return text
}

// sharedTables are those that other programs write. One that writes them all the time would be in the way for ever: after some attempts they are locked.
var sharedTables = map[Part]string{Catalog: "agents, agent_workflows, agent_workflow_nodes, agent_workflow_edges, workflow_documents"}

// patient is how many attempts are made without that.
const patient = 3

// share does the writes that wait in one transaction, and answers them.
func (p *part) share(ctx context.Context) {
	var all []*write
	isTaken := false
	err := p.turn(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if !isTaken {
			all, isTaken = p.take(), true
		}
		if len(all) == 1 {
			return all[0].run(&lent{ctx: ctx, tx: tx})
		}
		return together(ctx, tx, all)
	})
	if !isTaken { // no transaction could begin
		all = p.take()
	}
	if isTaken && len(all) > 1 && classify(err) == classRejected {
		// The commit was refused because of one of them, as by a constraint that is checked there: each is done by itself.
		for _, w := range all {
			w.err = p.turn(ctx, func(ctx context.Context, tx pgx.Tx) error { return w.run(&lent{ctx: ctx, tx: tx}) })
			close(w.done)
		}
		return
	}
	for _, w := range all {
		if err != nil {
			w.err = err
		}
		close(w.done)
	}
}

// turnTime bounds a transaction of a part. A server that hangs looks like one that was lost.
const turnTime = 2 * time.Minute

// turn runs do inside a transaction that has the part's lock, again where another program was in the way, and where the connection was lost before it began.
func (p *part) turn(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	attempt := -1
	return p.store.again(ctx, func() error {
		attempt++
		ctx, cancel := context.WithTimeout(ctx, p.store.turnTime)
		defer cancel()
		var done error // of the transaction that began
		err := p.store.fresh(func() error {
			hasBegun := false
			err := p.store.lend(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, p.settings(attempt), func(tx pgx.Tx) error {
				hasBegun = true
				return do(ctx, tx)
			})
			if err != nil && ctx.Err() != nil { // of the turn, not of a caller
				err = unavailableError{err}
			}
			if hasBegun {
				done, err = err, nil
			}
			return err
		})
		return cmp.Or(err, done)
	})
}

// together does writes one after another. One that fails is undone alone, but for errors that end the transaction: those are returned.
func together(ctx context.Context, tx pgx.Tx, all []*write) error {
	next := []string{sqlSavepoint}
	for _, w := range all {
		l := &lent{ctx: ctx, tx: tx}
		for _, q := range next {
			l.first.Queue(q)
		}
		w.err = w.run(l)
		if w.err == nil {
			next = []string{sqlReleaseSavepoint, sqlSavepoint}
			continue
		}
		if c := classify(w.err); c == classConflict || c == classLost {
			return w.err
		}
		w.err = explain(w.err)
		if !l.isSent { // neither was the savepoint
			continue
		}
		if _, err := tx.Exec(ctx, sqlRollbackTo, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		next = nil // the savepoint is still there
	}
	return nil
}

// Statements around the writes that share a transaction.
const (
	sqlSavepoint        = `SAVEPOINT one`
	sqlReleaseSavepoint = `RELEASE SAVEPOINT one`
	sqlRollbackTo       = `ROLLBACK TO SAVEPOINT one`
)
