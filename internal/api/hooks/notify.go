package hooks

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/service"
)

// Maintain creates notifications of events in a namespace and sends them, until ctx is done. It
// continues where it, or another process, stopped: events added to the feed in the meantime lead to
// notifications, too. Errors are logged and retried.
func (h *Hooks) Maintain(ctx context.Context, namespace string, s *service.Service) {
	var wg sync.WaitGroup
	defer wg.Wait()
	again := func(what string, do func(*space) error) {
		wg.Go(func() {
			for ctx.Err() == nil {
				sp, err := h.spaceOf(namespace, s)
				if err == nil {
					err = do(sp)
				}
				if err != nil && ctx.Err() == nil && !errors.Is(err, ErrMoved) {
					h.cfg.Logger.Warn(what, "namespace", namespace, "err", err)
				}
				pause(ctx, h.cfg.Pace.Every)
			}
		})
	}
	woken := make(chan struct{}, 1)
	again("make notifications", func(sp *space) error { return h.collect(ctx, sp, woken, math.MaxInt64) })
	refused := map[journal.ScheduleKey]time.Time{}
	again("make notifications of refused schedules", func(sp *space) error {
		err := h.collectRefused(ctx, sp, refused, woken)
		pause(ctx, (refusedRounds-1)*h.cfg.Pace.Every)
		return err
	})
	again("send notifications", func(sp *space) error { return h.send(ctx, sp, woken) })
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// idleNotices is the number of notices without a subscriber after which the cursor is moved, so
// that they do not cost a write each.
const idleNotices = 256

// Begin stores the position at which the notifications of a namespace start, after the newest
// notice, unless one is already stored. Call it before the service is made available, so that no
// event after the creation of the first endpoint is missed, however late the first round of
// Maintain is. It returns errors from the store.
func (h *Hooks) Begin(ctx context.Context, namespace string, s *service.Service) error {
	sp, err := h.spaceOf(namespace, s)
	if err == nil {
		_, err = cursor(ctx, sp)
	}
	if errors.Is(err, ErrMoved) {
		return nil // another process stored it
	}
	return err
}

// cursor returns the position of the last notice for which notifications were created. If none is
// stored, it stores that of the newest notice. It returns ErrMoved if another process did so first,
// or errors from the store.
func cursor(ctx context.Context, sp *space) (int64, error) {
	stored, found, err := sp.store.Cursor(ctx)
	if err != nil || found {
		return stored, err
	}
	last, err := sp.service.LastNotice(ctx)
	if err != nil {
		return 0, err
	}
	return int64(last), sp.store.Post(ctx, 0, int64(last), nil)
}

// collect creates notifications from the feed, starting after the cursor. Notifications and cursor
// are written together, so that a crash neither skips nor duplicates anything. It returns after the
// notice last, and ErrMoved if another process did so first, or errors from the feed or the store.
func (h *Hooks) collect(ctx context.Context, sp *space, woken chan<- struct{}, last int64) error {
	stored, err := cursor(ctx, sp)
	if err != nil || stored >= last {
		return err
	}
	for n, err := range sp.service.Feed(ctx, uint64(stored)) {
		if err != nil {
			return err
		}
		notifications, err := h.notificationsOf(ctx, sp, n)
		if _, ok := errors.AsType[*journal.CorruptError](err); ok { // it is permanent, and must not block other runs
			h.cfg.Logger.Error("no notifications for a run that cannot be read", "namespace", sp.name, "run", n.Run,
				"event", n.Seq, "err", err)
			err = nil
		}
		if err != nil {
			return err
		}
		at := int64(n.ID)
		if len(notifications) > 0 || at-stored >= idleNotices {
			if err := sp.store.Post(ctx, stored, at, notifications); err != nil {
				return err
			}
			stored = at
			select {
			case woken <- struct{}{}:
			default:
			}
		}
		if at >= last {
			return nil
		}
	}
	return nil
}

// notificationsOf returns the notifications for a notice.
func (h *Hooks) notificationsOf(ctx context.Context, sp *space, n journal.Notice) ([]Notification, error) {
	t := Type(n.Type)
	if !slices.Contains(Types(), t) {
		return nil, nil
	}
	endpoints, err := h.endpoints(ctx, sp)
	if err != nil {
		return nil, err
	}
	endpoints = slices.DeleteFunc(endpoints, func(e Endpoint) bool {
		return len(e.On) > 0 && !slices.Contains(e.On, t)
	})
	if len(endpoints) == 0 {
		return nil, nil
	}
	about, err := sp.service.Noticed(ctx, n)
	if errors.Is(err, journal.ErrNotFound) {
		return nil, nil // it was pruned
	}
	if err != nil {
		return nil, err
	}
	head := about.Head
	endpoints = slices.DeleteFunc(endpoints, func(e Endpoint) bool {
		return !wants(&e, t, head.Parent != "", head.Workflow, head.WorkflowName)
	})
	if len(endpoints) == 0 {
		return nil, nil
	}
	var w *journaledWait
	if id := waitOf(about.Event); id != "" {
		if w, _, err = readWait(ctx, sp.service, n.Run, id); err != nil && !errors.Is(err, waits.ErrNotFound) {
			if errors.Is(err, journal.ErrNotFound) {
				err = nil
			}
			return nil, err
		}
	}
	if w != nil && w.Below != nil {
		asked, err := sp.service.IsAskedBelow(ctx, n.Run, w.Below)
		if err != nil {
			return nil, err
		}
		// Endpoints that are notified of child runs get the child run's notification of the wait,
		// once, rather than one from each parent run that repeats the wait.
		endpoints = slices.DeleteFunc(endpoints, func(e Endpoint) bool {
			return asked && e.Children && len(e.Workflows) == 0
		})
		if len(endpoints) == 0 {
			return nil, nil
		}
	}
	body, err := json.Marshal(messageOf(sp.name, head, about.Event, t, w))
	if err != nil {
		return nil, err
	}
	var out []Notification
	now := storedTime(time.Now())
	for _, e := range endpoints {
		one := Notification{
			ID: notificationID(e.ID, n.Run, n.Seq, 0), Endpoint: e.ID, Type: t, Run: n.Run, Body: body,
			State: StatePending, Made: now, Due: now,
		}
		if w != nil {
			one.Wait = w.Wait
		}
		out = append(out, one)
	}
	return out, nil
}

// waitOf returns the wait that an event is about, or "" if it is about none.
func waitOf(e event.Event) string {
	switch d := e.Data.(type) {
	case *event.WaitOpened:
		return d.Wait
	case *event.WaitReminded:
		return d.Wait
	case *event.WaitAnswered:
		return d.Wait
	case *event.WaitClosed:
		return d.Wait
	}
	return ""
}

const (
	// roundSize is the maximum number of notifications taken per round, perEndpoint the maximum
	// in flight to one endpoint.
	roundSize   = 64
	perEndpoint = 4
	sweepEvery  = time.Hour
)

// send repeatedly sends what is due, until ctx is done. A slow endpoint neither delays the others,
// nor is its entire backlog held in memory: nothing more is taken for an endpoint that has enough
// queued (SEC17).
func (h *Hooks) send(ctx context.Context, sp *space, woken <-chan struct{}) error {
	var (
		wg    sync.WaitGroup
		q     = queues{all: map[string]*queue{}, notFull: make(chan struct{}, 1)}
		swept time.Time
		busy  = time.Now() // when something was last due
	)
	defer wg.Wait()
	for ctx.Err() == nil {
		now := time.Now()
		if now.Sub(swept) >= sweepEvery {
			if err := sp.store.Sweep(ctx, storedTime(now), storedTime(now.Add(-h.cfg.Pace.Kept))); err != nil {
				return err
			}
			swept = now
		}
		// The notifications are hidden from other processes for as long as one may wait for its
		// turn and be tried: if this process dies, another one sends them soon afterwards.
		// Notifications whose turn does not come are taken again.
		begin := now.Add(h.cfg.Pace.Timeout)
		due, err := sp.store.Take(ctx, storedTime(now), storedTime(begin.Add(h.cfg.Pace.Timeout+settleTimeout)),
			roundSize,
			q.full())
		if err != nil {
			return err
		}
		for _, n := range due {
			free, leave := q.join(n.Endpoint)
			wg.Go(func() {
				defer leave()
				turn, cancel := context.WithDeadline(ctx, begin)
				defer cancel()
				select {
				case free <- struct{}{}:
					defer func() { <-free }()
				case <-turn.Done():
					return
				}
				h.try(ctx, sp, n)
			})
		}
		if len(due) == roundSize {
			continue
		}
		if len(due) > 0 {
			busy = now
		}
		t := time.NewTimer(h.cfg.Pace.pollDelay(now.Sub(busy)))
		select {
		case <-t.C:
		case <-woken:
			busy = time.Now()
		case <-q.notFull:
		case <-ctx.Done():
		}
		t.Stop()
	}
	return nil
}

// queues holds the notifications that this process has taken, by endpoint. It is safe for
// concurrent use.
type queues struct {
	mu  sync.Mutex
	all map[string]*queue
	// notFull receives when an endpoint's queue is no longer full.
	notFull chan struct{}
}

type queue struct {
	slots   chan struct{}
	sending int
}

// full returns the endpoints for which nothing more is taken: the others hold less than two rounds,
// however much is due.
func (q *queues) full() (names []string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for name, one := range q.all {
		if one.sending >= roundSize {
			names = append(names, name)
		}
	}
	return names
}

// join adds a notification to the queue of an endpoint, until leave is called. It is sent while it
// holds a slot in slots.
func (q *queues) join(endpoint string) (slots chan struct{}, leave func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	one := q.all[endpoint]
	if one == nil {
		one = &queue{slots: make(chan struct{}, perEndpoint)}
		q.all[endpoint] = one
	}
	one.sending++
	return one.slots, func() {
		q.mu.Lock()
		defer q.mu.Unlock()
		switch one.sending--; one.sending {
		case roundSize / 2: // time to take more
			select {
			case q.notFull <- struct{}{}:
			default:
			}
		case 0:
			delete(q.all, endpoint)
		}
	}
}

// try sends one notification and stores the outcome.
func (h *Hooks) try(ctx context.Context, sp *space, n Notification) {
	state, wait, err := h.sendOne(ctx, sp, n)
	now := time.Now()
	switch {
	case err == nil:
		n.State, n.Settled, n.Due, n.Error = state, storedTime(now), time.Time{}, ""
	case ctx.Err() != nil: // stopping: not counted as an attempt
		n.Due = storedTime(now)
	case state == StateDead || n.Tries >= len(h.cfg.Pace.Delays):
		n.State, n.Settled, n.Due, n.Error = StateDead, storedTime(now), time.Time{}, err.Error()
		n.Tries++
		h.cfg.Logger.Warn("notification abandoned", "id", n.ID, "run", n.Run, "endpoint", n.Endpoint, "err", err)
	default:
		n.Due, n.Error = storedTime(now.Add(max(wait, h.cfg.Pace.Delays[n.Tries]))), err.Error()
		n.Tries++
	}
	switch {
	case err == nil:
		h.count(CountTry, string(state))
	case n.State == StateDead:
		h.count(CountTry, string(StateDead))
	case ctx.Err() == nil:
		h.count(CountTry, "failed")
	}
	store, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTimeout)
	defer cancel()
	if err := sp.store.Settle(store, n); err != nil {
		h.cfg.Logger.Warn("notification", "id", n.ID, "err", err) // it is retried later
	}
}

// settleTimeout limits how long writing the outcome of an attempt may take while the process stops.
const settleTimeout = 5 * time.Second

// sendOne makes one attempt to send a notification. Without an error it returns StateDelivered or
// StateDropped. With an error it returns StateDead if retrying is useless, and otherwise
// StatePending and the delay that the endpoint requested.
func (h *Hooks) sendOne(ctx context.Context, sp *space, n Notification) (became State, wait time.Duration, err error) {
	endpoints, err := h.endpoints(ctx, sp)
	if err != nil {
		return StatePending, 0, err
	}
	i := slices.IndexFunc(endpoints, func(e Endpoint) bool { return e.ID == n.Endpoint })
	if i < 0 {
		return StateDead, 0, errors.New("the endpoint was deleted")
	}
	e := &endpoints[i]
	if n.Type == TypeWaitReminded {
		w, _, err := readWait(ctx, sp.service, n.Run, n.Wait)
		if err == nil && !w.isOpen() || errors.Is(err, journal.ErrNotFound) {
			return StateDropped, 0, nil
		}
	}
	body, err := h.body(ctx, sp, e, &n)
	if err != nil {
		return StatePending, 0, err
	}
	keys, err := h.keysOf(sp, e, time.Now())
	if len(keys) == 0 {
		if err == nil {
			err = errors.New("it has expired")
		}
		return StatePending, 0, fmt.Errorf("the secret of the endpoint %s is not usable: %s", labelOf(e),
			oneLine(err.Error()))
	}
	header, err := sign(keys, n.ID, time.Now(), body)
	if err != nil {
		return StatePending, 0, err
	}
	return h.post(sp.service.Tracing(ctx, n.Run), e, header, body)
}
