package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

// settle waits for the end of the run and returns its result.
func settle[S any](ctx context.Context, g *graph.Compiled[S], f *following) (*Result[S], error) {
	if f.cancelledBeforeStart != nil {
		return cancelledBeforeStart(g, f)
	}
	defer f.unfollowed()
	var s *streaming[S]
	if f.observer != nil {
		s = newStreaming(g, f, func(Step[S], error) bool { return true })
		if err := s.watch(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errAbandoned) {
			f.e.log.Warn("cannot observe the run to its end", "run", f.run, "err", err)
		}
	}
	st, ended, err := f.wait(ctx)
	switch {
	case f.notStored:
		return nil, err
	case ended != nil:
		return resultOf(g, f, ended.Typed(), ended.State())
	case ctx.Err() != nil:
		if err := f.leave(ctx); err != nil {
			return nil, err
		}
		if s != nil && !s.ended {
			_ = s.yieldRemaining(context.WithoutCancel(ctx), nil) // what was recorded meanwhile; result reports errors
		}
	case err != nil:
		return nil, f.closed(known(err))
	}
	r, err := result(context.WithoutCancel(ctx), g, f)
	switch {
	case err != nil:
		return nil, f.closed(err)
	case r.Status.isActive() && ctx.Err() != nil:
		return r, &InterruptedError{Run: f.run, Cause: context.Cause(ctx)}
	case r.Status.isActive() && st.Interrupted:
		return r, &InterruptedError{Run: f.run, Cause: f.e.interruptCause()}
	}
	return r, nil
}

// wait waits for the run. If no observer needs its steps, its events are folded once: by the
// driver, or else as this process stores them, which saves reading them back. The folder is
// returned if the run has ended; a run that can continue needs its journal.
func (f *following) wait(ctx context.Context) (driver.State, *project.GraphFolder, error) {
	if f.launched != nil {
		return f.waitLaunched(ctx)
	}
	if f.observer != nil {
		st, err := f.e.service.Wait(ctx, f.run)
		return st, nil, err
	}
	folder := project.NewGraphStateFolder(f.run, f.b.plan)
	st, err := f.e.service.Follow(ctx, f.run, func(ev *event.Event) error {
		if _, err := folder.Add(*ev); err != nil {
			return fmt.Errorf("read run %s: %w", f.run, err)
		}
		return nil
	})
	if err != nil {
		return st, nil, err
	}
	if !folder.Status().Ended() {
		return st, nil, nil
	}
	return st, folder, nil
}

func (f *following) waitLaunched(ctx context.Context) (driver.State, *project.GraphFolder, error) {
	begun, err := f.launched.Wait(ctx)
	switch {
	case !begun:
		return driver.State{}, nil, f.markNotStored(err)
	case err != nil:
		return driver.State{}, nil, err
	}
	if status := f.folder.Status(); status.Ended() {
		return driver.State{Status: status}, f.folder, nil
	}
	st, err := f.e.service.Wait(ctx, f.run)
	return st, nil, err
}

// stream follows the run and yields its steps.
func stream[S any](ctx context.Context, g *graph.Compiled[S], f *following, yield func(Step[S], error) bool) {
	if f.cancelledBeforeStart != nil {
		r, err := cancelledBeforeStart(g, f)
		if err != nil {
			yield(Step[S]{}, err)
			return
		}
		yield(Step[S]{NodeID: r.Snapshot.CurrentNodeID, State: r.State, Status: r.Status, Error: r.Err}, nil)
		return
	}
	defer f.unfollowed()
	told := false
	defer func() {
		if told {
			return
		}
		// The loop's body panicked, or ended its goroutine: treat it like any other early exit.
		if err := f.leave(ctx); err != nil {
			f.e.log.Warn("cannot interrupt run", "run", f.run, "err", err)
		}
	}()
	streamSteps(ctx, g, f, yield)
	told = true
}

// streamSteps yields the steps of a run that is followed.
func streamSteps[S any](ctx context.Context, g *graph.Compiled[S], f *following, yield func(Step[S], error) bool) {
	s := newStreaming(g, f, yield)
	err := s.watch(ctx)
	switch {
	case s.ended:
		return
	case s.stopped:
		if err := f.leave(ctx); err != nil {
			f.e.log.Warn("cannot interrupt run", "run", f.run, "err", err)
		} else if f.observer != nil {
			s.yield, s.stopped = func(Step[S], error) bool { return true }, false
			_ = s.yieldRemaining(context.WithoutCancel(ctx), nil) // what was recorded meanwhile is still yielded
		}
		return
	case ctx.Err() != nil:
		if err = f.leave(ctx); err == nil {
			err = s.yieldRemaining(context.WithoutCancel(ctx), context.Cause(ctx))
		}
	}
	if !s.ended && !s.stopped {
		yield(Step[S]{}, f.closed(known(err)))
	}
}

// streaming is an active stream.
type streaming[S any] struct {
	*following
	graph          *graph.Compiled[S]
	folder         *project.GraphFolder
	yield          func(Step[S], error) bool
	seq            uint64
	ended, stopped bool // the run ended or is paused; the consumer stopped
}

func newStreaming[S any](g *graph.Compiled[S], f *following, yield func(Step[S], error) bool) *streaming[S] {
	return &streaming[S]{following: f, graph: g, folder: project.NewGraphFolder(f.run, f.b.plan), yield: yield}
}

func (s *streaming[S]) watch(ctx context.Context) error {
	watched, stop := s.guarded(ctx)
	defer stop()
	for u, err := range s.e.service.Watch(watched, s.run, 0) {
		if err != nil && ctx.Err() == nil && errors.Is(context.Cause(watched), errAbandoned) {
			return s.yieldRemaining(ctx, errAbandoned)
		}
		if err != nil {
			return err
		}
		if u.Event == nil {
			continue
		}
		if err := s.add(*u.Event); err != nil || s.ended || s.stopped {
			return err
		}
	}
	return nil
}

// yieldRemaining yields the steps recorded while the run was being interrupted, and then an error
// saying that it was interrupted.
func (s *streaming[S]) yieldRemaining(ctx context.Context, cause error) error {
	events, err := s.e.service.Events(ctx, s.run, s.seq)
	if err != nil {
		return err
	}
	for _, ev := range events {
		if err := s.add(ev); err != nil || s.ended || s.stopped {
			return err
		}
	}
	return &InterruptedError{Run: s.run, Cause: cause}
}

func (s *streaming[S]) add(ev event.Event) error {
	steps, err := s.folder.Add(ev)
	if err != nil {
		return fmt.Errorf("read run %s: %w", s.run, err)
	}
	s.seq = ev.Seq
	if s.observer != nil {
		s.observer.folded(&ev, s.folder)
	}
	for _, g := range steps {
		if g.Seq <= s.after {
			continue
		}
		step, err := stepOf(s.graph, g)
		if err != nil {
			return err
		}
		step.ModelUsed = s.model(g.Node, g.State)
		if !s.yield(step, nil) {
			s.stopped = true
		}
		if step.Status != StatusRunning {
			s.ended, s.stopped = true, false
		}
		if s.stopped || s.ended {
			return nil
		}
	}
	return nil
}

// following is a run that a call follows.
type following struct {
	e   *Engine
	b   *bound
	run string
	// by is the ledger of the call that follows the run.
	by driver.Ledger
	// after is the number of the event after which steps are yielded.
	after uint64
	// cancelledBeforeStart is the state of a run that was cancelled before it started; nil for
	// other runs.
	cancelledBeforeStart event.Value
	// model returns the model that a node resolves to.
	model func(node string, state map[string]json.RawMessage) string
	// observer receives the run's events; may be nil.
	observer observer
	self     *follower
	// launched is set for a run that is only followed to its end, with its outcome in folder; both
	// are nil for other runs. notStored means that the run was not stored.
	launched  service.Launched
	folder    *project.GraphFolder
	notStored bool
	// attached means that another call started the run, so that its usage is not reported to the
	// ledger by.
	attached bool
	// release allows a store in memory to drop the run once it has ended.
	release func()
}

// startError returns the cause of ctx if a start ended with ctx while waiting for another run, and
// err otherwise.
func startError(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return context.Cause(ctx)
	}
	return err
}

// markNotStored records that the run was not stored, because of err.
func (f *following) markNotStored(err error) error {
	f.done()
	f.release()
	f.notStored = true
	f.e.cancelReservation(f.by, f.run)
	return known(err)
}

// reportUsage reports the run's usage to the ledger by, if this call started the run.
func (f *following) reportUsage(ctx context.Context) {
	if !f.notStored && !f.attached {
		f.e.reportUsage(ctx, f.by, f.run)
	}
}

// unfollowed marks the run as no longer followed by f.
func (f *following) unfollowed() {
	if f.observer != nil {
		f.observer.unfollowed()
	}
	f.done()
}

// follow registers a follower of a run; done removes it, and release allows the run to be dropped
// once it is no longer read.
func follow(ctx context.Context, e *Engine, b *bound, run string) *following {
	return &following{e: e, b: b, run: run, by: callerOf(ctx), self: e.followers.add(run, ctx),
		release: e.service.Hold(run)}
}

func (f *following) done() { f.e.followers.remove(f.run, f.self) }

// stopTimeout is how long to wait for an abandoned run to stop.
const stopTimeout = 10 * time.Second

// leave interrupts the run, or cancels it if it is not persisted. If other followers wait for it,
// the run continues.
func (f *following) leave(ctx context.Context) error {
	if f.e.followers.abandon(f.run, f.self) {
		return nil
	}
	reason := "no caller is waiting for the run"
	if ctx.Err() != nil {
		reason = context.Cause(ctx).Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTimeout)
	defer cancel()
	// Results that functions still return are recorded first, so that the node that aborts its run
	// completes.
	if err := f.e.service.Interrupt(ctx, f.run); err != nil || f.e.durable {
		return known(err)
	}
	if err := f.e.service.Cancel(ctx, f.run, reason); err != nil && !errors.Is(err, engine.ErrEnded) {
		return known(err)
	}
	_, err := f.e.service.Wait(ctx, f.run)
	return known(err)
}

// closed returns an *InterruptedError if err says that the engine was closed, and err otherwise.
func (f *following) closed(err error) error {
	if errors.Is(err, ErrClosed) && !errors.Is(err, ErrInterrupted) {
		return &InterruptedError{Run: f.run, Cause: ErrClosed}
	}
	return err
}

// followers tracks the calls of Run, Stream, Resume and Wait that follow runs in this process. A
// run continues as long as one of them waits for it. The zero value is ready to use. It is safe for
// concurrent use.
type followers struct {
	mu sync.Mutex
	of map[string][]*follower
	// removed is closed when the next follower is removed; nil if nobody waits for that.
	removed chan struct{}
}

// follower is a call that follows a run. Two may have the same context, and contexts need not be
// comparable.
type follower struct {
	ctx  context.Context //nolint:containedctx,nolintlint // asked whether it is done
	left bool
}

func (f *follower) waits() bool { return !f.left && f.ctx.Err() == nil }

func (f *followers) add(run string,
	ctx context.Context) *follower { //nolint:revive,nolintlint // the context is what is kept
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string][]*follower{}
	}
	one := &follower{ctx: ctx}
	f.of[run] = append(f.of[run], one)
	return one
}

// abandon records that a follower abandons a run, and reports whether others still wait for it. The
// follower counts until it is removed: no function starts in the meantime.
func (f *followers) abandon(run string, one *follower) (others bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.left = true
	return slices.ContainsFunc(f.of[run], (*follower).waits)
}

// remove removes a follower; removing an absent one is a no-op.
func (f *followers) remove(run string, one *follower) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.removed != nil {
		close(f.removed)
		f.removed = nil
	}
	list := slices.DeleteFunc(f.of[run], func(o *follower) bool { return o == one })
	if len(list) == 0 {
		delete(f.of, run)
		return
	}
	f.of[run] = list
}

// abandoned returns a non-nil channel if all followers of a run have abandoned it and are about to
// interrupt it; the channel is closed when that may have changed. A run without followers is not
// abandoned.
func (f *followers) abandoned(run string) <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	if list := f.of[run]; len(list) == 0 || slices.ContainsFunc(list, (*follower).waits) {
		return nil
	}
	if f.removed == nil {
		f.removed = make(chan struct{})
	}
	return f.removed
}
