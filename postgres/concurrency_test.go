package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/postgres"
)

// TestConcurrency checks that runs of a graph with the same key are limited across all engines that
// share a database, here two, and that skip returns an error while another run is active (X-106 to
//
func TestConcurrency(t *testing.T) {
	t.Parallel()
	at := pgtest.URL(t)
	began, finish := make(chan string, 10), make(chan struct{})
	g, err := graph.New[state]("g").Start(graph.Do("write", func(ctx context.Context, s *state) error {
		began <- s.Text
		<-finish
		return ctx.Err()
	})).Compile()
	if err != nil {
		t.Fatal(err)
	}
	engines := []*hocket.Engine{open(t, hocket.Config{}, postgres.Open(at)),
		open(t, hocket.Config{}, postgres.Open(at))}
	bound := hocket.Concurrency{Key: "ulm", Max: 1}
	var all sync.WaitGroup
	ended := make(chan struct{})
	for i := range 10 {
		all.Go(func() {
			id := fmt.Sprint("r", i)
			r, err := hocket.Run(t.Context(), engines[i%2], g, state{Text: id},
				hocket.RunOptions{ID: id, Concurrency: bound})
			if err != nil || r.Status != hocket.StatusCompleted {
				t.Errorf("run %d: %+v, %v", i, r, err)
			}
		})
	}
	go func() { all.Wait(); close(ended) }()
	var first string
	select {
	case first = <-began:
	case <-ended:
		t.Fatal("no run began")
	}
	for _, e := range engines {
		awaitPending(t, e, 9)
	}
	if r, err := engines[0].Get(t.Context(), first); err != nil || r.Status != hocket.StatusRunning || len(began) > 0 {
		t.Errorf("%d runs began beside run %s: %+v, %v", len(began), first, r, err)
	}
	skip := bound
	skip.IfBusy = "skip"
	for i, e := range engines {
		if _, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions{ID: fmt.Sprint("skipped", i),
			Concurrency: skip}); !errors.Is(err, hocket.ErrConcurrency) {
			t.Errorf("skip in engine %d, beside a run of one of them: %v", i, err)
		}
	}
	close(finish)
	<-ended
	if len(began) != 9 {
		t.Errorf("%d runs began after the first, want 9", len(began))
	}
	if r, err := hocket.Run(t.Context(), engines[1], g, state{},
		hocket.RunOptions{ID: "last", Concurrency: skip}); err != nil || r.Status != hocket.StatusCompleted {
		t.Errorf("when all have ended: %+v, %v", r, err)
	}
}

// awaitPending waits until the given number of runs is queued.
func awaitPending(t *testing.T, e *hocket.Engine, want int) {
	t.Helper()
	for {
		runs, _, err := e.List(t.Context(), hocket.Filter{Statuses: []hocket.Status{hocket.StatusPending}})
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) == want {
			return
		}
		runtime.Gosched()
	}
}
