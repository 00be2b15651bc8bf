package journal

import (
	"slices"
	"sort"
)

// Retainer is implemented by stores that drop ended runs automatically: see [Memory.Retain].
type Retainer interface {
	// Hold keeps a run, even one not yet started, until release is called, which may be done more
	// than once. Code that waits for a run, or reads it in several steps, holds it meanwhile.
	Hold(run string) (release func())
}

// Hold keeps a run of s, even one not yet started, until release is called, if s is a Retainer.
func Hold(s EventSource, run string) (release func()) {
	if r, ok := s.(Retainer); ok {
		return r.Hold(run)
	}
	return func() {}
}

// retention determines which ended runs an in-memory store keeps.
type retention struct {
	on           bool
	runs, events int
	refs         map[string]int
	// queue holds the ended runs, roughly in the order of their end; an entry whose run was
	// reopened, or pruned, no longer counts. size and total count the valid entries.
	queue       []*memRun
	size, total int
}

// Retain limits the ended runs that the store keeps: while there are more than runs of them, or
// they have more than events events in total, the oldest are dropped with all their data; the last
// remaining run is not dropped because of its events. A run is kept while it is held, and while its
// parent run has not ended. If runs is 0, none is kept. Retain must be called before the first run
// is created.
func (m *Memory) Retain(runs, events int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.kept = retention{on: true, runs: runs, events: events, refs: map[string]int{}}
}

var _ Retainer = (*memHandle)(nil)

// Hold implements Retainer.
func (h *memHandle) Hold(run string) (release func()) {
	k := &h.m.kept
	h.m.mu.Lock()
	defer h.m.mu.Unlock()
	if !k.on {
		return func() {}
	}
	k.refs[run]++
	done := false
	return func() {
		h.m.mu.Lock()
		defer h.m.mu.Unlock()
		if done {
			return
		}
		done = true
		if k.refs[run]--; k.refs[run] == 0 {
			delete(k.refs, run)
		}
		h.m.evict()
	}
}

// trackEnd records whether a run has ended with the last stored append.
func (m *Memory) trackEnd(r *memRun) {
	k := &m.kept
	if !k.on {
		return
	}
	m.untrackEnded(r)
	if !r.head.Status.Ended() {
		return
	}
	r.retained = int(r.head.LastSeq)
	k.queue = append(k.queue, r)
	k.size++
	k.total += r.retained
	m.evict()
}

// untrackEnded removes a run from the ended runs.
func (m *Memory) untrackEnded(r *memRun) {
	if r.retained == 0 {
		return
	}
	k := &m.kept
	k.size--
	k.total -= r.retained
	r.retained = 0
	if i := slices.Index(k.queue, r); i >= 0 {
		k.queue[i] = nil
	}
}

// evict drops excess ended runs. A run that is still needed moves to the end of the queue, to be
// checked again later; evict checks at most two such runs per call.
func (m *Memory) evict() {
	k := &m.kept
	for looks := 0; len(k.queue) > 0 && (k.size > k.runs || k.total > k.events && k.size > 1) && looks < 2; {
		r := k.queue[0]
		k.queue[0] = nil
		k.queue = k.queue[1:]
		switch {
		case r == nil:
		case m.isKept(r):
			k.queue = append(k.queue, r)
			looks++
		default:
			k.size--
			k.total -= r.retained
			r.retained = 0
			m.drop(r)
		}
	}
}

// isKept reports whether an ended run is still needed.
func (m *Memory) isKept(r *memRun) bool {
	if m.kept.refs[r.head.Run] > 0 || r.head.Owner != "" {
		return true
	}
	above := m.runs[r.head.Parent]
	return above != nil && !above.head.Status.Ended()
}

// addNotices stores the notices of an append.
func (m *Memory) addNotices(r *memRun, a Append) {
	for _, n := range a.Notices {
		m.lastNotice++
		n.ID, n.Run, n.At = m.lastNotice, a.Run, microseconds(a.At)
		m.notices = append(m.notices, n)
		r.notices = append(r.notices, n.ID)
	}
}

// removeNotices removes the notices of a run. They remain as gaps, without a run, until they make
// up half of all notices.
func (m *Memory) removeNotices(r *memRun) {
	for _, id := range r.notices {
		i := sort.Search(len(m.notices), func(i int) bool { return m.notices[i].ID >= id })
		m.notices[i].Run = ""
	}
	m.removedNotices += len(r.notices)
	if r.notices = nil; 2*m.removedNotices > len(m.notices) {
		m.notices, m.removedNotices = slices.DeleteFunc(m.notices, func(n Notice) bool { return n.Run == "" }), 0
	}
}
