package main

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

type hocketEngine struct{}

func (hocketEngine) name() string { return "Hocket" }

func (hocketEngine) open(ctx context.Context, w *workload, dir string) (
	func(context.Context) error, func() error, error) {
	cfg := hocket.Config{MaxCalls: 4096}
	if w.durable {
		cfg.DB = filepath.Join(dir, "hocket.db")
	}
	if w == typedWork {
		b := graph.New[state]("typed")
		for i := range chainNodes {
			b.Then(graph.Do(fmt.Sprintf("n%d", i), func(_ context.Context, s *state) error {
				s.change()
				return nil
			}))
		}
		g, err := b.Compile()
		return operation(ctx, cfg, g, err, firstState, func(s state) bool { return s.N == chainNodes })
	}
	g, err := hocketGraph(w)
	return operation(ctx, cfg, g, err, func() count { return count{} }, func(s count) bool {
		return w != loopWork || s.N == loopPasses
	})
}

// hocketGraph builds the graph of a workload whose state is a count.
func hocketGraph(w *workload) (*graph.Compiled[count], error) {
	nothing := func(context.Context, *count) error { return nil }
	b := graph.New[count]("work")
	switch w {
	case chainWork:
		for i := range chainNodes {
			b.Then(graph.Do(fmt.Sprintf("n%d", i), nothing))
		}
	case loopWork:
		until := func(v graph.View[count]) bool { return v.State.N >= loopPasses }
		b.Loop(graph.LoopConfig[count]{Until: until, MaxIterations: loopPasses + 1},
			graph.Do("body", func(_ context.Context, s *count) error {
				s.N++
				return nil
			}))
		return b.Compile(graph.Config{MaxSteps: 3 * loopPasses})
	case fanWork:
		var ids []string
		for i := range fanBranches {
			ids = append(ids, fmt.Sprintf("n%d", i))
		}
		b.Parallel(graph.ParallelConfig[count]{ID: "fan", Branches: ids})
		for _, id := range ids {
			b.Node(graph.Do(id, nothing))
		}
	default:
		for i := range manyNodes {
			b.Then(graph.Do(fmt.Sprintf("n%d", i), nothing))
		}
	}
	return b.Compile()
}

func operation[S any](ctx context.Context, cfg hocket.Config, g *graph.Compiled[S], err error, first func() S,
	right func(S) bool) (func(context.Context) error, func() error, error) {
	if err != nil {
		return nil, nil, err
	}
	e, err := hocket.Open(ctx, cfg)
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
		res, err := hocket.Run(ctx, e, g, first())
		if err != nil {
			return err
		}
		if res.Status != hocket.StatusCompleted || !right(res.State) {
			return fmt.Errorf("run is %s with state %+v", res.Status, res.State)
		}
		return nil
	}, e.Close, nil
}
