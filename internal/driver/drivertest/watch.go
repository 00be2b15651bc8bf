package drivertest

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
)

func testWatchEverywhere(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("ok"), wait(ctx, time.Second)
	}}
	p := c.Open(t, Options{World: w})
	run := start(t, p, chain(agent("a"), agent("b"), agent("c")))

	// One watcher sees everything; another is cut off after each event and starts again after it.
	var whole, pieces []event.Event
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { whole, _, err = collect(p.Watch(t.Context(), run, 0)) })
	wg.Go(func() {
		for from := uint64(0); ; {
			n := len(pieces)
			for u, e := range p.Watch(t.Context(), run, from) {
				if e != nil {
					t.Errorf("watch from %d: %v", from, e)
					return
				}
				if u.Event != nil {
					pieces = append(pieces, *u.Event)
					from = u.Event.Seq
					break
				}
			}
			if len(pieces) == n {
				return // the run had ended
			}
		}
	})
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	stored := c.Events(t, run)
	if diff := cmp.Diff(stored, whole); diff != "" {
		t.Errorf("what the watcher saw is not the journal:\n%s", diff)
	}
	if diff := cmp.Diff(stored, pieces); diff != "" {
		t.Errorf("what the watcher that was cut off saw is not the journal:\n%s", diff)
	}
	if _, _, err := collect(p.Watch(t.Context(), "unknown", 0)); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("watch of no run: %v, want ErrNotFound", err)
	}
	closeAll(t, p)
}

func testWatchRemote(t *testing.T, c Cluster) {
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		return sim.Reply("ok"), wait(ctx, time.Second)
	}}
	owner := c.Open(t, Options{World: w})
	other := c.Open(t, Options{World: w})
	run := start(t, owner, chain(agent("a"), approval("ok"), agent("b")))
	var seen []event.Event
	var err error
	var wg sync.WaitGroup
	wg.Go(func() { seen, _, err = collect(other.Watch(t.Context(), run, 0)) })
	settle(t, c, other, run, event.StatusPaused)
	time.Sleep(time.Hour)
	if e := owner.Answer(t.Context(), run, engine.Answer{Value: text("yes")}); e != nil {
		t.Fatal(e)
	}
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Events(t, run), seen); diff != "" {
		t.Error(diff)
	}

	// The other process answers first and this one immediately after it: the watcher must not miss
	// the other process's events.
	run = start(t, owner, chain(approval("one"), approval("two")))
	settle(t, c, owner, run, event.StatusPaused)
	wg.Go(func() { seen, _, err = collect(owner.Watch(t.Context(), run, 0)) })
	synctest.Wait()
	for _, p := range []Process{other, owner} {
		if e := p.Answer(t.Context(), run, engine.Answer{Value: text("yes")}); e != nil {
			t.Fatal(e)
		}
	}
	wg.Wait()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(c.Events(t, run), seen); diff != "" {
		t.Error(diff)
	}

	ctx, cancel := context.WithCancel(t.Context())
	run = start(t, owner, chain(approval("ok")))
	wg.Go(func() { _, _, err = collect(other.Watch(ctx, run, 0)) })
	synctest.Wait()
	cancel()
	wg.Wait()
	if !errors.Is(err, context.Canceled) {
		t.Errorf("watch under a done context: %v", err)
	}
	closeAll(t, owner, other)
}

func testDeltas(t *testing.T, c Cluster) {
	var mu sync.Mutex
	n := 0
	w := &sim.World{Model: func(ctx context.Context, q model.Request) (model.Reply, error) {
		mu.Lock()
		n++
		first := n == 1
		mu.Unlock()
		if err := wait(ctx, time.Second); err != nil {
			return model.Reply{}, err
		}
		if first {
			return model.Reply{}, &model.Error{Kind: model.KindOverloaded, Message: "later"}
		}
		return sim.Reply("hello world"), nil
	}}
	p := c.Open(t, Options{World: w})
	node := agent("a")
	f := chain(node)
	f.Nodes[0].Retry = retryOnce()
	run := start(t, p, f)
	events, deltas, err := collect(p.Watch(t.Context(), run, 0))
	if err != nil {
		t.Fatal(err)
	}
	said := ""
	var call string
	for _, e := range events {
		if d, ok := e.Data.(*event.ModelReplied); ok {
			call = d.Call
		}
	}
	for _, d := range deltas {
		if d.Offset != len(said) || d.Attempt != 2 || d.Node != "a" || d.Call != call {
			t.Errorf("delta %+v, want call %s, attempt 2, offset %d", d, call, len(said))
		}
		said += d.Text
	}
	if said != "hello world" {
		t.Errorf("deltas say %q", said)
	}
	closeAll(t, p)
}
