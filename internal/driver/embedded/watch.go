package embedded

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// hubs distributes updates to watchers. The zero value is ready for use.
type hubs struct {
	mu   sync.RWMutex
	subs map[string][]*subscription
}

// subscription holds what one watcher has not seen yet. Its size is limited: a watcher that is too
// slow loses deltas, and reads events from the store.
type subscription struct {
	mu     sync.Mutex
	items  []driver.Update
	behind bool // events were dropped
	notify chan struct{}
	// batch is the number of items that wakes the watcher; more may arrive before it reads them.
	batch int
}

const (
	maxPending = 1024
	// followBatch is large enough that a follower is not woken for each step, and small enough to
	// limit its queue.
	followBatch = 256
	// maxPendingDeltas leaves room for events after a flood of deltas.
	maxPendingDeltas = 768
)

func (h *hubs) subscribe(run string, batch int) *subscription {
	s := &subscription{notify: make(chan struct{}, 1), batch: batch}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs == nil {
		h.subs = map[string][]*subscription{}
	}
	h.subs[run] = append(slices.Clip(h.subs[run]), s)
	return s
}

func (h *hubs) unsubscribe(run string, s *subscription) {
	h.mu.Lock()
	defer h.mu.Unlock()
	var rest []*subscription
	for _, o := range h.subs[run] {
		if o != s {
			rest = append(rest, o)
		}
	}
	if h.subs[run] = rest; len(rest) == 0 {
		delete(h.subs, run)
	}
}

// watchersOf returns the watchers of a run; the slice is never changed.
func (h *hubs) watchersOf(run string) []*subscription {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.subs[run]
}

func (s *subscription) put(items ...driver.Update) {
	s.mu.Lock()
	for _, u := range items {
		switch {
		case u.Delta != nil && len(s.items) < maxPendingDeltas, u.Event != nil && len(s.items) < maxPending &&
			!s.behind:
			s.items = append(s.items, u)
		case u.Event != nil:
			s.behind = true
		}
	}
	wake := len(s.items) >= s.batch || s.behind
	s.mu.Unlock()
	if !wake {
		return
	}
	select {
	case s.notify <- struct{}{}:
	default:
	}
}

func (s *subscription) take() (items []driver.Update, behind bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	items, behind = s.items, s.behind
	s.items, s.behind = nil, false
	return items, behind
}

// publish passes on events that have become durable.
func (a *actor) publish(events []event.Event) {
	if len(events) == 0 {
		return
	}
	if fn := a.d.cfg.Hooks.Events; fn != nil {
		fn(a.id, events)
	}
	if a.observe != nil {
		a.observe(a.run, events)
	}
	a.d.hubs.publish(a.id, events)
}

func (h *hubs) publish(run string, events []event.Event) {
	subs := h.watchersOf(run)
	if len(subs) == 0 {
		return
	}
	items := make([]driver.Update, len(events))
	for i := range events {
		items[i].Event = &events[i]
	}
	for _, s := range subs {
		s.put(items...)
	}
}

// say passes on a delta of a model's reply.
func (a *actor) say(delta driver.Delta) { a.d.Say(a.id, delta) }

// subscribeDeltas sends a subscription the model output of a run that another process drives.
func (d *Driver) subscribeDeltas(run string, sub *subscription) (stop func()) {
	return d.cfg.Store.Listen(run, func(text string) {
		for _, delta := range held.Heard(text) {
			sub.put(driver.Update{Delta: &delta})
		}
	})
}

// Watch implements driver.Driver. Events of runs driven by this process are seen as they are
// stored; all other events when the store signals them.
func (d *Driver) Watch(ctx context.Context, run string, from uint64) iter.Seq2[driver.Update, error] {
	return func(yield func(driver.Update, error) bool) {
		sub := d.hubs.subscribe(run, 1)
		defer d.hubs.unsubscribe(run, sub)
		w := watcher{d: d, run: run, seq: from, yield: yield}
		if err := w.follow(ctx, sub); err != nil && !w.left {
			yield(driver.Update{}, err)
		}
	}
}

// watcher is a Watch in progress. seq is the last event that was yielded.
type watcher struct {
	d     *Driver
	run   string
	seq   uint64
	ended bool // the last yielded event ends the run
	left  bool // the consumer has stopped
	yield func(driver.Update, error) bool
	// replied are the calls whose replies were yielded last: deltas for them from another process
	// arrive too late.
	replied []string
}

// maxReplied is the maximum length of watcher.replied. Late deltas are only moments late.
const maxReplied = 64

func (w *watcher) follow(ctx context.Context, sub *subscription) error {
	if err := w.catchUp(ctx); err != nil {
		return err
	}
	for !w.left && !w.ended {
		w.d.mu.Lock()
		a := w.d.runs[w.run]
		w.d.mu.Unlock()
		if a == nil {
			if err := w.elsewhere(ctx, sub); err != nil {
				return err
			}
			continue
		}
		select {
		case <-sub.notify:
			if err := w.drain(ctx, sub); err != nil {
				return err
			}
		case <-a.gone:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.d.root.Done():
			return driver.ErrClosed
		}
	}
	return nil
}

// elsewhere follows a run that is not driven here until it is.
func (w *watcher) elsewhere(ctx context.Context, sub *subscription) error {
	changes := w.d.subscribe(journal.OfRun(w.run))
	defer changes.stop()
	defer w.d.subscribeDeltas(w.run, sub)()
	poll := time.NewTicker(journal.SafetyPoll)
	defer poll.Stop()
	for {
		// Deltas come before events from the store.
		if err := w.drain(ctx, sub); err != nil {
			return err
		}
		here, err := w.poll(ctx)
		if here || err != nil || w.left || w.ended {
			return err
		}
		select {
		case <-sub.notify:
		case <-changes.c:
		case <-poll.C:
		case <-ctx.Done():
			return ctx.Err()
		case <-w.d.root.Done():
			return driver.ErrClosed
		}
	}
}

// drain yields the items of the subscription.
func (w *watcher) drain(ctx context.Context, sub *subscription) error {
	items, behind := sub.take()
	for _, u := range items {
		if !w.live(u) {
			behind = true
			break
		}
	}
	if !behind || w.left || w.ended {
		return nil
	}
	return w.catchUp(ctx)
}

// poll reads further events if the run is not driven here.
func (w *watcher) poll(ctx context.Context) (here bool, _ error) {
	w.d.mu.Lock()
	here = w.d.runs[w.run] != nil
	w.d.mu.Unlock()
	if here || w.left || w.ended {
		return here, nil
	}
	head, err := w.d.cfg.Store.Head(ctx, w.run)
	if err != nil || head.LastSeq <= w.seq {
		return false, err
	}
	return false, w.catchUp(ctx)
}

// live yields an update unless it is an event that was already yielded. It returns false if an
// event before it is missing.
func (w *watcher) live(u driver.Update) bool {
	switch {
	case w.left || w.ended:
	case u.Event == nil:
		if !slices.Contains(w.replied, u.Delta.Call) {
			w.left = !w.yield(u, nil)
		}
	case u.Event.Seq <= w.seq:
	case u.Event.Seq > w.seq+1:
		return false
	default:
		w.give(u.Event)
	}
	return true
}

func (w *watcher) give(e *event.Event) {
	w.seq = e.Seq
	if d, ok := e.Data.(*event.ModelReplied); ok {
		w.replied = append(w.replied[max(0, len(w.replied)+1-maxReplied):], d.Call)
	}
	w.left = !w.yield(driver.Update{Event: e}, nil)
	w.ended = event.StatusOf(e.Data).Ended()
}

// catchUp reads the events after seq from the journal. If a run ended and was reopened, it
// continues.
func (w *watcher) catchUp(ctx context.Context) error {
	head, err := w.d.cfg.Store.Head(ctx, w.run)
	if err != nil {
		return err
	}
	if head.LastSeq < w.seq {
		return fmt.Errorf("watch run %s: it has %d events, not %d", w.run, head.LastSeq, w.seq)
	}
	if w.ended = head.LastSeq == w.seq && head.Status.Ended(); head.LastSeq == w.seq {
		return nil
	}
	return w.d.events(ctx, w.run, w.seq, func(events []event.Event) error {
		for i := range events {
			if w.left {
				return nil
			}
			w.give(&events[i])
		}
		return nil
	})
}
