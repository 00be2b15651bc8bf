package main

import (
	"context"
	"path/filepath"
	"sync"
	"time"

	"github.com/hocket-run/hocket/bench/internal/floor"
)

// goroutines runs the same work with one goroutine per node and nothing else.
type goroutines struct{}

func (goroutines) name() string { return "goroutine per node" }

func (goroutines) open(_ context.Context, w *workload, _ string) (func(context.Context) error, func() error, error) {
	if w.durable {
		return nil, nil, nil
	}
	if w == fanWork {
		return func(context.Context) error {
			var all sync.WaitGroup
			for range fanBranches {
				all.Go(func() {})
			}
			all.Wait()
			return nil
		}, nothingToClose, nil
	}
	return func(context.Context) error {
		s := firstState()
		for range int(w.steps) {
			ended := make(chan struct{})
			go func() {
				if w == typedWork {
					s.change()
				}
				close(ended)
			}()
			<-ended
		}
		return nil
	}, nothingToClose, nil
}

// inserts inserts rows into SQLite from one goroutine, one row per step.
type inserts struct{}

func (inserts) name() string { return "inserts into SQLite" }

func (inserts) open(context.Context, *workload, string) (func(context.Context) error, func() error, error) {
	return nil, nil, nil
}

// rate implements timer. It uses a transaction per row for sequential runs, and one per 1,000 rows
// for concurrent runs.
func (inserts) rate(ctx context.Context, w *workload, dir string) (float64, bool, error) {
	batch := 1
	if !w.durable {
		return 0, false, nil
	}
	if w.atOnce > 1 {
		batch = 1000
	}
	rate, err := floor.Inserts(ctx, filepath.Join(dir, "raw.db"), batch, time.Second)
	return rate, true, err
}
