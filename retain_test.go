package hocket_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// TestRetainRuns checks that an in-memory store keeps the configured number of ended runs, the most
// recent ones, and that neither results nor runs of graphs that start other runs depend on it.
func TestRetainRuns(t *testing.T) {
	t.Parallel()
	const runs = 20
	for name, tc := range map[string]struct {
		retain, want int
	}{"none": {-1, 0}, "some": {3, 3}, "default": {0, 2*runs + 1}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := open(t, hocket.Config{RetainRuns: tc.retain})
			inner := compiled(t, graph.New[state]("inner").Then(graph.Do("a", func(_ context.Context, s *state) error {
				s.N++
				return nil
			})))
			outer := compiled(t,
				graph.New[state]("outer").Then(graph.Do("b", func(ctx context.Context, s *state) error {
					res, err := hocket.Run(ctx, e, inner, *s)
					if err == nil {
						*s = res.State
					}
					return err
				})))
			var wg sync.WaitGroup
			for i := range runs {
				wg.Go(func() {
					res, err := hocket.Run(t.Context(), e, outer, state{N: i})
					if err != nil || res.Status != hocket.StatusCompleted || res.State.N != i+1 {
						t.Errorf("run %d: %+v, %v", i, res, err)
					}
				})
			}
			wg.Wait()
			res, err := hocket.Run(t.Context(), e, inner, state{}, hocket.RunOptions{ID: "last"})
			if err != nil || res.State.N != 1 {
				t.Fatalf("%+v, %v", res, err)
			}
			list, _, err := e.List(t.Context(), hocket.Filter{Limit: 1000})
			if err != nil || len(list) != tc.want {
				t.Errorf("%d runs are kept, %v", len(list), err)
			}
			_, err = e.Get(t.Context(), "last")
			if gone := errors.Is(err, hocket.ErrNotFound); gone != (tc.retain < 0) {
				t.Errorf("the last run: %v", err)
			}
		})
	}
}

// TestRetainedWhileWaitedFor checks that a run that pauses, is streamed or is waited for remains
// available as long as it is in use, although no ended runs are kept.
func TestRetainedWhileWaitedFor(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{RetainRuns: -1})
	g := compiled(t, graph.New[state]("asks").Then(graph.WaitConfig[state]{ID: "ask", Prompt: "Go on?"}).
		Then(graph.Do("a", func(_ context.Context, s *state) error { s.N++; return nil })))
	plain := compiled(t, graph.New[state]("plain").Then(graph.Do("a", func(_ context.Context, s *state) error {
		s.N++
		return nil
	})))
	var wg sync.WaitGroup
	for i := range 10 {
		wg.Go(func() {
			id := fmt.Sprint("run", i)
			res, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: id})
			if err != nil || res.Status != hocket.StatusPaused {
				t.Errorf("%+v, %v", res, err)
				return
			}
			if res, err = hocket.Resume(t.Context(), e, g, id, hocket.Answer{Value: "yes"}); err != nil ||
				res.State.N != 1 {
				t.Errorf("%+v, %v", res, err)
			}
			steps := 0
			for step, err := range hocket.Stream(t.Context(), e, plain, state{}) {
				if steps++; err != nil || step.State.N != 1 {
					t.Errorf("%+v, %v", step, err)
				}
			}
			if steps != 1 {
				t.Errorf("%d steps", steps)
			}
		})
	}
	wg.Wait()
	if list, _, err := e.List(t.Context(), hocket.Filter{}); err != nil || len(list) != 0 {
		t.Errorf("%d runs are kept, %v", len(list), err)
	}
}
