package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/cloudwego/eino/compose"
)

type einoEngine struct{}

func (einoEngine) name() string { return "Eino" }

func (einoEngine) open(ctx context.Context, w *workload, _ string) (func(context.Context) error, func() error, error) {
	if w.durable {
		return nil, nil, nil
	}
	nothing := func(_ context.Context, s *count) (*count, error) { return s, nil }
	newCount := func() *count { return &count{} }
	anyCount := func(*count) bool { return true }
	switch w {
	case typedWork:
		r, err := einoChain(ctx, chainNodes, func(_ context.Context, s *state) (*state, error) {
			s.change()
			return s, nil
		})
		return einoOperation(r, err, func() *state { s := firstState(); return &s }, func(s *state) bool {
			return s.N == chainNodes
		})
	case chainWork:
		r, err := einoChain(ctx, chainNodes, nothing)
		return einoOperation(r, err, newCount, anyCount)
	case loopWork:
		r, err := einoLoop(ctx, nothing)
		return einoOperation(r, err, newCount, func(s *count) bool { return s.N == loopPasses })
	case fanWork:
		r, err := einoFan(ctx, nothing)
		return einoOperation(r, err, newCount, anyCount)
	}
	r, err := einoChain(ctx, manyNodes, nothing)
	return einoOperation(r, err, newCount, anyCount)
}

func einoChain[S any](ctx context.Context, n int, node func(context.Context, S) (S, error)) (
	compose.Runnable[S, S], error) {
	c := compose.NewChain[S, S]()
	for range n {
		c.AppendLambda(compose.InvokableLambda(node))
	}
	return c.Compile(ctx)
}

func einoLoop(ctx context.Context, check func(context.Context, *count) (*count, error)) (
	compose.Runnable[*count, *count], error) {
	g := compose.NewGraph[*count, *count]()
	body := func(_ context.Context, s *count) (*count, error) {
		s.N++
		return s, nil
	}
	next := func(_ context.Context, s *count) (string, error) {
		if s.N >= loopPasses {
			return compose.END, nil
		}
		return "body", nil
	}
	if err := errors.Join(
		g.AddLambdaNode("body", compose.InvokableLambda(body)),
		g.AddLambdaNode("check", compose.InvokableLambda(check)),
		g.AddEdge(compose.START, "body"),
		g.AddEdge("body", "check"),
		g.AddBranch("check", compose.NewGraphBranch(next, map[string]bool{"body": true, compose.END: true})),
	); err != nil {
		return nil, err
	}
	return g.Compile(ctx, compose.WithMaxRunSteps(3*loopPasses))
}

func einoFan(ctx context.Context, node func(context.Context, *count) (*count, error)) (
	compose.Runnable[*count, *count], error) {
	p := compose.NewParallel()
	for i := range fanBranches {
		p.AddLambda(fmt.Sprintf("n%d", i), compose.InvokableLambda(node))
	}
	join := func(_ context.Context, all map[string]any) (*count, error) {
		s, ok := all["n0"].(*count)
		if !ok || len(all) != fanBranches {
			return nil, fmt.Errorf("%d results", len(all))
		}
		return s, nil
	}
	return compose.NewChain[*count, *count]().AppendParallel(p).AppendLambda(compose.InvokableLambda(join)).Compile(ctx)
}

func einoOperation[S any](r compose.Runnable[S, S], err error, first func() S, right func(S) bool) (
	func(context.Context) error, func() error, error) {
	if err != nil {
		return nil, nil, err
	}
	return func(ctx context.Context) error {
		s, err := r.Invoke(ctx, first())
		if err == nil && !right(s) {
			err = fmt.Errorf("state %+v", s)
		}
		return err
	}, nothingToClose, nil
}
