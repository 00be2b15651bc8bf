package graph_test

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
)

// part is a value of sub-steps. What JSON does not preserve is lost every time, including the
// first.
type part struct {
	Name   string
	N      int
	hidden bool
}

// tally counts the calls of sub-steps by key.
type tally struct {
	mu sync.Mutex
	n  map[string]int
}

func (c *tally) add(key string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n == nil {
		c.n = map[string]int{}
	}
	c.n[key]++
	return c.n[key]
}

func (c *tally) all() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.n
}

// step is a sub-step that counts its calls and returns its key.
func (c *tally) step(ctx context.Context, key string) (string, error) {
	return graph.Once(ctx, key, func(context.Context) (string, error) {
		c.add(key)
		return "did " + key, nil
	})
}

func fast(n int) graph.NodeOptions {
	return graph.NodeOptions{Retry: graph.Retry{MaxAttempts: n, Backoff: time.Millisecond}}
}

// TestOnce_Retry checks that a sub-step whose value is in the journal is not repeated by a
// later attempt, but a failed one is, and that each execution of a node has its own keys (ADR 12).
func TestOnce_Retry(t *testing.T) {
	t.Parallel()
	var calls tally
	work := graph.Do("work", func(ctx context.Context, s *state) error {
		a, err := calls.step(ctx, "a")
		if err != nil {
			return err
		}
		p, err := graph.Once(ctx, "b", func(context.Context) (*part, error) {
			if n := calls.add("b"); n%2 == 1 {
				return nil, errBroken // not stored: the next attempt retries
			}
			return &part{Name: "b", N: s.N, hidden: true}, nil
		})
		if err != nil {
			return err
		}
		if p.hidden || p.N != s.N {
			t.Errorf("b gave %+v in pass %d", p, s.N)
		}
		again, err := calls.step(ctx, "a")
		if err != nil {
			return err
		}
		none, err := graph.Once(ctx, "none", func(context.Context) (*part, error) {
			calls.add("none")
			return nil, nil
		})
		if err != nil || none != nil {
			t.Errorf("none gave %v, %v", none, err)
		}
		if n := calls.add("end"); n%2 == 1 {
			return errBroken
		}
		s.N++
		s.Log = append(s.Log, a+again+p.Name)
		return nil
	}, fast(5))
	w := run(t, graph.New[state]("g").Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool {
		return v.State.N >= 2
	}}, work), state{})
	w.want("loop_start_1, work, loop_check_2, work, loop_check_2", "completed")
	if d := cmp.Diff(w.state().Log, []string{"did adid ab", "did adid ab"}); d != "" {
		t.Error(d)
	}
	// Two executions; b and the end both fail the first time.
	if d := cmp.Diff(calls.all(), map[string]int{"a": 2, "b": 4, "none": 2, "end": 4}); d != "" {
		t.Error(d)
	}
	for _, e := range w.Events {
		if d, ok := e.Data.(*event.FuncNoted); ok && d.Key == "none" && d.Value != nil {
			t.Errorf("nothing is kept as %s", d.Value)
		}
	}
}

// TestOnce_Errors checks that a value that cannot be stored yields an error that says why, and that
// the node may continue (ADR 12).
func TestOnce_Errors(t *testing.T) {
	t.Parallel()
	type call struct {
		key   string
		value func(ctx context.Context) (any, error)
		want  string
	}
	plain := func(context.Context) (any, error) { return 1, nil }
	for name, c := range map[string]call{
		"no key":   {"", plain, `sub-step "": note refused: the key is empty`},
		"long key": {strings.Repeat("k", 257), plain, "the key has 257 bytes; at most 256 are allowed"},
		"no text":  {"a\xff", plain, "the key is not UTF-8 text"},
		"no JSON": {"k", func(context.Context) (any, error) {
			return math.NaN(), nil
		}, `once "k": the value cannot be converted to JSON and back`},
		"too large": {"k", func(context.Context) (any, error) { return strings.Repeat("x", 16<<20), nil },
			"16777218 bytes; at most 16777216 are allowed"},
		"own key": {"k", func(ctx context.Context) (any, error) {
			return graph.Once(ctx, "inner", func(ctx context.Context) (any, error) {
				return graph.Once(ctx, "k", plain)
			})
		}, `sub-step "k": note refused: it is nested in another one with this key`},
		"error": {"k", func(context.Context) (any, error) { return nil, errBroken }, "it is broken"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := run(t, graph.New[state]("g").Start(graph.Do("n", func(ctx context.Context, s *state) error {
				v, err := graph.Once(ctx, c.key, c.value)
				if err == nil || v != nil || !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, %v; want %q", v, err, c.want)
				}
				if errors.Is(err, errBroken) != (name == "error") {
					t.Errorf("%v comes from elsewhere", err)
				}
				s.Text = "went on"
				return nil
			})), state{})
			w.want("n", "completed")
			for _, e := range w.Events {
				if d, ok := e.Data.(*event.FuncNoted); ok {
					t.Errorf("%s was kept", d.Key)
				}
			}
		})
	}
}

// TestOnce_KeyLimit checks that the 1,001st key is rejected before its function is called (ADR 12).
func TestOnce_KeyLimit(t *testing.T) {
	t.Parallel()
	var calls tally
	g := compiled(t, graph.New[state]("g").Start(graph.Do("n", func(ctx context.Context, _ *state) error {
		for i := range 1000 {
			if _, err := calls.step(ctx, strings.Repeat("k", i/200+1)+string(rune('0'+i%200))); err != nil {
				return err
			}
		}
		_, err := calls.step(ctx, "last")
		return err
	}, graph.NodeOptions{Retry: once()})))
	w := newWorld(t, g)
	w.SkipLaws = true
	w.begin(state{})
	if f, ok := w.Events[len(w.Events)-1].Data.(*event.RunFailed); !ok ||
		!strings.Contains(f.Error.Message, "at most 1000") {
		t.Errorf("ended with %+v", w.Events[len(w.Events)-1].Data)
	}
	if n := len(calls.all()); n != 1000 || calls.all()["last"] != 0 {
		t.Errorf("%d keys, the last %d times", n, calls.all()["last"])
	}
}

// TestOncePanics checks that a panic inside fails the attempt, regardless of how the function
// handles the error, and that nothing is stored (ADR 12).
func TestOncePanics(t *testing.T) {
	t.Parallel()
	var calls tally
	w := run(t, graph.New[state]("g").Start(graph.Do("n", func(ctx context.Context, _ *state) error {
		_, err := graph.Once(ctx, "k", func(context.Context) (int, error) {
			if calls.add("k") < 3 {
				panic("oops")
			}
			return 1, nil
		})
		if (err != nil) != (calls.all()["k"] < 3) || err != nil && err.Error() != `sub-step "k" panicked: oops` {
			t.Errorf("got %v", err)
		}
		return nil
	}, fast(3))), state{})
	w.want("n", "completed")
	if calls.all()["k"] != 3 {
		t.Errorf("%d calls", calls.all()["k"])
	}
}

// TestOnce_OutsideNode checks that outside of a node function Once calls the function each time.
func TestOnce_OutsideNode(t *testing.T) {
	t.Parallel()
	var calls tally
	for range 2 {
		if v, err := calls.step(t.Context(), ""); v != "did " || err != nil {
			t.Errorf("got %q, %v", v, err)
		}
	}
	if calls.all()[""] != 2 {
		t.Errorf("%d calls", calls.all()[""])
	}
}

// TestOnce_OtherProcess checks on the embedded driver and a file that a node interrupted between
// two sub-steps continues in another process and does only what is missing. A sub-step that
// completed after the interruption is stored; a sub-step that would start after it does not run
// (P9, D8).
func TestOnce_OtherProcess(t *testing.T) {
	t.Parallel()
	var calls tally
	reached := make(chan struct{})
	large := strings.Repeat("large <value> ", 10_000) // stored separately from the records (D2)
	var second atomic.Bool
	g := compiled(t, graph.New[state]("g").Start(graph.Do("n", func(ctx context.Context, s *state) error {
		a, err := graph.Once(ctx, "a", func(context.Context) (string, error) {
			calls.add("a")
			return large, nil
		})
		if err != nil {
			return err
		}
		b, err := graph.Once(ctx, "b", func(ctx context.Context) (string, error) {
			calls.add("b")
			if !second.Load() {
				close(reached)
				<-ctx.Done() // it completes nevertheless
			}
			return "b", nil
		})
		if err != nil {
			return err
		}
		c, err := calls.step(ctx, "c")
		if !second.Load() && !errors.Is(err, context.Canceled) {
			t.Errorf("after the interruption: %v, want the context's error", err)
		}
		if err != nil {
			return err
		}
		s.Log = append(s.Log, a, b, c)
		return nil
	})))
	path := filepath.Join(t.TempDir(), "hocket.db")
	first := open(t, path, g)
	run, err := first.Start(t.Context(), driver.Spec{Workflow: g.Workflow(), Input: event.Value(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	<-reached
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second.Store(true)
	next := open(t, path, g)
	if err := next.Resume(t.Context(), run); err != nil {
		t.Fatal(err)
	}
	if status, s := settled(t, next, g, run); status != event.StatusCompleted ||
		cmp.Diff(s.Log, []string{large, "b", "did c"}) != "" {
		t.Errorf("%s with %+v", status, s)
	}
	if d := cmp.Diff(calls.all(), map[string]int{"a": 1, "b": 1, "c": 1}); d != "" {
		t.Error(d)
	}
}

// TestOnce_Concurrent checks concurrent sub-steps: one key runs once, and all callers get its
// value; a node that is cancelled may still store what it has done, since it completes first (ADR
// 12, S2-36).
func TestOnce_Concurrent(t *testing.T) {
	t.Parallel()
	var calls tally
	started := make(chan struct{})
	ended := make(chan error, 1)
	g := compiled(t, graph.New[state]("g").Start(graph.Do("n", func(ctx context.Context, s *state) error {
		var wg sync.WaitGroup
		got := make([]string, 40)
		for i := range got {
			wg.Go(func() { got[i], _ = calls.step(ctx, []string{"x", "y"}[i%2]) })
		}
		wg.Wait()
		for i := range got {
			if want := []string{"did x", "did y"}[i%2]; got[i] != want {
				t.Errorf("%d got %q, want %q", i, got[i], want)
			}
		}
		return nil
	})).Then(graph.Do("late", func(ctx context.Context, _ *state) error {
		_, err := graph.Once(ctx, "z", func(ctx context.Context) (int, error) {
			close(started)
			<-ctx.Done()
			return 1, nil
		})
		ended <- err
		return err
	})))
	d := open(t, filepath.Join(t.TempDir(), "hocket.db"), g)
	run, err := d.Start(t.Context(), driver.Spec{Workflow: g.Workflow(), Input: event.Value(`{}`)})
	if err != nil {
		t.Fatal(err)
	}
	<-started
	if err := d.Cancel(t.Context(), run, "enough"); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Errorf("the sub-step of a cancelled run: %v", err)
	}
	if status, _ := settled(t, d, g, run); status != event.StatusCancelled {
		t.Errorf("the run is %s", status)
	}
	if d := cmp.Diff(calls.all(), map[string]int{"x": 1, "y": 1}); d != "" {
		t.Error(d)
	}
}
