package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/postgres"
)

// runs of a graph with one key are bounded over all engines of a database, two of which start them; skip names the run in the way.
func TestConcurrency(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	var now, most atomic.Int32
	began, finish := make(chan struct{}), make(chan struct{})
	g, err := graph.New[state]("g").Start(graph.Do("write", func(ctx context.Context, s *state) error {
		if s.Text == "hold" {
			close(began)
			<-finish
			return ctx.Err()
		}
		for n := now.Add(1); n > most.Load(); n = now.Load() {
			most.Store(n)
		}
		now.Add(-1)
		return nil
	})).Compile()
	if err != nil {
		t.Fatal(err)
	}
	engines := []*hocket.Engine{open(t, hocket.Config{}, postgres.Open(at)), open(t, hocket.Config{}, postgres.Open(at))}
	bound := hocket.Concurrency{Key: "ulm", Max: 1}
	var all sync.WaitGroup
	for i := range 10 {
		all.Go(func() {
			r, err := hocket.Run(t.Context(), engines[i%2], g, state{}, hocket.RunOptions{ID: fmt.Sprint("r", i), Concurrency: bound})
			if err != nil || r.Status != hocket.StatusCompleted {
				t.Errorf("run %d: %+v, %v", i, r, err)
			}
		})
	}
	all.Wait()
	if most.Load() != 1 {
		t.Errorf("%d runs at once", most.Load())
	}
	all.Go(func() {
		if r, err := hocket.Run(t.Context(), engines[0], g, state{Text: "hold"}, hocket.RunOptions{ID: "first", Concurrency: bound}); err != nil || r.Status != hocket.StatusCompleted {
			t.Errorf("%+v, %v", r, err)
		}
	})
	<-began
	bound.IfBusy = "skip"
	if _, err := hocket.Run(t.Context(), engines[1], g, state{}, hocket.RunOptions{ID: "second", Concurrency: bound}); !errors.Is(err, hocket.ErrConcurrency) {
		t.Errorf("skip beside a run of another engine: %v", err)
	}
	close(finish)
	all.Wait()
	if r, err := hocket.Run(t.Context(), engines[1], g, state{}, hocket.RunOptions{ID: "third", Concurrency: bound}); err != nil || r.Status != hocket.StatusCompleted {
		t.Errorf("when it has ended: %+v, %v", r, err)
	}
}
