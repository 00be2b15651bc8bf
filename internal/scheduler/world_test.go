package scheduler_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
	"github.com/hocket-run/hocket/workflow"
)

// world is a store with published workflows and runs that take a while, shared by schedulers that
// start and stop. Its time is the time of the bubble.
type world struct {
	t     *testing.T
	store *journal.Memory

	mu       sync.Mutex
	branches []scheduler.Branch
	sourced  error
	// takes returns how long a run takes.
	takes func(scheduler.Slot) time.Duration
	// fail returns the error of a start: before the run is durable, or after.
	fail func(scheduler.Slot) (before, after error)
	// open is called by a start before anything is durable.
	open func(ctx context.Context)
	runs map[string]*fakeRun
	list []*fakeRun
	// active has the runs that have not ended, in start order.
	active []*fakeRun
	// up means that runs continue.
	up     bool
	events []scheduler.Event
}

type fakeRun struct {
	id         string
	slot       scheduler.Slot
	began, end time.Time
	status     journal.Status
	left       time.Duration // left time while no process drives it
	timer      *time.Timer
	done       chan struct{}
	lost       chan struct{} // closed when its process is gone for good
}

func newWorld(t *testing.T, branches ...scheduler.Branch) *world {
	return &world{
		t: t, store: journal.NewMemory(), branches: branches, runs: map[string]*fakeRun{},
		takes: func(scheduler.Slot) time.Duration { return time.Second },
		fail:  func(scheduler.Slot) (error, error) { return nil, nil },
		open:  func(context.Context) {},
	}
}

func branch(key scheduler.Key, mode, spec, zone string) scheduler.Branch {
	return scheduler.Branch{Key: key, Version: 1, Schedule: workflow.Schedule{Mode: mode, Spec: spec, TimeZone: zone}}
}

func (w *world) Branches(context.Context) ([]scheduler.Branch, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.branches), w.sourced
}

// publish replaces the branch with the same key.
func (w *world) publish(b scheduler.Branch) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.branches = slices.DeleteFunc(slices.Clone(w.branches), func(o scheduler.Branch) bool { return o.Key == b.Key })
	w.branches = append(w.branches, b)
}

func (w *world) unpublish(key scheduler.Key) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.branches = slices.DeleteFunc(slices.Clone(w.branches), func(o scheduler.Branch) bool { return o.Key == key })
}

func idOf(s scheduler.Slot) string {
	return fmt.Sprintf("%s@%s", s.Key, s.Planned.Format(time.RFC3339Nano))
}

func (w *world) Start(ctx context.Context, slot scheduler.Slot) (string, bool, error) {
	w.open(ctx)
	w.mu.Lock()
	defer w.mu.Unlock()
	if err := ctx.Err(); err != nil {
		return "", false, err
	}
	if !slot.Planned.Equal(slot.Planned.Truncate(time.Microsecond)) || slot.Planned.Location() != time.UTC {
		w.t.Errorf("planned time %s", slot.Planned)
	}
	id := idOf(slot)
	if w.runs[id] != nil {
		return id, false, nil
	}
	before, after := w.fail(slot)
	if before != nil {
		return "", false, before
	}
	r := &fakeRun{id: id, slot: slot, began: time.Now().UTC(), status: journal.StatusRunning, left: w.takes(slot),
		done: make(chan struct{}), lost: make(chan struct{})}
	w.runs[id] = r
	w.list = append(w.list, r)
	w.active = append(w.active, r)
	if w.up {
		w.drive(r)
	}
	return id, true, after
}

func (w *world) drive(r *fakeRun) {
	began := time.Now()
	left := r.left
	r.timer = time.AfterFunc(left, func() { w.finish(r.id, journal.StatusCompleted) })
	r.left = 0
	r.end = began.Add(left)
}

// finish ends a run.
func (w *world) finish(id string, status journal.Status) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[id]
	if r == nil || r.status.Ended() {
		return
	}
	r.timer.Stop()
	r.status, r.end = status, time.Now().UTC()
	w.active = slices.DeleteFunc(w.active, func(o *fakeRun) bool { return o == r })
	close(r.done)
}

// orphan makes a run never end.
func (w *world) orphan(id string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	r := w.runs[id]
	r.timer.Stop()
	close(r.lost)
}

func (r *fakeRun) isLost() bool {
	select {
	case <-r.lost:
		return true
	default:
		return false
	}
}

// drives lets runs continue, or stops them as a kill does.
func (w *world) drives(up bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.up = up
	for _, r := range w.active {
		switch {
		case up:
			w.drive(r)
		case r.timer.Stop():
			r.left = time.Until(r.end)
		}
	}
}

func (w *world) Active(ctx context.Context, key scheduler.Key) (string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range slices.Backward(w.active) {
		if r.slot.Key == key && !r.isLost() {
			return r.id, ctx.Err()
		}
	}
	return "", ctx.Err()
}

func (w *world) Wait(ctx context.Context, run string) (journal.Status, error) {
	w.mu.Lock()
	r := w.runs[run]
	w.mu.Unlock()
	if r == nil {
		return "", journal.ErrNotFound
	}
	select {
	case <-r.done:
		return r.status, nil
	case <-r.lost:
		return "", fmt.Errorf("wait for run %s: %w", run, scheduler.ErrLeft)
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// process is a live scheduler.
type process struct {
	w      *world
	handle journal.Backend
	stop   context.CancelFunc
	gone   chan struct{}
}

// begin starts a scheduler with its own handle.
func (w *world) begin(with ...func(*scheduler.Config)) *process {
	w.t.Helper()
	p := &process{w: w, handle: w.store.Open(journal.KindScheduler), gone: make(chan struct{})}
	cfg := scheduler.Config{Source: w, Runs: w, Book: p.handle, Report: func(e scheduler.Event) {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.events = append(w.events, e)
	}}
	for _, change := range with {
		change(&cfg)
	}
	s, err := scheduler.New(cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(w.t.Context())
	p.stop = stop
	w.drives(true)
	go func() {
		defer close(p.gone)
		s.Run(ctx)
	}()
	synctest.Wait()
	return p
}

// die ends the scheduler in a way that it and the world cannot distinguish from a kill. Runs stop
// with it unless others drive them.
func (p *process) die(runs bool) {
	p.w.t.Helper()
	if runs {
		p.w.drives(false)
	}
	p.stop()
	<-p.gone
	if err := p.handle.Close(); err != nil {
		p.w.t.Error(err)
	}
}

func poll(d time.Duration) func(*scheduler.Config) {
	return func(c *scheduler.Config) { c.Poll = d }
}

func catchUp(p scheduler.Policy) func(*scheduler.Config) {
	return func(c *scheduler.Config) { c.CatchUp = p }
}

// of returns the runs of a branch in start order.
func (w *world) of(key scheduler.Key) []*fakeRun {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []*fakeRun
	for _, r := range w.list {
		if r.slot.Key == key {
			out = append(out, r)
		}
	}
	return out
}

// planned returns the planned times of a branch's runs as offsets from a time.
func (w *world) planned(key scheduler.Key, from time.Time) string {
	var out []time.Duration
	for _, r := range w.of(key) {
		out = append(out, r.slot.Planned.Sub(from))
	}
	return fmt.Sprint(out)
}

// drainEvents returns the kinds of the events of a branch, and clears all events.
func (w *world) drainEvents(key scheduler.Key) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []scheduler.EventKind
	for _, e := range w.events {
		if e.Key == key {
			out = append(out, e.Kind)
		}
	}
	w.events = nil
	return fmt.Sprint(out)
}

var errDown = errors.New("store is down")
