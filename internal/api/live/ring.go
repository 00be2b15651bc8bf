package live

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// ring holds the last messages of a pump. Positions are numbered from 0 and never reused. It is
// safe for concurrent use.
type ring struct {
	mu     sync.Mutex
	frames []entry
	// first is the position of frames[0]; written counts the bytes of all messages ever added. The
	// size of the frames is limited to max, except that the last one is always kept.
	first   uint64
	written int
	max     int
	// lastOverwritten is the last event that was overwritten.
	lastOverwritten uint64
	// waiting are the channels to notify of the next message.
	waiting []chan<- struct{}
	// lastWake is the time of the last wake-up; later is set while the next one is scheduled.
	lastWake  time.Time
	wakeTimer *time.Timer
	// closed is set when there will be no more messages; last is the message that reports the run's
	// end, or nil if the pump was interrupted.
	closed bool
	last   *frame
	// watchers is the number of watchers of all rings together.
	watchers *atomic.Int64
}

// entry is a message and the number of bytes written before it.
type entry struct {
	*frame
	before int
}

const (
	// wakeShare is the pause between wake-ups per watcher: with 1,000 watchers, however they are
	// spread over runs, each is woken at most twenty times a second.
	wakeShare = 50 * time.Microsecond
	maxPause  = 100 * time.Millisecond
	// wakeBatch is the number of watchers that are woken before other goroutines, above all the
	// runs themselves, get a turn.
	wakeBatch = 16
)

func newRing(size int, watchers *atomic.Int64) *ring { return &ring{max: size, watchers: watchers} }

// add appends messages, and wakes the waiting watchers.
func (r *ring) add(frames ...*frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, f := range frames {
		r.frames = append(r.frames, entry{f, r.written})
		r.written += len(f.data)
	}
	n := 0
	for n < len(r.frames)-1 && r.written-r.frames[n].before > r.max {
		r.lastOverwritten = max(r.lastOverwritten, r.frames[n].seq)
		n++
	}
	if n > 0 {
		clear(r.frames[:n])
		r.frames = r.frames[n:]
		r.first += uint64(n)
	}
	r.wake()
}

// wake wakes all watchers, now or when the pause since the last wake-up has passed. The caller
// holds the lock.
func (r *ring) wake() {
	if r.wakeTimer != nil {
		return
	}
	pause := min(maxPause, time.Duration(r.watchers.Load())*wakeShare) - time.Since(r.lastWake)
	if pause <= 0 {
		r.wakeNow()
		return
	}
	r.wakeTimer = time.AfterFunc(pause, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.wakeTimer != nil {
			r.wakeNow()
		}
	})
}

func (r *ring) wakeNow() {
	if r.wakeTimer != nil {
		r.wakeTimer.Stop()
		r.wakeTimer = nil
	}
	r.lastWake = time.Now()
	waiting := r.waiting
	r.waiting = nil
	if len(waiting) <= wakeBatch {
		notify(waiting)
		return
	}
	go func() {
		for some := range slices.Chunk(waiting, wakeBatch) {
			notify(some)
			runtime.Gosched()
		}
	}()
}

// notify notifies the channels; a channel with a pending notification is not notified again.
func notify(waiting []chan<- struct{}) {
	for _, c := range waiting {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// close marks the ring as complete, with last as its last message.
func (r *ring) close(last *frame) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed, r.last = true, last
	r.wakeNow()
}

// positionAfter returns the position after the event after, or false if the ring does not reach
// back that far.
func (r *ring) positionAfter(after uint64) (uint64, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if after < r.lastOverwritten {
		return 0, false
	}
	for i, f := range slices.Backward(r.frames) {
		if f.seq > 0 && f.seq <= after {
			return r.first + uint64(i) + 1, true
		}
	}
	return r.first, true
}

// ringRead is the content of a ring after a position.
type ringRead struct {
	frames []*frame
	next   uint64
	// lost means that the content was overwritten, and behind that it is more than half of the
	// ring's capacity.
	lost, behind bool
	// empty means that there is nothing yet; unless closed is set, the caller is notified of the
	// next message. closed means that there will be no more messages. last is as in ring.
	empty, closed bool
	last          *frame
}

// take returns up to limit bytes of messages from position place, at least one message. If there is
// none, more is notified of the next one; more must have a buffer of one.
func (r *ring) take(place uint64, limit int, more chan<- struct{}) ringRead {
	r.mu.Lock()
	defer r.mu.Unlock()
	if place < r.first {
		return ringRead{lost: true}
	}
	rest := r.frames[place-r.first:]
	if len(rest) == 0 {
		if !r.closed {
			r.waiting = append(r.waiting, more)
		}
		return ringRead{next: place, empty: true, closed: r.closed, last: r.last}
	}
	f := ringRead{behind: r.written-rest[0].before > r.max/2}
	for i, size := 0, 0; i < len(rest) && (i == 0 || size+len(rest[i].data) <= limit); i++ {
		size += len(rest[i].data)
		f.frames = append(f.frames, rest[i].frame)
	}
	f.next = place + uint64(len(f.frames))
	return f
}
