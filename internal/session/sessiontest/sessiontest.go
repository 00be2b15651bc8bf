// Package sessiontest runs code as a node function of a Go graph, with an in-memory journal, to
// test what sessions keep across a crash.
package sessiontest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/program"
)

// Notes holds what a node function leaves behind after a crash: the values of its sub-steps. The
// zero Notes is empty. It implements program.Notes and the program.Caller of the function.
type Notes struct {
	mu   sync.Mutex
	kept map[string]program.Value
}

// Notes implements program.Caller.
func (n *Notes) Notes() program.Notes { return n }

// Host implements program.Caller.
func (n *Notes) Host() any { return nil }

// Work implements program.Caller.
func (n *Notes) Work() program.Work { return program.Work{} }

// Once implements program.Notes.
func (n *Notes) Once(ctx context.Context, key string, fn func(context.Context, program.Caller) (program.Value, error)) (
	program.Value, error) {
	if key == "" || len(key) > 256 {
		return nil, fmt.Errorf("key %q is bad", key)
	}
	n.mu.Lock()
	v, ok := n.kept[key]
	n.mu.Unlock()
	if ok {
		return v, nil
	}
	v, err := fn(ctx, n)
	if err != nil {
		return nil, err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.kept == nil {
		n.kept = map[string]program.Value{}
	}
	n.kept[key] = v
	return v, nil
}

// Keys returns the keys of the stored values, sorted.
func (n *Notes) Keys() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Sorted(maps.Keys(n.kept))
}

type none struct{}

// Run calls fn as a node function with these notes. Calling Run again with the same notes simulates
// the function after a crash.
func (n *Notes) Run(ctx context.Context, t *testing.T, fn func(context.Context) error) {
	t.Helper()
	g, err := graph.New[none]("t").Start(graph.Do("n", func(ctx context.Context, _ *none) error { return fn(ctx) })).
		Compile()
	if err != nil {
		t.Fatal(err)
	}
	for _, call := range g.Running().Program().Calls {
		r := call(ctx, program.Call{Run: "run1", Node: "n", Step: 1, Attempt: 1, Key: "run1/n", Caller: n,
			State: program.StateOf(nil)})
		if r.Failure != nil {
			t.Fatalf("the function failed: %s", r.Failure.Message)
		}
	}
}
