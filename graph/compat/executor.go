package compat

import (
	"context"
	"iter"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// Executor is a graph with the engine that runs it (S2-76): its methods are the functions of the same names, with both given. Safe for concurrent use.
type Executor[S any] struct {
	engine *hocket.Engine
	graph  *graph.Compiled[S]
}

// NewExecutor makes an executor.
func NewExecutor[S any](e *hocket.Engine, g *graph.Compiled[S]) *Executor[S] {
	return &Executor[S]{e, g}
}

// Run runs the graph as [hocket.Run] does.
func (x *Executor[S]) Run(ctx context.Context, state S, options ...hocket.RunOption) (*hocket.Result[S], error) {
	return hocket.Run(ctx, x.engine, x.graph, state, options...)
}

// Stream runs the graph as [hocket.Stream] does.
func (x *Executor[S]) Stream(ctx context.Context, state S, options ...hocket.RunOption) iter.Seq2[hocket.Step[S], error] {
	return hocket.Stream(ctx, x.engine, x.graph, state, options...)
}

// Resume goes on with a run as [hocket.Resume] does.
func (x *Executor[S]) Resume(ctx context.Context, run string, options ...hocket.RunOption) (*hocket.Result[S], error) {
	return hocket.Resume(ctx, x.engine, x.graph, run, options...)
}

// ResumeStream goes on with a run as [hocket.ResumeStream] does.
func (x *Executor[S]) ResumeStream(ctx context.Context, run string, options ...hocket.RunOption) iter.Seq2[hocket.Step[S], error] {
	return hocket.ResumeStream(ctx, x.engine, x.graph, run, options...)
}
