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

// maxShared is how many writes share a transaction. With more than 64 savepoints a transaction
// slows down all others.
const maxShared = 50

// part is the tables of one part of the store, and the queue of their writers in this process.
// Queued callers share a transaction and are answered after its commit: separate commits would be
// limited to a few hundred per second on a disk, and they cannot overlap.
type part struct {
	store *Store
	name  Part

	mu     sync.Mutex
	line   []*write
	isBusy bool // a goroutine is writing
}

// write is one call of Write.
type write struct {
	do    func(tables.Tx) error
	err   error
	panic any // value that do panicked with; nil if it returned
	done  chan struct{}
}

// errPanicked is the error of a write that panicked. The panic continues in its caller.
var errPanicked = errors.New("the write panicked")

// run calls do, and sends its remaining statements. A write that panicked is not repeated.
func (w *write) run(l *partTx) (err error) {
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

// result returns the caller's result, once the write is done.
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

// drain writes until the queue is empty.
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

// take removes from the queue the writes whose turn has come.
func (p *part) take() []*write {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := min(len(p.line), maxShared)
	out := slices.Clone(p.line[:n])
	p.line = slices.Delete(p.line, 0, n)
	return out
}

// settings returns the transaction settings of a part. A process that stops in the middle of a
// transaction is disconnected after 20 s, so that it does not block the others any longer; waiting
// for locks is limited too.
func (p *part) settings(attempt int) string {
	text := "; SET LOCAL idle_in_transaction_session_timeout = '20s'; SET LOCAL lock_timeout = '30s'; LOCK TABLE " +
		string(p.name) + "_turn IN EXCLUSIVE MODE"
	if shared := sharedTables[p.name]; shared != "" && attempt >= attemptsBeforeLock {
		text += "; LOCK TABLE " + shared + " IN SHARE ROW EXCLUSIVE MODE"
	}
	return text
}

// sharedTables are the tables that other programs write too. A program that writes them constantly
// would conflict forever, so they are locked after some attempts.
var sharedTables = map[Part]string{
	Catalog: "agents, agent_workflows, agent_workflow_nodes, agent_workflow_edges, workflow_documents",
}

// attemptsBeforeLock is how many attempts are made without locking sharedTables.
const attemptsBeforeLock = 3

// share runs the queued writes in one transaction, and answers them.
func (p *part) share(ctx context.Context) {
	var all []*write
	isTaken := false
	err := p.turn(ctx, func(ctx context.Context, tx pgx.Tx) error {
		if !isTaken {
			all, isTaken = p.take(), true
		}
		if len(all) == 1 {
			return all[0].run(&partTx{ctx: ctx, tx: tx})
		}
		return runShared(ctx, tx, all)
	})
	if !isTaken { // no transaction could be started
		all = p.take()
	}
	if isTaken && len(all) > 1 && classify(err) == classRejected {
		// The commit was rejected because of one of the writes, for example by a deferred
		// constraint: run each by itself.
		for _, w := range all {
			w.err = p.turn(ctx, func(ctx context.Context, tx pgx.Tx) error { return w.run(&partTx{ctx: ctx, tx: tx}) })
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

// turnTimeout limits a transaction of a part. A server that hangs is treated as a lost one.
const turnTimeout = 2 * time.Minute

// turn runs do in a transaction that holds the part's lock. It retries if another program
// interfered, or if the connection was lost before do started.
func (p *part) turn(ctx context.Context, do func(ctx context.Context, tx pgx.Tx) error) error {
	attempt := -1
	return p.store.retryConflicts(ctx, func() error {
		attempt++
		ctx, cancel := context.WithTimeout(ctx, p.store.turnTime)
		defer cancel()
		var done error // error of the transaction that started
		err := p.store.retryStaleConns(func() error {
			hasBegun := false
			err := p.store.beginPartTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead}, p.settings(attempt),
				func(tx pgx.Tx) error {
					hasBegun = true
					return do(ctx, tx)
				})
			if err != nil && ctx.Err() != nil { // the turn's context, not a caller's
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

// runShared runs writes one after another. A write that fails is undone alone; errors that end the
// transaction are returned.
func runShared(ctx context.Context, tx pgx.Tx, all []*write) error {
	next := []string{sqlSavepoint}
	for _, w := range all {
		l := &partTx{ctx: ctx, tx: tx}
		for _, q := range next {
			l.queued.Queue(q)
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
		if !l.isSent { // so the savepoint was not sent either
			continue
		}
		if _, err := tx.Exec(ctx, sqlRollbackTo, pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		next = nil // the savepoint still exists
	}
	return nil
}

// Statements around the writes of a shared transaction.
const (
	sqlSavepoint        = `SAVEPOINT one`
	sqlReleaseSavepoint = `RELEASE SAVEPOINT one`
	sqlRollbackTo       = `ROLLBACK TO SAVEPOINT one`
)
