package embedded

import (
	"cmp"
	"context"
	"slices"
	"sync"
)

const defaultMaxCalls = 256

// Slots are the places of calls in flight, which several drivers may share. Drivers that wait are served in turn, each with its oldest call: one with a long line delays the
// others by a call each, not by its line (SEC17). Make them with NewSlots. Safe for concurrent use.
type Slots struct {
	mu   sync.Mutex
	all  int // places
	free int // 0 while anybody waits
	// ring are the lines that are not empty, the next one to be served first.
	ring []*line
}

// NewSlots makes n places; 0 or less: 256.
func NewSlots(n int) *Slots {
	n = cmp.Or(max(n, 0), defaultMaxCalls)
	return &Slots{all: n, free: n}
}

// Load gives how many places are taken, and how many calls wait for one.
func (s *Slots) Load() (taken, waiting int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range s.ring {
		waiting += len(l.waiting) - l.gone
	}
	return s.all - s.free, waiting
}

// line are the calls of one driver that wait, oldest first. All of it belongs to Slots.mu.
type line struct {
	waiting []*waiter
	gone    int // of them, those that were cancelled
}

type waiter struct {
	served chan struct{} // closed when it has a place
	gone   bool
}

// acquire takes a place for the driver whose line l is; false where ctx was done first.
func (s *Slots) acquire(ctx context.Context, l *line) bool {
	s.mu.Lock()
	if s.free > 0 {
		s.free--
		s.mu.Unlock()
		return true
	}
	w := &waiter{served: make(chan struct{})}
	if len(l.waiting) == 0 {
		s.ring = append(s.ring, l)
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

// leave takes a call that was cancelled out of its line, many at once: each by itself would have to search the line.
func (s *Slots) leave(l *line, w *waiter) {
	w.gone = true
	if l.gone++; l.gone <= len(l.waiting)/2 {
		return
	}
	l.waiting, l.gone = slices.DeleteFunc(l.waiting, func(w *waiter) bool { return w.gone }), 0
	if len(l.waiting) == 0 {
		s.ring = slices.DeleteFunc(s.ring, func(o *line) bool { return o == l })
	}
}

// release gives a place back.
func (s *Slots) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next()
}

// next hands a place that is free to whose turn it is.
func (s *Slots) next() {
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

// pop takes the oldest call that still waits, nil where there is none.
func (l *line) pop() *waiter {
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
