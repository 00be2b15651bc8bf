package journal

import (
	"context"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// Trail holds the records of a run whose events are made when they are read. It is safe for
// concurrent use.
type Trail interface {
	// Last returns the number and the time of the last event that the records hold.
	Last() (seq uint64, at time.Time)
	// Expand makes the events of all records so far.
	Expand() error
	// Take returns the events that no earlier call has returned, those of each activation apart. The
	// caller may keep them.
	Take() ([][]event.Event, error)
	// Commit adds the records that are stored with an Append, which calls it once nothing else can
	// fail. It returns an error if the trail was stopped.
	Commit() error
	// Stop ends the trail: it gets no more records. It may be called more than once.
	Stop()
}

// TrailKeeper is implemented by stores that can keep the trail of a run: their Append accepts
// Append.Trail instead of data. The records that are added to the trail from then on, until the next
// Append of the run, are part of the run's journal without any call.
type TrailKeeper interface {
	EventKeeper
	// KeepTrail makes t hold the events of a run after those that it has, in an epoch in which the
	// handle owns the run. A nil t ends that: the events that the trail holds become the run's own.
	// Errors: ErrNotFound, ErrFenced.
	KeepTrail(ctx context.Context, run string, epoch uint64, t Trail) error
}

var _ TrailKeeper = (*memHandle)(nil)

// KeepTrail implements TrailKeeper.
func (h *memHandle) KeepTrail(ctx context.Context, run string, epoch uint64, t Trail) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	r, err := h.m.run("keep the trail of run", run)
	if err != nil {
		return err
	}
	if r.head.Owner != h.owner.ID || r.head.Epoch != epoch {
		return fmt.Errorf("keep the trail of run %s: %w", run, ErrFenced)
	}
	if err := r.settleTrail(); err != nil {
		return err
	}
	r.trail = t
	h.m.hub.Signal(OfRun(run))
	return nil
}

// expand makes the events of a run's trail without holding the lock of the store.
func (h *memHandle) expand(ctx context.Context, run string) error {
	unlock, err := h.lock(ctx)
	if err != nil {
		return err
	}
	var t Trail
	if r := h.m.runs[run]; r != nil {
		t = r.trail
	}
	unlock()
	if t == nil {
		return nil
	}
	if err := t.Expand(); err != nil {
		return &CorruptError{Run: run, Reason: fmt.Sprintf("its records have no events: %v", err)}
	}
	return nil
}

// last returns the number and the time of the last event of a run.
func (r *memRun) last() (seq uint64, at time.Time) {
	if r.trail == nil || r.head.Status.Ended() {
		return r.head.LastSeq, r.head.Updated
	}
	return r.trail.Last()
}

func (r *memRun) lastSeq() uint64 {
	seq, _ := r.last()
	return seq
}

// taken returns the number of the last event that is in a link. The trail of a run that continues may
// have got another one since.
func (r *memRun) taken() uint64 {
	if n := len(r.links); r.trail != nil && n > 0 {
		return r.links[n-1].Last
	}
	return r.head.LastSeq
}

// takeTrail moves the events that the trail of a run holds to its values.
func (r *memRun) takeTrail() error {
	if r.trail == nil {
		return nil
	}
	taken, err := r.trail.Take()
	if err != nil {
		return &CorruptError{Run: r.head.Run, Reason: fmt.Sprintf("its records have no events: %v", err)}
	}
	r.values = append(r.values, taken...)
	if r.head.Status.Ended() {
		r.trail = nil
	}
	return nil
}

// settleTrail ends the trail of a run: its events are the run's own.
func (r *memRun) settleTrail() error {
	if r.trail == nil {
		return nil
	}
	r.trail.Stop()
	r.head.LastSeq, r.head.Updated = r.last()
	if err := r.takeTrail(); err != nil {
		return err
	}
	r.trail = nil
	return nil
}

// stopTrail keeps a process that no longer owns a run from adding to its trail.
func (r *memRun) stopTrail() {
	if r.trail != nil {
		r.trail.Stop()
	}
}
