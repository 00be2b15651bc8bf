package live

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ring holds the last messages of a pump. Places are numbered from 0 and never used again. Safe for concurrent use.
type ring struct {
	mu     sync.Mutex
	frames []entry
	// first is the place of frames[0]; written counts the bytes of all messages there ever were. What the frames hold is bounded by max, but for the last one.
	first   uint64
	written int
	max     int
	// gone is the last event that was overwritten.
	gone uint64
	// waiting are those who are told when there is more than before.
	waiting []chan<- struct{}
	// waking is when they were woken last; later is armed where they are to be woken then.
	waking time.Time
	later  *time.Timer
	// closed says that nothing comes any more; last is the message with which a run's end is told, nil where the pump broke off.
	closed bool
	last   *frame
	// watchers is how many there are, of all rings together.
	watchers *atomic.Int64
}

// entry is a message with what was written before it.
type entry struct {
	*frame
	before int
}

const (
	// wakeShare is how long a watcher's share of waking is: with 1,000 of them, on whatever runs, each is woken twenty times a second at most.
	wakeShare = 50 * time.Microsecond
	maxPause  = 100 * time.Millisecond
	// wakeAtOnce is how many are woken before others get a turn: the runs themselves, above all.
	wakeAtOnce = 16
)

func newRing(size int, watchers *atomic.Int64) *ring { return &ring{max: size, watchers: watchers} }

// add puts messages behind the others, and wakes who waits for them.
func (r *ring) add(frames ...*frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range frames {
		r.frames = append(r.frames, entry{f, r.written})
		r.written += len(f.data)
	}
	n := 0
	for n < len(r.frames)-1 && r.written-r.frames[n].before > r.max {
		r.gone = max(r.gone, r.frames[n].seq)
		n++
	}
	if n > 0 {
		clear(r.frames[:n])
		r.frames = r.frames[n:]
		r.first += uint64(n)
	}
	r.wake()
}

// wake wakes all, now or when the pause since the last time is over. The caller holds the lock.
func (r *ring) wake() {
	if r.later != nil {
		return
	}
	pause := min(maxPause, time.Duration(r.watchers.Load())*wakeShare) - time.Since(r.waking)
	if pause <= 0 {
		r.wakeNow()
		return
	}
	r.later = time.AfterFunc(pause, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.later != nil {
			r.wakeNow()
		}
	})
}

func (r *ring) wakeNow() {
	if r.later != nil {
		r.later.Stop()
		r.later = nil
	}
	r.waking = time.Now()
	waiting := r.waiting
	r.waiting = nil
	if len(waiting) <= wakeAtOnce {
		tell(waiting)
		return
	}
	go func() {
		for some := range slices.Chunk(waiting, wakeAtOnce) {
			tell(some)
			runtime.Gosched()
		}
	}()
}

// tell wakes some; who was told and has not looked yet is not told again.
func tell(waiting []chan<- struct{}) {
	for _, c := range waiting {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// close says that nothing comes any more.
func (r *ring) close(last *frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.last = true, last
	r.wakeNow()
}

// place gives where to go on behind the event after; false: the ring does not reach back so far.
func (r *ring) place(after uint64) (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if after < r.gone {
		return 0, false
	}
	for i, f := range slices.Backward(r.frames) {
		if f.seq > 0 && f.seq <= after {
			return r.first + uint64(i) + 1, true
		}
	}
	return r.first, true
}

// found is what a ring has behind a position.
type found struct {
	frames []*frame
	next   uint64
	// lost: it was overwritten. behind: it is more than half of what the ring may hold.
	lost, behind bool
	// empty: there is nothing yet, and the caller is notified of the next. closed: nothing comes any more. last is as in ring.
	empty, closed bool
	last          *frame
}

// take gives up to limit bytes of messages from a place on, one at least. Where there is none more is notified of the next: it must have room for one.
func (r *ring) take(place uint64, limit int, more chan<- struct{}) found {
	r.mu.Lock()
	defer r.mu.Unlock()
	if place < r.first {
		return found{lost: true}
	}
	rest := r.frames[place-r.first:]
	if len(rest) == 0 {
		if !r.closed {
			r.waiting = append(r.waiting, more)
		}
		return found{next: place, empty: true, closed: r.closed, last: r.last}
	}
	f := found{behind: r.written-rest[0].before > r.max/2}
	for i, size := 0, 0; i < len(rest) && (i == 0 || size+len(rest[i].data) <= limit); i++ {
		size += len(rest[i].data)
		f.frames = append(f.frames, rest[i].frame)
	}
	f.next = place + uint64(len(f.frames))
	return f
}
