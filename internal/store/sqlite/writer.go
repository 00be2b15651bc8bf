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

// writer owns the only connection that writes. Whatever waits shares a transaction, and is answered after the commit (group commit).
//
// A caller that comes while none writes does it itself, for all that wait by then: one run alone pays for no change of goroutines. What came
// meanwhile is left to a goroutine, which ends when nothing waits.
type writer struct {
	path  string
	owner string // says who this process is
	wait  *patience
	alone *sync.Mutex // as in readers: it would keep a first connection out

	// Of the writing goroutine.
	conn     *conn // nil until something is written
	mark     *mark // likewise
	memory   memory
	batch    []*op // done in the present transaction, or in group
	group    group
	texts    []text // of the present transaction, for the index of words
	line     []*op  // out of the queue, in its order, from at on
	at       int
	commits  time.Duration // what a commit takes, about
	wrote    int           // bytes since the last look at the log, about
	folder   folder
	turn     turn
	deadline time.Time // when to stop waiting for other processes; set by the first wait after close

	mu     sync.Mutex
	idle   sync.Cond // isBusy became false
	isBusy bool      // a goroutine writes
	queue  []*op
	closed atomic.Bool // set with mu held
}

func newWriter(path string, wait *patience, alone *sync.Mutex) *writer {
	w := &writer{path: path, wait: wait, alone: alone, memory: memory{}, turn: turn{path: path + ownersSuffix + "/turn"}, wrote: checkWAL}
	w.idle.L = &w.mu
	return w
}

// prepare opens the connection where it is not open yet, and waits for other processes that are in the way.
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

// connect opens the connection where it is not open yet, once.
func (w *writer) connect(ctx context.Context) (err error) {
	if w.conn == nil {
		w.alone.Lock()
		defer w.alone.Unlock()
		w.conn, err = openWriter(ctx, w.path)
	}
	return err
}

// write does do in a transaction and returns after its commit. A done ctx takes the operation back as long as its turn has not come; after
// that the outcome is waited for, since only it tells whether something was written.
func (w *writer) write(ctx context.Context, bytes int, do func(c *conn) error) error {
	return w.submit(ctx, newOp(bytes, do))
}

// outside is write for what cannot run inside a transaction.
func (w *writer) outside(ctx context.Context, do func(c *conn) error) error {
	o := newOp(0, do)
	o.alone = true
	return w.submit(ctx, o)
}

func (w *writer) submit(ctx context.Context, o *op) error {
	err, _ := w.do(ctx, o)
	return err
}

// do has o done. isOver tells that nothing looks at o any more.
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
		w.round(ctx, false)
		if !w.rest() {
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

// drain writes until nothing waits.
//
//nolint:contextcheck,nolintlint // see always
func (w *writer) drain() {
	runtime.Gosched()
	for {
		w.round(always, true)
		if w.rest() {
			return
		}
	}
}

// taken takes the operation that peek gave out of the line. Once it is answered its place in memory may be that of another operation.
func (w *writer) taken(o *op) bool {
	if !o.take() {
		return false
	}
	w.line[w.at] = nil
	w.at++
	return true
}

// rest makes room for the next writer, unless something waits.
func (w *writer) rest() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.at < len(w.line) || len(w.queue) > 0 {
		return false
	}
	w.isBusy = false
	w.idle.Broadcast()
	return true
}

// close answers what waits and closes the connection.
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

// peek gives the operation whose turn it is, or nil where none waits. Its caller may still give it up.
func (w *writer) peek() *op {
	for {
		for ; w.at < len(w.line); w.at++ {
			if o := w.line[w.at]; o.state.Load() == opWaiting {
				return o
			}
		}
		clear(w.line)
		w.line, w.at = w.line[:0], 0
		w.mu.Lock()
		w.line, w.queue = w.queue, w.line
		w.mu.Unlock()
		if len(w.line) == 0 {
			return nil
		}
	}
}

// errNoWaiter says that no caller waits any more for the lock.
var errNoWaiter = errors.New("no caller waits")

// begin takes the write lock. Another process may have it: then it is asked for again until it is free (P10: no SQLITE_BUSY reaches a
// caller), until isOver, which gives errNoWaiter, until that has lasted too long (*journal.LockedError), or some time after the store was closed.
func (w *writer) begin(isOver func() bool) error {
	defer w.turn.came()
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

// lock tries to take the write lock, once.
//
//nolint:contextcheck,nolintlint // see always
func (w *writer) lock() error {
	if err := w.connect(always); err != nil {
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
		w.commits += (time.Since(began) - w.commits) / 8
		return nil
	}
}

// rollback ends the transaction, if there still is one, and forgets what was learned in it.
func (w *writer) rollback() {
	clear(w.memory)
	w.group.reset()
	w.texts = w.texts[:0]
	_, _ = w.conn.exec(sqlRollback) // fails where SQLite rolled back by itself
	w.mark.clear()
}
