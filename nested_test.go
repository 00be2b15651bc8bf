package hocket_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/graph"
)

// Item 4, P20: runs that a function starts without waiting for them count in its run as they end, and what is kept for one is there for the next: the third of them has no budget left, and
// is not waited for.
func TestGraphBudgetOfStartedRuns(t *testing.T) {
	t.Parallel()
	var calls atomic.Int32
	e := spending(t, &calls)
	doc, err := e.Parse("d.yaml", []byte("agents: {a: {model: own/m, instruction: Go., max_tokens: 50}}"))
	if err != nil {
		t.Fatal(err)
	}
	g := compiled(t, graph.New[state]("outer").Start(graph.Do("many", func(ctx context.Context, s *state) error {
		for range 4 {
			if _, err := e.Start(ctx, doc, hocket.StartOptions{Input: "x"}); err != nil {
				return err
			}
			s.N++
		}
		return nil
	})))
	r, err := hocket.Run(t.Context(), e, g, state{}, hocket.RunOptions[state]{ID: "r", Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}})
	var short *hocket.BudgetError
	if err != nil || !errors.As(r.Err, &short) || short.Limit != "calls" || calls.Load() != 2 {
		t.Errorf("%+v, %v, %d calls", r, err, calls.Load())
	}
	if o, err := e.Get(t.Context(), "r"); err != nil || o.Usage.ModelCalls != 2 || o.Usage.InputTokens != 40 {
		t.Errorf("the run counts %+v, %v", o.Usage, err)
	}
}
