package journal

import (
	"sync"
	"sync/atomic"
	"time"
)

// SafetyPoll is how often a waiter polls even if no change was signaled. It limits how long a
// waiter is delayed by a signal that a store failed to send, and how long the death of an owner
// goes unnoticed if a store does not signal it.
const SafetyPoll = 2 * time.Second

// TopicKind is the kind of thing that a change concerns.
type TopicKind uint8

const (
	// TopicRun is one run: its records and status, and that it was claimed, released or pruned.
	// Revoking a run from its owner is not signaled: the claim that follows is.
	TopicRun TopicKind = iota + 1
	// TopicRequests are requests to processes: inbox requests, to any run, that were posted or
	// settled, and runs that were released although they could continue.
	TopicRequests
	// TopicNotices are the notices of all runs.
	TopicNotices
	// TopicLines are all queues: slots that were taken or released.
	TopicLines
	// TopicStarts are created runs.
	TopicStarts
)

// Topic is what a subscriber receives signals about. Run is set only for TopicRun.
type Topic struct {
	Kind TopicKind
	Run  string
}

// OfRun returns the topic of one run, which need not exist yet.
func OfRun(run string) Topic { return Topic{TopicRun, run} }

// OfRequests returns the topic of requests.
func OfRequests() Topic { return Topic{Kind: TopicRequests} }

// OfNotices returns the topic of notices.
func OfNotices() Topic { return Topic{Kind: TopicNotices} }

// OfLines returns the topic of queues.
func OfLines() Topic { return Topic{Kind: TopicLines} }

// OfStarts returns the topic of created runs.
func OfStarts() Topic { return Topic{Kind: TopicStarts} }

// Changes signals that something was stored, so that waiters need not poll.
type Changes interface {
	// Subscribe sends signals on c as signal.Notify does: without blocking, so c needs room for one
	// signal. Signals carry no data and are merged: one signal stands for all changes since the
	// last receive from c. A change stored by a handle of this or another process after Subscribe
	// returned is signaled once it can be read; so is the death of a run's owner, if the store can
	// detect it. A signal may arrive without a change. Several subscriptions may share c.
	//
	// To miss no change, a waiter subscribes first, then reads, then receives. It also reads every
	// [SafetyPoll] without a signal.
	//
	// After stop, which may be called more than once, nothing is sent. Closing the handle signals
	// all its subscribers, whose reads then fail with ErrClosed; a subscription made after that
	// need not be signaled.
	Subscribe(c chan<- struct{}, topics ...Topic) (stop func())
}

// Hub keeps the subscribers of a store and signals them; stores are built with it. The zero value
// is ready for use. It is safe for concurrent use.
type Hub struct {
	count atomic.Int64
	mu    sync.RWMutex
	subs  map[Topic]map[*subscriber]struct{}
	kinds map[TopicKind]int
}

type subscriber struct{ c chan<- struct{} }

// Subscribe implements Changes.
func (h *Hub) Subscribe(c chan<- struct{}, topics ...Topic) (stop func()) {
	s := &subscriber{c}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs == nil {
		h.subs, h.kinds = map[Topic]map[*subscriber]struct{}{}, map[TopicKind]int{}
	}
	for _, t := range topics {
		if h.subs[t] == nil {
			h.subs[t] = map[*subscriber]struct{}{}
		}
		h.subs[t][s] = struct{}{}
		h.kinds[t.Kind]++
	}
	h.count.Add(1)
	return sync.OnceFunc(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, t := range topics {
			if delete(h.subs[t], s); len(h.subs[t]) == 0 {
				delete(h.subs, t)
			}
			h.kinds[t.Kind]--
		}
		h.count.Add(-1)
	})
}

// Signal signals the subscribers of topics. It costs one atomic load if there are no subscribers.
func (h *Hub) Signal(topics ...Topic) {
	if h.count.Load() == 0 {
		return
	}
	h.mu.RLock()
	defer h.mu.RUnlock()
	for _, t := range topics {
		for s := range h.subs[t] {
			s.signal()
		}
	}
}

// SignalKind signals all subscribers of topics of a kind.
func (h *Hub) SignalKind(kind TopicKind) { h.signal(func(t Topic) bool { return t.Kind == kind }) }

// SignalAll signals all subscribers.
func (h *Hub) SignalAll() { h.signal(func(Topic) bool { return true }) }

func (h *Hub) signal(want func(Topic) bool) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	for t, subs := range h.subs {
		if !want(t) {
			continue
		}
		for s := range subs {
			s.signal()
		}
	}
}

// Has reports whether any topic of a kind has subscribers.
func (h *Hub) Has(kind TopicKind) bool {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.kinds[kind] > 0
}

func (s *subscriber) signal() {
	select {
	case s.c <- struct{}{}:
	default:
	}
}

// Subscribe implements Changes.
func (h *memHandle) Subscribe(c chan<- struct{}, topics ...Topic) (stop func()) {
	return h.m.hub.Subscribe(c, topics...)
}
