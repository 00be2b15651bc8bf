package sqlite

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const closeWait = 10 * time.Second

// writer owns the only connection that writes. All queued operations share a transaction, and are
// answered after the commit (group commit).
//
// A caller that arrives while nobody is writing does it itself, for all operations queued by then,
// so that a single run needs no goroutine switch. Operations that arrive meanwhile are left to a
// goroutine, which ends when the queue is empty.
type writer struct {
	path  string
	owner string // describes this process
	wait  *lockWait
	alone *sync.Mutex // as in readers: it would lock out a first connection

	// Fields of the writing goroutine.
	conn            *conn // nil until something is written
	mark            *mark // likewise
	memory          memory
	batch           []*op // done in the current transaction, or in group
	group           group
	texts           []text // of the current transaction, for the full-text index
	pending         []*op  // taken from the queue, in order; those before at have been handled
	at              int
	commitDuration  time.Duration // approximate duration of a commit
	bytesSinceCheck int           // approximate bytes since the last check of the log
	folder          folder
	turn            turn
	deadline        time.Time // when to stop waiting for other processes; set by the first wait after close

	mu     sync.Mutex
	idle   sync.Cond // isBusy became false
	isBusy bool      // a goroutine is writing
	queue  []*op
	closed atomic.Bool // set with mu held
}

func newWriter(path string, wait *lockWait, alone *sync.Mutex) *writer {
	w := &writer{path: path, wait: wait, alone: alone, memory: memory{},
		turn: turn{path: path + ownersSuffix + "/turn"}, bytesSinceCheck: checkWAL}
	w.idle.L = &w.mu
	return w
}

// prepare opens the connection if it is not open yet, and waits for other processes that interfere.
func (w *writer) prepare(ctx context.Context) error {
	for {
		err := w.connect(ctx)
		if !isBusy(err) || ctx.Err() != nil {
			return err
		}
		if late := w.wait.busy(); late != nil {
			return late
		}
		pause()
	}
}

// connect opens the connection if it is not open yet. It tries only once.
func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn == nil {
		w.alone.Lock()
		defer w.alone.Unlock()
		w.conn, err = openWriter(ctx, w.path)
	}
	return err
}

// write runs do in a transaction and returns after its commit. If ctx is done, the operation is
// withdrawn as long as its turn has not come; after that write waits for the outcome, because only
// the outcome shows whether anything was written.
func (w *writer) write(ctx context.Context, bytes int, do func(c *conn) error) error {
	return w.submit(ctx, newOp(bytes, do))
}

// runOutsideTx is like write, for operations that cannot run inside a transaction.
func (w *writer) runOutsideTx(ctx context.Context, do func(c *conn) error) error {
	o := newOp(0, do)
	o.outsideTx = true
	return w.submit(ctx, o)
}

func (w *writer) submit(ctx context.Context, o *op) error {
	err, _ := w.do(ctx, o)
	return err
}

// do has o run. isOver reports whether nothing refers to o any more.
func (w *writer) do(ctx context.Context, o *op) (err error, isOver bool) {
	if err := ctx.Err(); err != nil {
		return err, true
	}
	w.mu.Lock()
	if w.closed.Load() {
		w.mu.Unlock()
		return journal.ErrClosed, true
	}
	w.queue = append(w.queue, o)
	leads := !w.isBusy
	w.isBusy = true
	w.mu.Unlock()
	if leads {
		w.runBatch(ctx, false)
		if !w.release() {
			go w.drain()
		}
	}
	select {
	case <-o.done:
	case <-ctx.Done():
		if o.state.CompareAndSwap(opWaiting, opGivenUp) {
			return ctx.Err(), false
		}
		<-o.done
	}
	if o.panic != nil {
		panic(o.panic)
	}
	return o.err, true
}

// drain writes until the queue is empty.
//
//nolint:contextcheck,nolintlint // see always
func (w *writer) drain() {
	runtime.Gosched()
	for {
		w.runBatch(background, true)
		if w.release() {
			return
		}
	}
}

// pop removes the operation that peek returned from the queue. Once it is answered, its memory
// may be reused for another operation.
func (w *writer) pop(o *op) bool {
	if !o.claim() {
		return false
	}
	w.pending[w.at] = nil
	w.at++
	return true
}

// release lets the next writer start, unless an operation is queued.
func (w *writer) release() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at < len(w.pending) || len(w.queue) > 0 {
		return false
	}
	w.isBusy = false
	w.idle.Broadcast()
	return true
}

// close answers queued operations and closes the connection.
func (w *writer) close() error {
	w.mu.Lock()
	isFirst := !w.closed.Swap(true)
	for w.isBusy {
		w.idle.Wait()
	}
	w.mu.Unlock()
	if !isFirst || w.conn == nil {
		return nil
	}
	if w.mark != nil {
		w.mark.close()
	}
	return errors.Join(w.folder.close(), w.conn.close())
}

// peek returns the next operation that its caller has not withdrawn, or nil if there is none. The
// caller may still withdraw it.
func (w *writer) peek() *op {
	for {
		for ; w.at < len(w.pending); w.at++ {
			if o := w.pending[w.at]; o.state.Load() == opWaiting {
				return o
			}
		}
		clear(w.pending)
		w.pending, w.at = w.pending[:0], 0
		w.mu.Lock()
		w.pending, w.queue = w.queue, w.pending
		w.mu.Unlock()
		if len(w.pending) == 0 {
			return nil
		}
	}
}

// errNoWaiter is returned when no caller waits for the lock any more.
var errNoWaiter = errors.New("no caller waits")

// begin acquires the write lock. If another process holds it, begin retries until it is free (P10:
// no SQLITE_BUSY reaches a caller), until isOver returns true (errNoWaiter), until it has waited
// too long (*journal.LockedError), or until some time after the store was closed.
func (w *writer) begin(isOver func() bool) error {
	defer w.turn.stopWaiting()
	for {
		err := w.lock()
		if err == nil || !isBusy(err) {
			return explain(err)
		}
		w.turn.wait()
		if isOver() {
			return errNoWaiter
		}
		if w.closed.Load() {
			if w.deadline.IsZero() {
				w.deadline = time.Now().Add(closeWait)
			}
			if time.Now().After(w.deadline) {
				return fmt.Errorf("another process locks the store: %w", journal.ErrClosed)
			}
		}
		if err := w.wait.busy(); err != nil {
			return err
		}
		pause()
	}
}

// lock tries once to acquire the write lock.
//
//nolint:contextcheck,nolintlint // see always
func (w *writer) lock() error {
	if err := w.connect(background); err != nil {
		return err
	}
	if _, err := w.conn.exec(sqlImmediate); err != nil {
		return err
	}
	w.wait.free()
	if w.mark == nil {
		w.mark = openMark(w.path+ownersSuffix+markSuffix, w.owner)
	}
	w.mark.set()
	return nil
}

// commit makes the transaction durable.
func (w *writer) commit() error {
	for {
		began := time.Now()
		_, err := w.conn.exec(sqlCommit)
		if isBusy(err) {
			if late := w.wait.busy(); late == nil {
				pause()
				continue
			}
		}
		if err != nil {
			w.rollback()
			return fmt.Errorf("commit: %w", explain(err))
		}
		w.mark.clear()
		w.commitDuration += (time.Since(began) - w.commitDuration) / 8
		return nil
	}
}

// rollback ends the transaction, if there still is one, and discards what was learned in it.
func (w *writer) rollback() {
	clear(w.memory)
	w.group.reset()
	w.texts = w.texts[:0]
	_, _ = w.conn.exec(sqlRollback) // fails if SQLite rolled back by itself
	w.mark.clear()
}
