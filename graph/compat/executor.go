package compat

import (
	"context"
	"iter"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// Executor is a graph together with the engine that runs it: its methods are the functions of the
// same names with the engine and the graph bound. It is safe for concurrent use.
type Executor[S any] struct {
	engine *hocket.Engine
	graph  *graph.Compiled[S]
}

// NewExecutor returns an executor of g on e.
func NewExecutor[S any](e *hocket.Engine, g *graph.Compiled[S]) *Executor[S] {
	return &Executor[S]{e, g}
}

// Run runs the graph like [hocket.Run].
func (x *Executor[S]) Run(ctx context.Context, state S, options ...hocket.RunOption) (*hocket.Result[S], error) {
	return hocket.Run(ctx, x.engine, x.graph, state, options...)
}

// Stream runs the graph like [hocket.Stream].
func (x *Executor[S]) Stream(ctx context.Context, state S, options ...hocket.RunOption) iter.Seq2[hocket.Step[S],
	error] {
	return hocket.Stream(ctx, x.engine, x.graph, state, options...)
}

// Resume continues a run like [hocket.Resume].
func (x *Executor[S]) Resume(ctx context.Context, run string, options ...hocket.RunOption) (*hocket.Result[S], error) {
	return hocket.Resume(ctx, x.engine, x.graph, run, options...)
}

// ResumeStream continues a run like [hocket.ResumeStream].
func (x *Executor[S]) ResumeStream(ctx context.Context, run string,
	options ...hocket.RunOption) iter.Seq2[hocket.Step[S], error] {
	return hocket.ResumeStream(ctx, x.engine, x.graph, run, options...)
}
