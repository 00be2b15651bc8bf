package embedded

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// TestClaimedWhileStarted: a run that this process claims while it is about to start it goes on here, although the start is refused since the run is there: no other process may drive it.
func TestClaimedWhileStarted(t *testing.T) {
	t.Parallel()
	m, asked := journal.NewMemory(), make(chan struct{}, 1)
	var dead atomic.Bool
	w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
		if !dead.Load() {
			asked <- struct{}{}
			<-ctx.Done()
			return model.Reply{}, ctx.Err()
		}
		return sim.Reply("done"), nil
	}}
	open := func(store journal.Backend) *Driver {
		d, err := New(Config{Store: store, Open: w.Open})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = d.Close(context.Background()) })
		return d
	}
	spec := driver.Spec{Run: "r", Workflow: &workflow.Workflow{
		Name: "test", Entry: "a", Agents: []workflow.Agent{{ID: "a", Name: "a"}},
		Nodes: []workflow.Node{{ID: "a", Kind: workflow.KindAgent, Agent: &workflow.AgentNode{Agent: "a", Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}},
	}}

	// 1. This process is about to start the run: its goroutine does not go on before the test says so.
	d, given := open(m.Open(journal.KindServe)), make(chan task, 1)
	d.crew.mu.Lock()
	d.crew.spare = append(d.crew.spare, given)
	d.crew.mu.Unlock()
	started, err := d.begin(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	// 2. Another one, which has the same request, starts it and dies.
	other := m.Open(journal.KindServe)
	if _, err := open(other).Start(t.Context(), spec); err != nil {
		t.Fatal(err)
	}
	<-asked
	dead.Store(true)
	if err := other.Close(); err != nil {
		t.Fatal(err)
	}
	// 3. This one claims it.
	if err := d.claimWaiting(t.Context(), d.outcome); err != nil {
		t.Fatal(err)
	}
	if h, err := d.cfg.Store.Head(t.Context(), "r"); err != nil || h.Owner != d.cfg.Store.Owner().ID {
		t.Fatalf("the run is %+v, %v; want it claimed", h, err)
	}
	(<-given).do()
	if begun, err := started.Wait(t.Context()); begun || !errors.Is(err, journal.ErrExists) {
		t.Errorf("start: %t, %v; want ErrExists", begun, err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if s, err := d.Wait(ctx, "r"); err != nil || s.Status != engine.StatusCompleted {
		t.Errorf("the run is %+v, %v; want completed", s, err)
	}
}
