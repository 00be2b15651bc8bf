package main

import (
	"context"
	"fmt"

	lg "github.com/smallnest/langgraphgo/graph"
)

type langgraphEngine struct{}

func (langgraphEngine) name() string { return "langgraphgo" }

func (langgraphEngine) open(_ context.Context, w *workload,
	_ string) (func(context.Context) error, func() error, error) {
	if w.durable {
		return nil, nil, nil
	}
	if w == typedWork {
		g := lg.NewStateGraph[state]()
		lgChain(g, chainNodes, func(_ context.Context, s state) (state, error) {
			s.change()
			return s, nil
		})
		return lgOperation(g, firstState, func(s state) bool { return s.N == chainNodes })
	}
	g := lg.NewStateGraph[count]()
	nothing := func(_ context.Context, s count) (count, error) { return s, nil }
	switch w {
	case chainWork:
		lgChain(g, chainNodes, nothing)
	case loopWork:
		g.AddNode("body", "", func(_ context.Context, s count) (count, error) {
			s.N++
			return s, nil
		})
		g.AddNode("check", "", nothing)
		g.SetEntryPoint("body")
		g.AddEdge("body", "check")
		g.AddConditionalEdge("check", func(_ context.Context, s count) string {
			if s.N >= loopPasses {
				return lg.END
			}
			return "body"
		})
		return lgOperation(g, func() count { return count{} }, func(s count) bool { return s.N == loopPasses })
	case fanWork:
		g.AddNode("fork", "", nothing)
		g.AddNode("join", "", nothing)
		g.SetEntryPoint("fork")
		for i := range fanBranches {
			id := fmt.Sprintf("n%d", i)
			g.AddNode(id, "", nothing)
			g.AddEdge("fork", id)
			g.AddEdge(id, "join")
		}
		g.AddEdge("join", lg.END)
		g.SetStateMerger(func(_ context.Context, s count, _ []count) (count, error) { return s, nil })
	default:
		lgChain(g, manyNodes, nothing)
	}
	return lgOperation(g, func() count { return count{} }, func(count) bool { return true })
}

func lgChain[S any](g *lg.StateGraph[S], n int, node func(context.Context, S) (S, error)) {
	for i := range n {
		g.AddNode(fmt.Sprintf("n%d", i), "", node)
		if i > 0 {
			g.AddEdge(fmt.Sprintf("n%d", i-1), fmt.Sprintf("n%d", i))
		}
	}
	g.SetEntryPoint("n0")
	g.AddEdge(fmt.Sprintf("n%d", n-1), lg.END)
}

func lgOperation[S any](g *lg.StateGraph[S], first func() S, right func(S) bool) (
	func(context.Context) error, func() error, error) {
	r, err := g.Compile()
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

func nothingToClose() error { return nil }
