package hocket

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/project"
	"github.com/hocket-run/hocket/internal/service"
)

// following is a run that somebody follows.
type following struct {
	e   *Engine
	b   *bound
	run string
	// after is the event from which on steps are given.
	after uint64
	// stillborn is the state of a run that was cancelled before it started; nil for all others.
	stillborn engine.Value
	// model gives the model that a node resolves to.
	model func(node string, state map[string]json.RawMessage) string
	// observer is told of the run's events; nil: nobody is.
	observer observer
	self     *follower
	// launched is a run that is followed to its end alone, folder what it comes to; nil for all others. unbegun: it was not stored.
	launched service.Launched
	folder   *project.GraphFolder
	unbegun  bool
	// release lets a store in memory drop the run once it has ended.
	release func()
}

// notBegun says that the run was not stored, because of err.
func (f *following) notBegun(ctx context.Context, err error) error {
	f.done()
	f.release()
	f.unbegun = true
	f.e.unbegun(ctx, f.run)
	return known(err)
}

// left says that this one does not follow the run any more.
func (f *following) left() {
	if f.observer != nil {
		f.observer.left()
	}
	f.done()
}

// follow notes who follows a run; done takes the note back, and release says that nothing of the run is read any more.
func follow(ctx context.Context, e *Engine, b *bound, run string) *following {
	return &following{e: e, b: b, run: run, self: e.followers.add(run, ctx), release: e.service.Hold(run)}
}

func (f *following) done() { f.e.followers.remove(f.run, f.self) }

// leaveTime bounds how long a run that is left is told to stop.
const leaveTime = 10 * time.Second

// leave interrupts the run, or cancels it where nothing keeps it. Where others wait for it, it goes on.
func (f *following) leave(ctx context.Context) error {
	if f.e.followers.leave(f.run, f.self) {
		return nil
	}
	reason := "no caller is waiting for the run"
	if ctx.Err() != nil {
		reason = context.Cause(ctx).Error()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), leaveTime)
	defer cancel()
	// What functions give all the same is recorded first: the node from which a run is aborted completes (S2-36).
	if err := f.e.service.Interrupt(ctx, f.run); err != nil || f.e.durable {
		return known(err)
	}
	if err := f.e.service.Cancel(ctx, f.run, reason); err != nil && !errors.Is(err, engine.ErrEnded) {
		return known(err)
	}
	_, err := f.e.service.Wait(ctx, f.run)
	return known(err)
}

// closed says of a run whose engine was closed that it was interrupted.
func (f *following) closed(err error) error {
	if errors.Is(err, ErrClosed) && !errors.Is(err, ErrInterrupted) {
		return &InterruptedError{Run: f.run, Cause: ErrClosed}
	}
	return err
}

// followers are those who follow runs in this process: calls of Run, Stream, Resume and Wait. A run goes on as long as one of them waits for it. The zero
// value is ready. Safe for concurrent use.
type followers struct {
	mu sync.Mutex
	of map[string][]*follower
	// removed is closed when the next follower is taken back; nil: nobody waits for that.
	removed chan struct{}
}

// follower is one of them. Two may have the same context, and contexts need not be comparable.
type follower struct {
	ctx  context.Context //nolint:containedctx,nolintlint // asked whether it is done
	left bool
}

func (f *follower) waits() bool { return !f.left && f.ctx.Err() == nil }

func (f *followers) add(run string, ctx context.Context) *follower { //nolint:revive,nolintlint // the context is what is kept
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.of == nil {
		f.of = map[string][]*follower{}
	}
	one := &follower{ctx: ctx}
	f.of[run] = append(f.of[run], one)
	return one
}

// leave notes that a follower gives a run up, and tells whether others wait for it. It counts until it is removed: no function begins meanwhile.
func (f *followers) leave(run string, one *follower) (others bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.left = true
	return slices.ContainsFunc(f.of[run], (*follower).waits)
}

// remove takes a follower back; one that is not there is no error.
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

// abandoned tells whether all who followed a run have given it up, and are about to interrupt it: then it gives what is closed when that may have
// changed, else nil. A run that nobody follows is not abandoned.
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
