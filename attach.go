package hocket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/service"
)

// lookAgain is how long a call waits for another one that is about to store the run.
const lookAgain = 5 * time.Millisecond

// attaching has begin begin a run or attach to it, and again while another call that has the id has not stored the run yet.
func attaching[T any](ctx context.Context, attach bool, begin func() (T, error)) (T, error) {
	for {
		v, err := begin()
		if !attach || !errors.Is(err, ErrExists) {
			return v, err
		}
		t := time.NewTimer(lookAgain)
		select {
		case <-t.C:
		case <-ctx.Done(): // begin says so
		}
		t.Stop()
	}
}

// attach follows a run that exists, where o says so. It gives nil where there is none of that id.
func attach[S any](ctx context.Context, e *Engine, g *graph.Compiled[S], b *bound, o RunOptions) (*following, error) {
	last, err := e.check(ctx, b, o.ID)
	switch {
	case errors.Is(err, ErrNotFound):
		return nil, nil //nolint:nilnil // it begins
	case err != nil:
		return nil, err
	}
	f := follow(ctx, e, b, o.ID)
	f.attached = true
	f.model, f.observer = g.Running().Model, observe(ctx, e, g, o.ID, last, o)
	if err := e.takeUp(ctx, o.ID); err != nil {
		f.done()
		f.release()
		return nil, err
	}
	return f, nil
}

// attachDocument takes up the run of a document that exists; there is false where there is none of that id.
func (e *Engine) attachDocument(ctx context.Context, w *Workflow, o StartOptions) (there bool, err error) {
	h, err := e.service.Head(ctx, o.ID)
	if err = known(err); errors.Is(err, ErrNotFound) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	chosen, err := service.Choose(w.definition, o.Branch)
	if err != nil {
		return false, err
	}
	digest, err := chosen.Digest()
	if err != nil {
		return false, err
	}
	if h.Definition != digest {
		return false, &knownError{ErrConflict, fmt.Errorf("run %s belongs to another document (digest %.12s, not %.12s)", o.ID, h.Definition, digest)}
	}
	return true, e.takeUp(ctx, o.ID)
}

// takeUp has a run go on that was interrupted. What ended, is paused or is under way is left alone.
func (e *Engine) takeUp(ctx context.Context, run string) error {
	// Under ctx it would not be known whether the run goes on.
	err := e.Resume(context.WithoutCancel(ctx), run)
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrPaused) || errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}

// atMostOne gives the one value that a call was given, the zero value where it got none.
func atMostOne[T any](list []T, what string) (one T, err error) {
	switch len(list) {
	case 0:
		return one, nil
	case 1:
		return list[0], nil
	}
	return one, fmt.Errorf("at most one %s may be given, not %d", what, len(list))
}
