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
	maxBatchBytes = 16 << 20 // bytes of data in one transaction
	maxInFlight   = 2        // batches of a handle in flight
	// maxRemembered is the maximum number of runs that the writer remembers: about 200 bytes each,
	// and only runs that the handle is executing.
	maxRemembered = 16384
)

// writer stores appends: queued appends share a transaction, and are answered after its commit
// (group commit). A run is in one batch at a time.
//
// A caller that arrives while fewer than maxInFlight batches are in flight runs one itself. Appends
// that arrive meanwhile are left to a goroutine, which ends when the queue is empty.
type writer struct {
	s     *Store
	moves sync.Pool // of *move

	mu            sync.Mutex
	idle          sync.Cond // signalled when inFlight becomes 0
	queue         []*pending
	busy          map[string]bool // runs in the batches in flight
	inFlight      int
	memory        map[string]*target
	batchDuration time.Duration // approximate duration of a batch
}

func newWriter(s *Store) *writer {
	w := &writer{s: s, busy: map[string]bool{}, memory: map[string]*target{}}
	w.idle.L = &w.mu
	return w
}

// do has p stored. If ctx is done, p is withdrawn as long as its batch has not started; after that
// do waits for the outcome, because only the outcome shows whether anything was written.
func (w *writer) do(ctx context.Context, p *pending) error {
	w.mu.Lock()
	w.queue = append(w.queue, p)
	leads := w.inFlight < maxInFlight && !w.busy[p.Run]
	var batch []*pending
	if leads {
		if batch = w.nextBatch(); len(batch) == 0 {
			leads = false
		} else {
			w.inFlight++
		}
	}
	w.mu.Unlock()
	if leads {
		w.store(batch)
		if w.finishBatch(batch) {
			go w.drain(len(batch)) //nolint:contextcheck,nolintlint // it works for many callers
		}
	}
	select {
	case err := <-p.done:
		return err
	case <-ctx.Done():
	}
	w.mu.Lock()
	if !p.started {
		p.abandoned = true
		w.mu.Unlock()
		return ctx.Err()
	}
	w.mu.Unlock()
	return <-p.done
}

// drain stores batches until the queue is empty. answered is the size of the previous batch.
func (w *writer) drain(answered int) {
	for {
		w.gather(answered)
		w.mu.Lock()
		batch := w.nextBatch()
		w.startBatch()
		w.mu.Unlock()
		w.store(batch)
		if !w.finishBatch(batch) {
			return
		}
		answered = len(batch)
	}
}

// startBatch starts another batch if one more may be in flight and appends are queued. w.mu must be
// held.
func (w *writer) startBatch() {
	if w.inFlight < maxInFlight && w.hasQueued() {
		w.inFlight++
		go w.drain(0)
	}
}

// hasQueued reports whether an append is queued that a batch could include. w.mu must be held.
func (w *writer) hasQueued() bool {
	return slices.ContainsFunc(w.queue, func(p *pending) bool { return !p.abandoned && !w.busy[p.Run] })
}

// Callers that were answered soon return with their next append, but not all of them before the
// next batch. The next batch therefore waits for them in steps of a fraction of a batch's duration,
// as long as many arrive in each step.
const (
	gatherSteps = 8
	gatherPart  = 32
	gatherMin   = 16 // minimum number of callers answered by one batch
)

// gather waits for the callers that were just answered. Without it, a large batch would be followed
// by one with the few fastest callers, which takes nearly as long.
func (w *writer) gather(answered int) {
	if answered < gatherMin {
		runtime.Gosched()
		return
	}
	for n, before := 0, 0; n < gatherSteps; n++ {
		w.mu.Lock()
		now, step := len(w.queue), w.batchDuration/gatherPart
		w.mu.Unlock()
		if now >= maxBatch || n > 0 && now <= before+before/16 {
			return
		}
		before = now
		time.Sleep(step)
	}
}

// splitFrom is the number of appends from which they are split across the batches that may be in
// flight; below it, the duration of a batch hardly depends on its size.
const splitFrom = 64

// nextBatch removes the next batch from the queue: appends that only continue a run which the
// writer knows, or else all. If there are many, it takes only a part, so that the batches in flight
// are of equal size, and answered callers return while the other batch is being stored. w.mu must
// be held.
func (w *writer) nextBatch() []*pending {
	var batch []*pending
	left := w.queue[:0]
	size := 0
	most := maxBatch
	if all := len(w.queue) + len(w.busy); all >= splitFrom {
		most = min(most, (all+maxInFlight-1)/maxInFlight)
	}
	var simple, decided bool
	for i, p := range w.queue {
		if p.abandoned {
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
		p.started = true
		w.busy[p.Run] = true
		size += p.size
		batch = append(batch, p)
	}
	clear(w.queue[len(left):])
	w.queue = left
	return batch
}

// knownTo returns the run of p if one statement can store p along with others: the run is
// remembered, and no lookup is needed. w.mu must be held.
func (w *writer) knownTo(p *pending) *target {
	if p.Create != nil || len(p.Blobs) > 0 || p.Common {
		return nil
	}
	t := w.memory[p.Run]
	if t == nil || t.reject(p) != nil || journal.Status(t.status).Ended() {
		return nil
	}
	return t
}

// finishBatch ends a batch. It reports whether its slot is kept: for queued appends, or for the
// callers that it answered, if they were many.
func (w *writer) finishBatch(batch []*pending) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, p := range batch {
		delete(w.busy, p.Run)
	}
	if len(batch) >= gatherMin || w.hasQueued() {
		return true
	}
	if w.inFlight--; w.inFlight == 0 {
		w.idle.Broadcast()
	}
	return false
}

// store stores a batch, and answers all its appends.
func (w *writer) store(batch []*pending) {
	if len(batch) > 0 && batch[0].known != nil {
		began := time.Now()
		batch = w.appendKnown(batch)
		took := time.Since(began)
		w.mu.Lock()
		w.batchDuration += (took - w.batchDuration) / 8
		w.mu.Unlock()
	}
	if len(batch) > 0 {
		w.appendInTx(batch)
	}
}

// remember caches what is known about a run; nil removes it.
func (w *writer) remember(run string, t *target) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if t == nil {
		delete(w.memory, run)
		return
	}
	if len(w.memory) >= maxRemembered {
		clear(w.memory)
	}
	w.memory[run] = t
}

// forget makes the next append to a run look up the run.
func (w *writer) forget(run string) { w.remember(run, nil) }

// close waits until nothing is in flight. There must be no new callers.
func (w *writer) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.inFlight > 0 {
		w.idle.Wait()
	}
}
