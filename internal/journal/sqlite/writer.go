package sqlite

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	maxBatch      = 1000     // operations in one transaction
	maxBatchBytes = 16 << 20 // of data in one transaction: it bounds the log
	maxWAL        = 48 << 20 // from here on the writer waits for readers until the log begins anew (P10: under 64 MB)
	closeWait     = 10 * time.Second
)

// op is one thing to write. do runs inside a transaction that it shares with others. It returns a refusal before it changed anything, or
// any other error after which the whole transaction is rolled back and the operations are tried one by one.
type op struct {
	do    func(c *conn) error
	bytes int
	alone bool // outside of any transaction: checkpoints
	state atomic.Int32
	done  chan error
}

const (
	opWaiting = iota
	opTaken
	opGivenUp
)

// refusal is an answer, not a fault: the store is as it was, and the others in the batch commit.
type refusal struct{ error }

func (r refusal) Unwrap() error { return r.error }

// writer owns the only connection that writes. It takes whatever waits into one transaction and answers after the commit (group commit).
type writer struct {
	path   string
	conn   *conn
	memory memory

	closing sync.RWMutex // held shared while an operation is put into the queue
	closed  atomic.Bool
	queue   chan *op
	stopped chan struct{}
}

func startWriter(path string, c *conn) *writer {
	w := &writer{
		path:    path,
		conn:    c,
		memory:  memory{},
		queue:   make(chan *op, maxBatch),
		stopped: make(chan struct{}),
	}
	go w.loop()
	return w
}

// write hands do to the writer and waits for its commit. A done ctx takes the operation back as long as its transaction has not begun; after
// that the outcome is waited for, since only it tells whether something was written.
func (w *writer) write(ctx context.Context, bytes int, do func(c *conn) error) error {
	return w.submit(ctx, &op{do: do, bytes: bytes, done: make(chan error, 1)})
}

// outside is write for what cannot run inside a transaction.
func (w *writer) outside(ctx context.Context, do func(c *conn) error) error {
	return w.submit(ctx, &op{do: do, alone: true, done: make(chan error, 1)})
}

func (w *writer) submit(ctx context.Context, o *op) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	w.closing.RLock()
	if w.closed.Load() {
		w.closing.RUnlock()
		return journal.ErrClosed
	}
	select {
	case w.queue <- o:
		w.closing.RUnlock()
	case <-ctx.Done():
		w.closing.RUnlock()
		return ctx.Err()
	}
	select {
	case err := <-o.done:
		return err
	case <-ctx.Done():
	}
	if o.state.CompareAndSwap(opWaiting, opGivenUp) {
		return ctx.Err()
	}
	return <-o.done
}

// close answers what is queued and closes the connection.
func (w *writer) close() error {
	w.closing.Lock()
	first := !w.closed.Swap(true)
	w.closing.Unlock()
	if !first {
		<-w.stopped
		return nil
	}
	close(w.queue)
	<-w.stopped
	return w.conn.close()
}

func (w *writer) loop() {
	defer close(w.stopped)
	var batch []*op
	for first := range w.queue {
		if first.alone {
			if first.state.CompareAndSwap(opWaiting, opTaken) {
				first.done <- first.do(w.conn)
			}
			continue
		}
		batch = w.batch(batch[:0], first)
		w.limitLog()
	}
}

// batch commits first and whatever waits behind it, and answers all of them. It gives the slice back for the next time.
func (w *writer) batch(batch []*op, first *op) []*op {
	if err := w.begin(first); err != nil {
		w.answer(first, err)
		return batch
	}
	var (
		next  = first
		errs  []error
		size  int
		alone *op
		fault bool
	)
	for next != nil {
		if next.alone {
			alone = next
			break
		}
		if next.state.CompareAndSwap(opWaiting, opTaken) {
			err := next.do(w.conn)
			batch, errs = append(batch, next), append(errs, err)
			size += next.bytes
			if _, refused := errors.AsType[refusal](err); err != nil && !refused {
				fault = true
				break
			}
		}
		if len(batch) == maxBatch || size >= maxBatchBytes {
			break
		}
		select {
		case next = <-w.queue: // nil once it is closed and empty
		default:
			next = nil
		}
	}
	switch {
	case fault:
		// One operation of several cannot be done. Which of the others were right is not known any more, so each is done by itself.
		w.rollback()
		for _, o := range batch {
			o.done <- w.single(o)
		}
	default:
		err := w.commit()
		for i, o := range batch {
			if err != nil {
				errs[i] = err
			}
			o.done <- unwrapRefusal(errs[i])
		}
	}
	if alone != nil && alone.state.CompareAndSwap(opWaiting, opTaken) {
		alone.done <- alone.do(w.conn)
	}
	clear(batch)
	return batch
}

// single does o in a transaction of its own.
func (w *writer) single(o *op) error {
	if err := w.begin(nil); err != nil {
		return err
	}
	if err := o.do(w.conn); err != nil {
		w.rollback()
		return unwrapRefusal(explain(err))
	}
	return w.commit()
}

func (w *writer) answer(o *op, err error) {
	if o.state.CompareAndSwap(opWaiting, opTaken) {
		o.done <- err
	}
}

func unwrapRefusal(err error) error {
	if r, ok := errors.AsType[refusal](err); ok {
		return r.error
	}
	return err
}

// begin takes the write lock. Another process may have it: then it is asked for again until it is free, for as long as somebody waits for
// the operation (P10: no SQLITE_BUSY reaches a caller).
func (w *writer) begin(first *op) error {
	var deadline time.Time
	for {
		_, err := w.conn.exec(sqlImmediate)
		if err == nil || !isBusy(err) {
			return explain(err)
		}
		if first != nil && first.state.Load() == opGivenUp {
			return err // nobody hears it
		}
		if w.closed.Load() {
			switch now := time.Now(); {
			case deadline.IsZero():
				deadline = now.Add(closeWait)
			case now.After(deadline):
				return fmt.Errorf("write while another process locks the store: %w", journal.ErrClosed)
			}
		}
		time.Sleep(time.Duration(rand.Int64N(int64(2 * time.Millisecond))))
	}
}

func (w *writer) commit() error {
	for {
		_, err := w.conn.exec(sqlCommit)
		switch {
		case err == nil:
			return nil
		case !isBusy(err):
			w.rollback()
			return fmt.Errorf("commit: %w", explain(err))
		}
	}
}

// rollback ends the transaction, if there still is one, and forgets what was learned in it.
func (w *writer) rollback() {
	clear(w.memory)
	_, _ = w.conn.exec(sqlRollback) // fails where SQLite rolled back by itself
}

// limitLog keeps the log under its bound where readers that overlap never let it begin anew: while the writer waits here, new readers need
// nothing of the log, and the old ones end.
func (w *writer) limitLog() {
	if st, err := os.Stat(w.path + "-wal"); err == nil && st.Size() > maxWAL {
		_, _ = w.conn.exec(sqlRestartWAL) // asked again after the next batch
	}
}
