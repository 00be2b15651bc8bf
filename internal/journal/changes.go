package journal

import (
	"sync"
	"sync/atomic"
	"time"
)

// SafetyPoll is how often a waiter reads what it waits for although no change was signalled. It bounds how long a signal that a store could not give delays a waiter, and how
// long it takes until the death of an owner is seen where a store gives no signal of it.
const SafetyPoll = 2 * time.Second

// TopicKind says what a change is about.
type TopicKind uint8

const (
	// TopicRun is one run: its records and status, and that it was claimed, released or pruned. That it was taken from its owner is not signalled: the claim that follows is.
	TopicRun TopicKind = iota + 1
	// TopicRequests is what processes are asked to do: requests of the inbox, to all runs, that were posted or settled, and runs that were given up while they could go on.
	TopicRequests
	// TopicNotices are the notices of all runs.
	TopicNotices
	// TopicLines are all lines: places that were taken or given up.
	TopicLines
	// TopicStarts are runs that were made.
	TopicStarts
)

// Topic is what a subscriber gets signals about. Run is set for a TopicRun alone.
type Topic struct {
	Kind TopicKind
	Run  string
}

// OfRun is the topic of one run, which need not exist yet.
func OfRun(run string) Topic { return Topic{TopicRun, run} }

// OfRequests is the topic of requests.
func OfRequests() Topic { return Topic{Kind: TopicRequests} }

// OfNotices is the topic of notices.
func OfNotices() Topic { return Topic{Kind: TopicNotices} }

// OfLines is the topic of lines.
func OfLines() Topic { return Topic{Kind: TopicLines} }

// OfStarts is the topic of runs that were made.
func OfStarts() Topic { return Topic{Kind: TopicStarts} }

// Changes signals that something was stored, so that waiters need not poll.
type Changes interface {
	// Subscribe signals on c, as signal.Notify does: without blocking, so that c needs room for one signal. Signals carry nothing and are merged: one signal is for all changes
	// since c was received from. What a handle of this or another process stored after Subscribe returned is signalled once it can be read, and so is, where a store can tell,
	// that the owner of a run died. A signal may come without a change. Several subscriptions may share c.
	//
	// So that no change is missed, a waiter subscribes first, then reads, then receives. It reads every [SafetyPoll] without a signal too.
	//
	// After stop, which may be called more than once, nothing is sent. Close of the handle signals all its subscribers, whose reads then fail with ErrClosed; a subscription
	// after that need not be signalled.
	Subscribe(c chan<- struct{}, topics ...Topic) (stop func())
}

// Hub keeps the subscribers of a store and signals them; stores are built with it. The zero value is ready. Safe for concurrent use.
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

// Signal signals the subscribers of topics. It costs an atomic load where there are no subscribers.
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

// SignalKind signals all subscribers of topics of a kind, SignalAll all there are.
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

// Has tells whether a topic of a kind has subscribers.
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
