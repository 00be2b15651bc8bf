package hocket

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/service"
)

// lookAgain is how long a call waits before checking again whether another call has stored the run.
const lookAgain = 5 * time.Millisecond

// attaching calls begin to start a run or attach to it, and retries while another call with the
// same id has not stored the run yet.
func attaching[T any](ctx context.Context, attach bool, begin func() (T, error)) (T, error) {
	for {
		v, err := begin()
		if !attach || !errors.Is(err, ErrExists) {
			return v, err
		}
		t := time.NewTimer(lookAgain)
		select {
		case <-t.C:
		case <-ctx.Done(): // begin returns the error
		}
		t.Stop()
	}
}

// attach follows an existing run if o requests it. It returns nil if there is no run with that id.
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

// attachDocument resumes the existing run of a document; there is false if there is no run with
// that id.
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
		return false, &knownError{ErrConflict,
			fmt.Errorf("run %s belongs to another document (digest %.12s, not %.12s)", o.ID, h.Definition, digest)}
	}
	return true, e.takeUp(ctx, o.ID)
}

// takeUp resumes an interrupted run. It leaves ended, paused and active runs alone.
func (e *Engine) takeUp(ctx context.Context, run string) error {
	// With ctx itself, a cancellation would leave it unknown whether the run was resumed.
	err := e.Resume(context.WithoutCancel(ctx), run)
	if errors.Is(err, ErrEnded) || errors.Is(err, ErrPaused) || errors.Is(err, ErrBusy) {
		return nil
	}
	return err
}

// atMostOne returns the single value passed to a call, or the zero value if there was none.
func atMostOne[T any](list []T, what string) (one T, err error) {
	switch len(list) {
	case 0:
		return one, nil
	case 1:
		return list[0], nil
	}
	return one, fmt.Errorf("at most one %s may be given, not %d", what, len(list))
}
