package hocket_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// gate returns a graph whose first node sends on begun when it starts, and ends when open is
// closed.
func gate(t *testing.T) (g *graph.Compiled[state], begun chan struct{}, open chan struct{}) {
	t.Helper()
	begun, open = make(chan struct{}, 8), make(chan struct{})
	return compiled(t, graph.New[state]("gate").Start(graph.Do("a", func(ctx context.Context, s *state) error {
		begun <- struct{}{}
		select {
		case <-open:
			s.N++
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})).Then(note("z"))), begun, open
}

// TestPanicInTheLoop checks that a loop whose body panics is treated like any other early exit: the
// run does not continue unobserved (D22).
func TestPanicInTheLoop(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g, _, open := gate(t)
		first := compiled(t,
			graph.New[state]("t").Start(note("first")).Then(graph.SubgraphConfig[state, state]{ID: "in", Graph: g}))
		func() {
			defer func() {
				if v := recover(); v != "body" {
					t.Errorf("recovered %v, want the panic of the loop's body", v)
				}
			}()
			for range hocket.Stream(t.Context(), e, first, state{}, hocket.RunOptions{ID: "left"}) {
				panic("body")
			}
		}()
		close(open)
		r, err := e.Get(t.Context(), "left")
		if err != nil {
			t.Fatal(err)
		}
		if kept := strings.HasSuffix(t.Name(), "sqlite"); kept && !r.Interrupted ||
			!kept && r.Status != hocket.StatusCancelled {
			t.Errorf("the run is %s, interrupted %t", r.Status, r.Interrupted)
		}
	})
}

// valueContext is a context that is not comparable.
type valueContext struct {
	context.Context
	values map[string]int
}

// TestContextsOfAnyType checks that a context defined by the program may have any type.
func TestContextsOfAnyType(t *testing.T) {
	t.Parallel()
	e := open(t, hocket.Config{})
	r, err := hocket.Run(valueContext{t.Context(), map[string]int{}}, e,
		compiled(t, graph.New[state]("t").Start(note("a"))), state{})
	if err != nil || r.Status != hocket.StatusCompleted {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestTwoFollowers checks that when one of two followers of a run leaves, the other is not
// affected, and that when the last one leaves, the run is interrupted, or cancelled in memory (D22,
// S2-36).
func TestTwoFollowers(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g, begun, open := gate(t)
		type answer struct {
			r   *hocket.Result[state]
			err error
		}
		follow := func(ctx context.Context, how func(context.Context) (*hocket.Result[state], error)) chan answer {
			out := make(chan answer, 1)
			go func() {
				r, err := how(ctx)
				out <- answer{r, err}
			}()
			return out
		}
		resume := func(ctx context.Context) (*hocket.Result[state], error) { return hocket.Resume(ctx, e, g, "x") }
		first := follow(t.Context(), func(ctx context.Context) (*hocket.Result[state], error) {
			return hocket.Run(ctx, e, g, state{}, hocket.RunOptions{ID: "x"})
		})
		<-begun
		for range 3 {
			ctx, cancel := context.WithCancel(t.Context())
			second := follow(ctx, resume)
			cancel()
			if a := <-second; !errors.Is(a.err, context.Canceled) {
				t.Errorf("the one who gave up got %+v, %v", a.r, a.err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := e.Wait(ctx, "x"); !errors.Is(err, context.Canceled) {
			t.Errorf("the wait that was given up ended with %v", err)
		}
		close(open)
		if a := <-first; a.err != nil || a.r.Status != hocket.StatusCompleted || a.r.State.N != 1 {
			t.Errorf("the other one got %+v, %v", a.r, a.err)
		}
	})
}

// TestResumeWithDoneContext checks that resuming with a context that is already done leaves the run
// unchanged.
func TestResumeWithDoneContext(t *testing.T) {
	t.Parallel()
	stores(t, func(t *testing.T, e *hocket.Engine) {
		g := compiled(t, graph.New[state]("t").Wait("?").Then(note("z")))
		if _, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: "w"}); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		for range 20 {
			if _, err := hocket.Resume(ctx, e, g, "w", hocket.Answer{Value: "yes"}); !errors.Is(err, context.Canceled) {
				t.Fatalf("%v", err)
			}
			if r, err := e.Get(t.Context(), "w"); err != nil || r.Status != hocket.StatusPaused {
				t.Fatalf("%+v, %v", r, err)
			}
		}
	})
}
