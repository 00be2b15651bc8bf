package graph_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/graph"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/program"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// TestBursts_Interrupted checks that runs that are interrupted in a burst are left unfinished,
// although their functions return the error of their context at once (D10).
func TestBursts_Interrupted(t *testing.T) {
	t.Parallel()
	const runs = 200
	var entered sync.WaitGroup
	entered.Add(runs)
	b := graph.New[burstState]("interrupted")
	b.Then(graph.Do("count", func(_ context.Context, s *burstState) error {
		s.N++
		return nil
	}))
	b.Then(graph.Do("block", func(ctx context.Context, _ *burstState) error {
		entered.Done()
		for ctx.Err() == nil {
			runtime.Gosched()
		}
		return ctx.Err()
	}))
	g, err := b.Compile(graph.Config{})
	if err != nil {
		t.Fatal(err)
	}
	m := journal.NewMemory()
	d, err := embedded.New(embedded.Config{Store: m.Open(journal.KindServe),
		Program: func(*workflow.Workflow) (driver.Program, error) { return nil, nil }})
	if err != nil {
		t.Fatal(err)
	}
	for i := range runs {
		_, err := d.Start(t.Context(), driver.Spec{Run: fmt.Sprint(i), Workflow: g.Workflow(),
			Program: program.New(g.Running().Program()), Input: []byte(`{"n":0}`)})
		if err != nil {
			t.Fatal(err)
		}
	}
	entered.Wait()
	var interrupts sync.WaitGroup
	for i := range runs {
		interrupts.Go(func() {
			if err := d.Interrupt(t.Context(), fmt.Sprint(i)); err != nil {
				t.Error(err)
			}
		})
	}
	interrupts.Wait()
	if err := d.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	home := m.Open(journal.KindServe)
	for i := range runs {
		h, err := home.Head(t.Context(), fmt.Sprint(i))
		if err != nil || h.Status.Ended() {
			t.Errorf("run %d: %s, %v; want it left as it was", i, h.Status, err)
		}
	}
}
