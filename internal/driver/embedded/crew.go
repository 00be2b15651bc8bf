package embedded

import "sync"

// crew makes calls on few goroutines: each takes the next call when it has made one, and another goroutine is being started as long as calls wait, so that none waits for
// another that takes long. The zero value is ready. Safe for concurrent use.
type crew struct {
	mu    sync.Mutex
	calls []*call
	next  int  // of calls, the first that no goroutine has taken
	comes bool // a goroutine was started that has taken no call yet
	// spare are the goroutines that wait for work, by what they are given it.
	spare  []chan task
	closed bool
}

// maxSpares bounds the goroutines that wait for work. A fresh one grows its stack anew, which short calls would pay for each time.
const maxSpares = 16

// add gives calls to the crew.
func (w *crew) add(d *Driver, calls []*call) {
	w.mu.Lock()
	w.calls = append(w.calls, calls...)
	comes := w.comes
	w.comes = true
	w.mu.Unlock()
	if !comes {
		w.run(d, (*worker)(d))
	}
}

// take gives the next call, nil where there is none, and lets another goroutine come where there are more. fresh: the one that asks has just come.
func (w *crew) take(d *Driver, fresh bool) *call {
	w.mu.Lock()
	if fresh {
		w.comes = false
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
	more := w.next < len(w.calls) && !w.comes
	w.comes = w.comes || more
	w.mu.Unlock()
	if more {
		w.run(d, (*worker)(d))
	}
	return c
}

// task is what a goroutine of the crew does.
type task interface{ do() }

// worker makes the calls of a driver's crew as long as there are some.
type worker Driver

func (w *worker) do() {
	d := (*Driver)(w)
	for c := d.crew.take(d, true); c != nil; c = d.crew.take(d, false) {
		c.run()
	}
}

// run does t on a goroutine that waits for work, or on a new one.
func (w *crew) run(d *Driver, t task) {
	w.mu.Lock()
	if n := len(w.spare); n > 0 {
		one := w.spare[n-1]
		w.spare = w.spare[:n-1]
		w.mu.Unlock()
		one <- t
		return
	}
	w.mu.Unlock()
	d.wg.Go(func() { w.stay(t) })
}

// stay does t, and what it is given after it while few goroutines wait.
func (w *crew) stay(t task) {
	t.do()
	given := make(chan task, 1)
	for {
		w.mu.Lock()
		if len(w.spare) >= maxSpares || w.closed {
			w.mu.Unlock()
			return
		}
		w.spare = append(w.spare, given)
		w.mu.Unlock()
		t, ok := <-given
		if !ok {
			return
		}
		t.do()
	}
}

// close lets the goroutines go that wait for work.
func (w *crew) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	for _, one := range w.spare {
		close(one)
	}
	w.spare = nil
}
