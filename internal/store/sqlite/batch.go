package sqlite

import (
	"context"
	"errors"
	"runtime"
	"time"
)

const (
	maxBatch      = 1000     // operations in one transaction
	maxBatchBytes = 16 << 20 // bytes of data in one transaction: it limits the log
)

// runBatch runs one batch: the queued operations, and those that arrive until it is done, up to the
// limits. It returns without any effect if ctx ends while another process holds the lock.
func (w *writer) runBatch(ctx context.Context, gathers bool) {
	first := w.peek()
	switch {
	case first == nil:
		return
	case first.outsideTx:
		if w.pop(first) {
			err := w.prepare(background)
			if err == nil {
				err = first.run(w.conn)
			}
			first.answer(explain(err))
		}
		return
	}
	// Operations that arrive while another process holds the lock share the transaction, so nothing
	// is dequeued yet, and each caller can still withdraw.
	err := w.begin(func() bool { return ctx.Err() != nil || w.peek() == nil })
	switch {
	case errors.Is(err, errNoWaiter):
		return
	case err != nil:
		if first := w.peek(); first != nil && w.pop(first) {
			first.answer(err)
		}
		return
	}
	err = w.perform(gathers)
	if errors.Is(err, errChanged) {
		err = w.repeatSingly()
	}
	if err != nil {
		// One of several operations cannot be run. What the others saw is no longer true: each is
		// repeated by itself.
		w.rollback()
		for _, o := range w.batch {
			o.answer(w.single(o))
		}
	} else {
		err := w.commit()
		for _, o := range w.batch {
			if err != nil {
				o.err = err
			}
			o.answer(o.err)
		}
	}
	clear(w.batch)
	w.batch = w.batch[:0]
	w.limitLog()
	w.turn.yield()
}

// perform runs operations inside the transaction, and keeps them in w.batch with their results, up
// to the first that cannot be run.
func (w *writer) perform(gathers bool) error {
	size, began := 0, time.Now()
	defer func() { w.bytesSinceCheck += commitBytes + size + opBytes*len(w.batch) }()
	for len(w.batch) < maxBatch && size < maxBatchBytes {
		o := w.peek()
		if o == nil && gathers && w.gather() {
			continue
		}
		if o == nil || o.outsideTx {
			break
		}
		if !w.pop(o) {
			continue
		}
		size += o.bytes
		w.batch = append(w.batch, o)
		if w.join(o.appends) {
			if len(w.group.rows) < maxGroup {
				continue
			}
			if err := w.doGroup(); err != nil {
				return err
			}
			if len(w.batch) >= len(w.memory)/2 && 2*time.Since(began) > w.commitDuration {
				return w.index() // half of the runs continue while the others' records are written
			}
			continue
		}
		if err := w.doGroup(); err != nil { // in their order
			return err
		}
		if err := o.perform(w.conn); err != nil {
			return err
		}
	}
	if err := w.doGroup(); err != nil {
		return err
	}
	return w.index()
}

// repeatSingly repeats the batch in another transaction, each operation by itself and without
// memory.
func (w *writer) repeatSingly() error {
	w.rollback()
	if err := w.begin(func() bool { return false }); err != nil {
		return err
	}
	for _, o := range w.batch {
		if err := o.perform(w.conn); err != nil {
			return err
		}
	}
	return w.index()
}

// single runs o in a transaction of its own.
func (w *writer) single(o *op) error {
	if err := w.begin(func() bool { return false }); err != nil {
		return err
	}
	clear(w.memory) // it may be the reason why o failed
	err := o.run(w.conn)
	if err == nil {
		err = w.index()
	}
	if err != nil {
		w.rollback()
		return explain(err)
	}
	return w.commit()
}

// gather waits before the commit for the callers that were just answered, and reports whether one
// arrived. Without it, a commit for many would be followed by one for the few fastest. The
// operations of the first arrivals run while the others are on their way.
func (w *writer) gather() bool {
	runtime.Gosched()
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.queue) > 0
}
