package embedded

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// claimed is a run that another process left during its first call; the following calls are
// answered.
type claimed struct {
	m     *journal.Memory
	w     *sim.World
	spec  driver.Spec
	other journal.Backend
	dead  atomic.Bool
	asked chan struct{}
}

func newClaimed() *claimed {
	c := &claimed{m: journal.NewMemory(), asked: make(chan struct{}, 1)}
	c.other = c.m.Open(journal.KindServe)
	c.w = &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
		if !c.dead.Load() {
			c.asked <- struct{}{}
			<-ctx.Done()
			return model.Reply{}, ctx.Err()
		}
		return sim.Reply("done"), nil
	}}
	c.spec = driver.Spec{Run: "r", Workflow: &workflow.Workflow{
		Name: "test", Entry: "a", Agents: []workflow.Agent{{ID: "a", Name: "a"}},
		Nodes: []workflow.Node{{ID: "a", Kind: workflow.KindAgent,
			Agent: &workflow.AgentNode{Agent: "a", Prompt: workflow.Prompt{Mode: workflow.PromptTemplate}}}},
	}}
	return c
}

func (c *claimed) open(t *testing.T, store journal.Backend) *Driver {
	t.Helper()
	d, err := New(Config{Store: store, Open: c.w.Open})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.Close(context.Background()) })
	return d
}

// start starts the run in the other process.
func (c *claimed) start(t *testing.T) {
	t.Helper()
	if _, err := c.open(t, c.other).Start(t.Context(), c.spec); err != nil {
		t.Fatal(err)
	}
	<-c.asked
}

// claim kills the other process and claims the run.
func (c *claimed) claim(t *testing.T, d *Driver) {
	t.Helper()
	c.dead.Store(true)
	if err := c.other.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.claimWaiting(t.Context(), d.outcome); err != nil {
		t.Fatal(err)
	}
	if h, err := d.cfg.Store.Head(t.Context(), "r"); err != nil || h.Owner != d.cfg.Store.Owner().ID {
		t.Fatalf("the run is %+v, %v; want it claimed", h, err)
	}
}

func (c *claimed) completes(t *testing.T, d *Driver) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if s, err := d.Wait(ctx, "r"); err != nil || s.Status != event.StatusCompleted {
		t.Errorf("the run is %+v, %v; want completed", s, err)
	}
}

// TestStart_ConcurrentClaim checks that a run that this process claims while it is about to start
// it continues here, although the start is rejected because the run exists: no other process may
// drive it.
func TestStart_ConcurrentClaim(t *testing.T) {
	t.Parallel()
	c := newClaimed()
	d, given := c.open(t, c.m.Open(journal.KindServe)), make(chan task, 1)
	d.crew.mu.Lock()
	d.crew.idle = append(d.crew.idle, given) // the goroutine that starts the run is controlled by the test
	d.crew.mu.Unlock()
	started, err := d.begin(t.Context(), c.spec)
	if err != nil {
		t.Fatal(err)
	}
	c.start(t)
	c.claim(t, d)
	(<-given).runTask()
	if begun, err := started.Wait(t.Context()); begun || !errors.Is(err, journal.ErrExists) {
		t.Errorf("start: %t, %v; want ErrExists", begun, err)
	}
	c.completes(t, d)
}

// lateClaim is a store that delays its refusal of a claim.
type lateClaim struct {
	journal.Backend
	before func()
}

func (l *lateClaim) Claim(ctx context.Context, run string) (journal.Head, error) {
	h, err := l.Backend.Claim(ctx, run)
	if before := l.before; before != nil && err != nil {
		l.before = nil
		before()
	}
	return h, err
}

// TestStart_ConcurrentClaimRefused checks that a run that this process claims while it learns that
// another process has it continues here.
func TestStart_ConcurrentClaimRefused(t *testing.T) {
	t.Parallel()
	c := newClaimed()
	store := &lateClaim{Backend: c.m.Open(journal.KindServe)}
	d := c.open(t, store)
	c.start(t)
	store.before = func() { c.claim(t, d) }
	if err := d.Resume(t.Context(), "r"); !errors.Is(err, journal.ErrOwned) {
		t.Errorf("resume: %v, want ErrOwned", err)
	}
	maintaining, stop := context.WithCancel(t.Context())
	defer stop()
	go d.Maintain(maintaining)
	c.completes(t, d)
}
