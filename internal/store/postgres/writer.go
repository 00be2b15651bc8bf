package postgres

import (
	"context"
	"runtime"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
)

const (
	maxBatch      = 1000     // appends in one transaction
	maxBatchBytes = 16 << 20 // of data in one transaction
	maxUnderWay   = 2        // batches of a handle at once
	// maxMemory bounds what the writer remembers of runs: some 200 bytes each, and only of those that the handle is driving.
	maxMemory = 16384
)

// writer stores appends: those that wait share a transaction, and are answered after its commit (group commit). A run is in one batch at a time.
//
// A caller that comes while fewer batches than maxUnderWay are under way does one itself. What came meanwhile is left to a goroutine, which ends when nothing waits.
type writer struct {
	s     *Store
	moves sync.Pool // of *move

	mu       sync.Mutex
	idle     sync.Cond // underWay became 0
	queue    []*pending
	busy     map[string]bool // runs in the batches under way
	underWay int
	memory   map[string]*target
	took     time.Duration // what a batch takes, about
}

func newWriter(s *Store) *writer {
	w := &writer{s: s, busy: map[string]bool{}, memory: map[string]*target{}}
	w.idle.L = &w.mu
	return w
}

// do has p stored. A done ctx takes it back as long as its batch has not begun; after that the outcome is waited for, since only it tells whether something was written.
func (w *writer) do(ctx context.Context, p *pending) error {
	w.mu.Lock()
	w.queue = append(w.queue, p)
	leads := w.underWay < maxUnderWay && !w.busy[p.Run]
	var batch []*pending
	if leads {
		if batch = w.take(); len(batch) == 0 {
			leads = false
		} else {
			w.underWay++
		}
	}
	w.mu.Unlock()
	if leads {
		w.store(batch)
		if w.rest(batch) {
			go w.drain(len(batch)) //nolint:contextcheck,nolintlint // it works for many callers
		}
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
	}
	w.mu.Lock()
	if !p.taken {
		p.gone = true
		w.mu.Unlock()
		return ctx.Err()
	}
	w.mu.Unlock()
	return <-p.done
}

// drain stores batches until nothing waits. answered is how many the batch before had.
func (w *writer) drain(answered int) {
	for {
		w.gather(answered)
		w.mu.Lock()
		batch := w.take()
		w.share()
		w.mu.Unlock()
		w.store(batch)
		if !w.rest(batch) {
			return
		}
		answered = len(batch)
	}
}

// share begins another batch where there is room for one and appends wait. w.mu is held.
func (w *writer) share() {
	if w.underWay < maxUnderWay && w.waits() {
		w.underWay++
		go w.drain(0)
	}
}

// waits tells whether an append waits that a batch could have. w.mu is held.
func (w *writer) waits() bool {
	return slices.ContainsFunc(w.queue, func(p *pending) bool { return !p.gone && !w.busy[p.Run] })
}

// Those who were answered come again at once, if they come, but not all before the next batch: it waits for them in steps of a part of what a batch takes, as long as many come in each.
const (
	gatherSteps = 8
	gatherPart  = 32
	gatherMin   = 16 // answered at once
)

// gather waits for those who were answered just now: without it a batch of many is followed by one of the few that were quickest, which takes nearly as long.
func (w *writer) gather(answered int) {
	if answered < gatherMin {
		runtime.Gosched()
		return
	}
	for n, before := 0, 0; n < gatherSteps; n++ {
		w.mu.Lock()
		now, step := len(w.queue), w.took/gatherPart
		w.mu.Unlock()
		if now >= maxBatch || n > 0 && now <= before+before/16 {
			return
		}
		before = now
		time.Sleep(step)
	}
}

// splitFrom is how many appends there are before they are split over the batches that may be under way: below, the time of a batch hardly depends on how many it has.
const splitFrom = 64

// take takes the next batch out of the queue: appends that only continue a run which the writer knows, or else all. Of many it takes a part, so that the batches under way are of one size, and those who
// are answered come again while the other one is stored. w.mu is held.
func (w *writer) take() []*pending {
	var batch []*pending
	left := w.queue[:0]
	size := 0
	most := maxBatch
	if all := len(w.queue) + len(w.busy); all >= splitFrom {
		most = min(most, (all+maxUnderWay-1)/maxUnderWay)
	}
	var simple, decided bool
	for i, p := range w.queue {
		if p.gone {
			continue
		}
		if len(batch) == most || size >= maxBatchBytes {
			left = append(left, w.queue[i:]...)
			break
		}
		if w.busy[p.Run] {
			left = append(left, p)
			continue
		}
		p.known = w.knownTo(p)
		if !decided {
			simple, decided = p.known != nil, true
		}
		if simple != (p.known != nil) {
			left = append(left, p)
			continue
		}
		p.taken = true
		w.busy[p.Run] = true
		size += p.size
		batch = append(batch, p)
	}
	clear(w.queue[len(left):])
	w.queue = left
	return batch
}

// knownTo gives the run of p where one statement can do p with others: the run is remembered, and nothing has to be looked up. w.mu is held.
func (w *writer) knownTo(p *pending) *target {
	if p.Create != nil || len(p.Blobs) > 0 || p.Common {
		return nil
	}
	t := w.memory[p.Run]
	if t == nil || t.refuses(p) != nil || journal.Status(t.status).Ended() {
		return nil
	}
	return t
}

// rest ends a batch. It tells whether its place is kept: for others that wait, or for those whom it answered, if they were many.
func (w *writer) rest(batch []*pending) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range batch {
		delete(w.busy, p.Run)
	}
	if len(batch) >= gatherMin || w.waits() {
		return true
	}
	if w.underWay--; w.underWay == 0 {
		w.idle.Broadcast()
	}
	return false
}

// store does a batch, and answers all in it.
func (w *writer) store(batch []*pending) {
	if len(batch) > 0 && batch[0].known != nil {
		began := time.Now()
		batch = w.simple(batch)
		took := time.Since(began)
		w.mu.Lock()
		w.took += (took - w.took) / 8
		w.mu.Unlock()
	}
	if len(batch) > 0 {
		w.whole(batch)
	}
}

// remember keeps what is known of a run; nil forgets it.
func (w *writer) remember(run string, t *target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t == nil {
		delete(w.memory, run)
		return
	}
	if len(w.memory) >= maxMemory {
		clear(w.memory)
	}
	w.memory[run] = t
}

// forget makes the next append to a run look it up.
func (w *writer) forget(run string) { w.remember(run, nil) }

// close waits until nothing is under way. No caller comes any more.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.underWay > 0 {
		w.idle.Wait()
	}
}
