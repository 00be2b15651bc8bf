package graph_test

import (
	"context"
	"encoding/json"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/store"
	"github.com/hocket-run/hocket/workflow"
)

// open returns a driver over the store at path that knows the program of one graph.
func open(t *testing.T, path string, g *graph.Compiled[state]) *embedded.Driver {
	t.Helper()
	home, err := store.Open(context.Background(), path, store.Config{Kind: journal.KindServe})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { home.Close() })
	d, err := embedded.New(embedded.Config{Store: home.Journal,
		Program: func(*workflow.Workflow) (driver.Program, error) { return program.New(g.Running().Program()), nil }})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close(context.Background()) })
	return d
}

// settled waits until a run has ended or is paused, and folds its journal as a later process would.
func settled(t *testing.T, d *embedded.Driver, g *graph.Compiled[state], run string) (event.Status, state) {
	t.Helper()
	st, err := d.Wait(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := engine.Compile(g.Workflow(), nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r := engine.New(plan, run)
	for u, err := range d.Watch(ctx, run, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if u.Event == nil {
			continue
		}
		if err := r.Apply([]event.Event{*u.Event}); err != nil {
			t.Fatal(err)
		}
		if r.Status() == st.Status {
			break
		}
	}
	var s state
	raw, err := json.Marshal(r.State())
	if err == nil {
		err = json.Unmarshal(raw, &s)
	}
	if err != nil {
		t.Fatal(err)
	}
	return st.Status, s
}

// TestEmbeddedDriver_PauseAndResume checks that a graph runs on the embedded driver and its
// journal, pauses, and is resumed by another process that registers the same graph: nothing that
// finished runs again, and the state is complete (P9, D4).
func TestEmbeddedDriver_PauseAndResume(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	g := compiled(t, graph.New[state]("real").
		Start(graph.Do("s", func(_ context.Context, s *state) error {
			calls.Add(1)
			s.N++
			return nil
		})).
		Loop(graph.LoopConfig[state]{Until: func(v graph.View[state]) bool { return v.State.N >= 3 }}, count("l")).
		Parallel(graph.ParallelConfig[state]{Branches: []string{"a", "b"},
			Merge: func(s *state, results []graph.BranchResult) error {
				s.Text = results[0].Branch + results[1].Branch
				return nil
			}}).
		Node(note("a")).Node(note("b"),
		failingNode("b2", 1, graph.NodeOptions{Retry: graph.Retry{Backoff: time.Millisecond}})).
		Then(graph.WaitConfig[state]{ID: "w", PromptFunc: func(v graph.View[state]) string { return v.State.Text },
			Input: func(s *state, answer string) error {
				s.Counter = answer
				return nil
			}}).
		Then(count("z")), graph.Config{Reducers: map[string]graph.Reducer{"log": graph.Append()}})
	path := filepath.Join(t.TempDir(), "hocket.db")
	first := open(t, path, g)
	run, err := first.Start(t.Context(), driver.Spec{Workflow: g.Workflow(), Input: event.Value(`{"log": ["0"]}`)})
	if err != nil {
		t.Fatal(err)
	}
	want := state{N: 3, Log: []string{"0", "a", "b"}, Text: "ab"}
	if status, s := settled(t, first, g, run); status != event.StatusPaused || cmp.Diff(s, want) != "" {
		t.Fatalf("%s with %+v", status, s)
	}
	if err := first.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	second := open(t, path, g)
	if err := second.Answer(t.Context(), run, engine.Answer{Value: event.Value(`"on"`)}); err != nil {
		t.Fatal(err)
	}
	want.N, want.Counter = 4, "on"
	if status, s := settled(t, second, g, run); status != event.StatusCompleted || cmp.Diff(s, want) != "" ||
		calls.Load() != 1 {
		t.Errorf("%s with %+v after %d calls of the first node", status, s, calls.Load())
	}
}

// TestEmbeddedDriver_Cancel checks on the real driver that a function that ends in time despite the
// run's cancellation counts, that a function that stops with its context does not, and that in both
// cases nothing follows (S2-36, D10, ADR 15).
func TestEmbeddedDriver_Cancel(t *testing.T) {
	t.Parallel()
	for name, heeds := range map[string]bool{"goes on": false, "stops": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			started := make(chan struct{})
			g := compiled(t, graph.New[state]("t").Start(graph.Do("a", func(ctx context.Context, s *state) error {
				close(started)
				<-ctx.Done()
				s.N = 7
				if heeds {
					return ctx.Err()
				}
				return nil
			})).Then(note("z")))
			d := open(t, filepath.Join(t.TempDir(), "hocket.db"), g)
			run, err := d.Start(t.Context(), driver.Spec{Workflow: g.Workflow(), Input: event.Value(`{}`)})
			if err != nil {
				t.Fatal(err)
			}
			<-started
			if err := d.Cancel(t.Context(), run, "enough"); err != nil {
				t.Fatal(err)
			}
			want := state{N: 7}
			if heeds {
				want = state{}
			}
			if status, s := settled(t, d, g, run); status != event.StatusCancelled || cmp.Diff(s, want) != "" {
				t.Errorf("%s with %+v", status, s)
			}
		})
	}
}
