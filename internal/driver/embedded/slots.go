package embedded

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
)

const defaultMaxCalls = 256

// Slots limits the calls in flight, and can be shared by several drivers. Waiting drivers are
// served in turn, each with its oldest call: a driver with a long queue delays the others by one
// call each, not by its queue (SEC17). Create it with NewSlots. It is safe for concurrent use.
type Slots struct {
	mu   sync.Mutex
	all  int // number of slots
	free int // 0 while any call waits
	// ring holds the queues that are not empty, in the order in which they are served.
	ring []*callQueue
	// queues is the length of ring.
	queues atomic.Int32
}

// NewSlots returns n slots, or 256 if n is 0 or less.
func NewSlots(n int) *Slots {
	n = cmp.Or(max(n, 0), defaultMaxCalls)
	return &Slots{all: n, free: n}
}

// Load returns how many slots are taken, and how many calls wait for one.
func (s *Slots) Load() (taken, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.ring {
		waiting += len(l.waiting) - l.gone
	}
	return s.all - s.free, waiting
}

// callQueue is the queue of one driver's waiting calls, oldest first. It is guarded by Slots.mu.
type callQueue struct {
	waiting []*waiter
	gone    int // number of cancelled calls among them
}

type waiter struct {
	served chan struct{} // closed when it has a slot
	gone   bool
}

// acquire acquires a slot for the driver whose queue is l. It returns false if ctx was done first.
func (s *Slots) acquire(ctx context.Context, l *callQueue) bool {
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return true
	}
	w := &waiter{served: make(chan struct{})}
	if len(l.waiting) == 0 {
		s.ring = append(s.ring, l)
		s.queues.Store(int32(len(s.ring)))
	}
	l.waiting = append(l.waiting, w)
	s.mu.Unlock()
	select {
	case <-w.served:
		return true
	case <-ctx.Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-w.served:
		s.next()
	default:
		s.leave(l, w)
	}
	return false
}

// tryAcquire acquires a slot if one is free.
func (s *Slots) tryAcquire() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.free <= 0 {
		return false
	}
	s.free--
	return true
}

// isQueued reports whether calls wait for a slot.
func (s *Slots) isQueued() bool { return s.queues.Load() > 0 }

// leave removes cancelled calls from their queue, many together, because removing each would
// search the queue.
func (s *Slots) leave(l *callQueue, w *waiter) {
	w.gone = true
	if l.gone++; l.gone <= len(l.waiting)/2 {
		return
	}
	l.waiting, l.gone = slices.DeleteFunc(l.waiting, func(w *waiter) bool { return w.gone }), 0
	if len(l.waiting) == 0 {
		s.ring = slices.DeleteFunc(s.ring, func(o *callQueue) bool { return o == l })
		s.queues.Store(int32(len(s.ring)))
	}
}

// release returns a slot.
func (s *Slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next()
}

// next hands a free slot to the next waiting driver.
func (s *Slots) next() {
	defer func() { s.queues.Store(int32(len(s.ring))) }()
	for len(s.ring) > 0 {
		l := s.ring[0]
		s.ring = s.ring[1:]
		w := l.pop()
		if len(l.waiting) > 0 {
			s.ring = append(s.ring, l)
		}
		if w != nil {
			close(w.served)
			return
		}
	}
	s.free++
}

// pop removes and returns the oldest call that is still waiting, or nil if there is none.
func (l *callQueue) pop() *waiter {
	for len(l.waiting) > 0 {
		w := l.waiting[0]
		l.waiting[0] = nil
		l.waiting = l.waiting[1:]
		if !w.gone {
			return w
		}
		l.gone--
	}
	l.waiting = nil
	return nil
}
