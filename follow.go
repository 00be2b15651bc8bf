package hocket

import (
	"context"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/project"
)

// settle waits for the end of the run and gives its result.
func settle[S any](ctx context.Context, g *graph.Compiled[S], f *following) (*Result[S], error) {
	if f.stillborn != nil {
		return stillborn(g, f)
	}
	defer f.left()
	var s *streaming[S]
	if f.observer != nil {
		s = newStreaming(g, f, func(Step[S], error) bool { return true })
		if err := s.watch(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errAbandoned) {
			f.e.log.Warn("cannot observe the run to its end", "run", f.run, "err", err)
		}
	}
	st, last, err := f.wait(ctx)
	switch {
	case f.unbegun:
		return nil, err
	case last != nil:
		return resultOf(g, f, *last)
	case ctx.Err() != nil:
		if err := f.leave(ctx); err != nil {
			return nil, err
		}
		if s != nil && !s.ended {
			_ = s.rest(context.WithoutCancel(ctx), nil) // what was recorded meanwhile; result tells of errors
		}
	case err != nil:
		return nil, f.closed(known(err))
	}
	r, err := result(context.WithoutCancel(ctx), g, f)
	switch {
	case err != nil:
		return nil, f.closed(err)
	case r.Status == StatusRunning && ctx.Err() != nil:
		return r, &InterruptedError{Run: f.run, Cause: context.Cause(ctx)}
	case r.Status == StatusRunning && st.Interrupted:
		return r, &InterruptedError{Run: f.run, Cause: f.e.leftBy()}
	}
	return r, nil
}

// wait waits for the run. Where no observer needs its steps, its events are folded once: by the driver, or else as this process stores them, which saves reading
// them back; what they fold to is given where the run has ended, since one that can go on takes its journal along.
func (f *following) wait(ctx context.Context) (driver.State, *project.GraphState, error) {
	if f.launched != nil {
		return f.waitLaunched(ctx)
	}
	if f.observer != nil {
		st, err := f.e.service.Wait(ctx, f.run)
		return st, nil, err
	}
	folder := project.NewGraphStateFolder(f.run, f.b.plan)
	st, err := f.e.service.Follow(ctx, f.run, func(ev *engine.Event) error {
		if _, err := folder.Add(*ev); err != nil {
			return fmt.Errorf("read run %s: %w", f.run, err)
		}
		return nil
	})
	if err != nil {
		return st, nil, err
	}
	last := folder.State()
	if !last.Status.Ended() {
		return st, nil, nil
	}
	return st, &last, nil
}

func (f *following) waitLaunched(ctx context.Context) (driver.State, *project.GraphState, error) {
	begun, err := f.launched.Wait(ctx)
	switch {
	case !begun:
		return driver.State{}, nil, f.notBegun(ctx, err)
	case err != nil:
		return driver.State{}, nil, err
	}
	if last := f.folder.State(); last.Status.Ended() {
		return driver.State{Status: last.Status}, &last, nil
	}
	st, err := f.e.service.Wait(ctx, f.run)
	return st, nil, err
}

// stream follows the run and gives its steps.
func stream[S any](ctx context.Context, g *graph.Compiled[S], f *following, yield func(Step[S], error) bool) {
	if f.stillborn != nil {
		r, err := stillborn(g, f)
		if err != nil {
			yield(Step[S]{}, err)
			return
		}
		yield(Step[S]{NodeID: r.Snapshot.CurrentNodeID, State: r.State, Status: r.Status, Error: r.Err}, nil)
		return
	}
	defer f.left()
	told := false
	defer func() {
		if told {
			return
		}
		// The loop's body panicked, or ended its goroutine: the loop is left like any other.
		if err := f.leave(ctx); err != nil {
			f.e.log.Warn("cannot interrupt run", "run", f.run, "err", err)
		}
	}()
	tell(ctx, g, f, yield)
	told = true
}

// tell gives the steps of a run that is followed.
func tell[S any](ctx context.Context, g *graph.Compiled[S], f *following, yield func(Step[S], error) bool) {
	s := newStreaming(g, f, yield)
	err := s.watch(ctx)
	switch {
	case s.ended:
		return
	case s.gone:
		if err := f.leave(ctx); err != nil {
			f.e.log.Warn("cannot interrupt run", "run", f.run, "err", err)
		} else if f.observer != nil {
			s.yield, s.gone = func(Step[S], error) bool { return true }, false
			_ = s.rest(context.WithoutCancel(ctx), nil) // what was recorded meanwhile is told all the same
		}
		return
	case ctx.Err() != nil:
		if err = f.leave(ctx); err == nil {
			err = s.rest(context.WithoutCancel(ctx), context.Cause(ctx))
		}
	}
	if !s.ended && !s.gone {
		yield(Step[S]{}, f.closed(known(err)))
	}
}

// streaming is a stream at work.
type streaming[S any] struct {
	*following
	graph       *graph.Compiled[S]
	folder      *project.GraphFolder
	yield       func(Step[S], error) bool
	seq         uint64
	ended, gone bool // the run ended or is paused; the consumer left
}

func newStreaming[S any](g *graph.Compiled[S], f *following, yield func(Step[S], error) bool) *streaming[S] {
	return &streaming[S]{following: f, graph: g, folder: project.NewGraphFolder(f.run, f.b.plan), yield: yield}
}

func (s *streaming[S]) watch(ctx context.Context) error {
	watched, stop := s.guarded(ctx)
	defer stop()
	for u, err := range s.e.service.Watch(watched, s.run, 0) {
		if err != nil && ctx.Err() == nil && errors.Is(context.Cause(watched), errAbandoned) {
			return s.rest(ctx, errAbandoned)
		}
		if err != nil {
			return err
		}
		if u.Event == nil {
			continue
		}
		if err := s.add(*u.Event); err != nil || s.ended || s.gone {
			return err
		}
	}
	return nil
}

// rest gives what was recorded while the run was interrupted, and then says that it was.
func (s *streaming[S]) rest(ctx context.Context, cause error) error {
	events, err := s.e.service.Events(ctx, s.run, s.seq)
	if err != nil {
		return err
	}
	for _, ev := range events {
		if err := s.add(ev); err != nil || s.ended || s.gone {
			return err
		}
	}
	return &InterruptedError{Run: s.run, Cause: cause}
}

func (s *streaming[S]) add(ev engine.Event) error {
	steps, err := s.folder.Add(ev)
	if err != nil {
		return fmt.Errorf("read run %s: %w", s.run, err)
	}
	s.seq = ev.Seq
	if s.observer != nil {
		s.observer.saw(&ev, s.folder)
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
			s.gone = true
		}
		if step.Status != StatusRunning {
			s.ended, s.gone = true, false
		}
		if s.gone || s.ended {
			return nil
		}
	}
	return nil
}
