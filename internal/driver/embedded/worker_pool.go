package embedded

import "sync"

// workerPool is a worker pool that makes calls on few goroutines. Each worker takes the next call
// when it has made one, and another worker is started as long as calls are queued, so that no call
// waits for a slow one. The zero value is ready for use. It is safe for concurrent use.
type workerPool struct {
	mu       sync.Mutex
	calls    []*call
	next     int  // index in calls of the first call not taken
	starting bool // a worker was started but has taken no call yet
	// idle holds the channels of idle workers.
	idle   []chan task
	closed bool
}

// maxSpares is the maximum number of idle workers. A new goroutine has to grow its stack again, a
// cost that short calls would pay each time.
const maxSpares = 16

// add queues calls.
func (w *workerPool) add(d *Driver, calls []*call) {
	w.mu.Lock()
	w.calls = append(w.calls, calls...)
	comes := w.starting
	w.starting = true
	w.mu.Unlock()
	if !comes {
		w.run(d, (*worker)(d))
	}
}

// take returns the next call, or nil if there is none, and starts another worker if there are
// more. fresh means that the caller has just started.
func (w *workerPool) take(d *Driver, fresh bool) *call {
	w.mu.Lock()
	if fresh {
		w.starting = false
	}
	if w.next == len(w.calls) {
		w.mu.Unlock()
		return nil
	}
	c := w.calls[w.next]
	w.calls[w.next] = nil
	if w.next++; w.next == len(w.calls) {
		w.calls, w.next = w.calls[:0], 0
	}
	more := w.next < len(w.calls) && !w.starting
	w.starting = w.starting || more
	w.mu.Unlock()
	if more {
		w.run(d, (*worker)(d))
	}
	return c
}

// task is a unit of work for a goroutine of the pool.
type task interface{ runTask() }

// worker makes the queued calls of a driver until none are left.
type worker Driver

func (w *worker) runTask() {
	d := (*Driver)(w)
	for c := d.crew.take(d, true); c != nil; c = d.crew.take(d, false) {
		c.run()
	}
}

// run executes t on an idle worker, or on a new goroutine.
func (w *workerPool) run(d *Driver, t task) {
	w.mu.Lock()
	if n := len(w.idle); n > 0 {
		one := w.idle[n-1]
		w.idle = w.idle[:n-1]
		w.mu.Unlock()
		one <- t
		return
	}
	w.mu.Unlock()
	d.wg.Go(func() { w.serve(t) })
}

// serve executes t, and further tasks while few workers are idle.
func (w *workerPool) serve(t task) {
	t.runTask()
	given := make(chan task, 1)
	for {
		w.mu.Lock()
		if len(w.idle) >= maxSpares || w.closed {
			w.mu.Unlock()
			return
		}
		w.idle = append(w.idle, given)
		w.mu.Unlock()
		t, ok := <-given
		if !ok {
			return
		}
		t.runTask()
	}
}

// close stops the idle workers.
func (w *workerPool) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, one := range w.idle {
		close(one)
	}
	w.idle = nil
}
