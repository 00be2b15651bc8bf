package hocket_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket"
	"github.com/hocket-run/hocket/documents"
	"github.com/hocket-run/hocket/graph"
)

// TestGraphBudgetOfStartedRuns checks that runs that a function starts without waiting for them
// count in its run as they end, and that what is reserved for one becomes available to the next:
// the third of them has no budget left, and is not waited for (item 4, P20).
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
	r, err := hocket.Run(t.Context(), e, g, state{},
		hocket.RunOptions{ID: "r", Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 2}}})
	var short *hocket.BudgetError
	if err != nil || !errors.As(r.Err, &short) || short.Limit != "calls" || calls.Load() != 2 {
		t.Errorf("%+v, %v, %d calls", r, err, calls.Load())
	}
	if o, err := e.Get(t.Context(), "r"); err != nil || o.Usage.ModelCalls != 2 || o.Usage.InputTokens != 40 {
		t.Errorf("the run counts %+v, %v", o.Usage, err)
	}
}

// TestRunOfDocumentWaitsForBudgetWithinItsContext checks that a function that waits for budget for
// a run of a document stops waiting when its context is done (P20).
func TestRunOfDocumentWaitsForBudgetWithinItsContext(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	e, err := hocket.Open(t.Context(), hocket.Config{}, documents.All(), hocket.WithModel("own",
		hocket.ModelFunc(func(ctx context.Context, _ hocket.ModelRequest) (hocket.ModelReply, error) {
			select {
			case <-release:
			case <-ctx.Done():
			}
			return hocket.ModelReply{Text: "done"}, ctx.Err()
		})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = e.Close() })
	doc, err := e.Parse("d.yaml", []byte("agents: {a: {model: own/m, instruction: Go.}}"))
	if err != nil {
		t.Fatal(err)
	}
	var waited error
	g := compiled(t, graph.New[state]("outer").Start(graph.Do("both", func(ctx context.Context, _ *state) error {
		defer close(release)
		// it holds the whole budget until its call has ended
		if _, err := e.Start(ctx, doc, hocket.StartOptions{Input: "x"}); err != nil {
			return err
		}
		within, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		_, waited = e.Run(within, doc, hocket.StartOptions{Input: "y"})
		return nil
	})))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	r, err := hocket.Run(ctx, e, g, state{}, hocket.RunOptions{Limits: graph.Limits{Budget: graph.Budget{MaxCalls: 1}}})
	if err != nil || r.Status != hocket.StatusCompleted || !errors.Is(waited, context.DeadlineExceeded) {
		t.Errorf("%+v, %v; waited: %v", r, err, waited)
	}
}
