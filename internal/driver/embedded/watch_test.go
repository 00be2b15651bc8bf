package embedded_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// TestSlowWatcher: a watcher that falls far behind still gets every event once and in order.
func TestSlowWatcher(t *testing.T) {
	bubble(t, embedded.Config{}, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
		ids := make([]string, 400)
		for i := range ids {
			ids[i] = "n" + strings.Repeat("i", i)
		}
		run := start(t, d, agents(ids...))
		var wg sync.WaitGroup
		wg.Go(func() {
			next := uint64(1)
			for u, err := range d.Watch(t.Context(), run, 0) {
				if err != nil {
					t.Error(err)
					return
				}
				if u.Event == nil {
					continue
				}
				if u.Event.Seq == 1 {
					time.Sleep(time.Hour)
				}
				if u.Event.Seq != next {
					t.Errorf("event %d stands where %d belongs", u.Event.Seq, next)
					return
				}
				next++
			}
			if next < 2000 {
				t.Errorf("only %d events", next-1)
			}
		})
		wg.Wait()
	})
}

// counting is a store that notes from which event on a run is read.
type counting struct {
	journal.Backend
	mu   sync.Mutex
	from []uint64
}

func (c *counting) Read(ctx context.Context, run string, after uint64) ([]journal.Record, error) {
	c.mu.Lock()
	c.from = append(c.from, after)
	c.mu.Unlock()
	return c.Backend.Read(ctx, run, after)
}

// TestSnapshotIsUsed: a long run is not folded from its first event on (P6).
func TestSnapshotIsUsed(t *testing.T) {
	stateless := func(context.Context, driver.Info) (*driver.Kit, error) {
		return &driver.Kit{Models: echo{}, Stateless: true}, nil
	}
	bubble(t, embedded.Config{Open: stateless}, func(t *testing.T, d *embedded.Driver, m *journal.Memory) {
		ids := make([]string, 300)
		for i := range ids {
			ids[i] = "n" + strings.Repeat("i", i)
		}
		w := agents(ids...)
		w.Nodes = append(w.Nodes, approval().Nodes...)
		w.Edges = append(w.Edges, workflow.Edge{From: ids[len(ids)-1], To: "ok"})
		run := start(t, d, w)
		status(t, d, run)
		c := &counting{Backend: m.Open(journal.KindServe)}
		data, at, err := c.Snapshot(t.Context(), run)
		head, _ := c.Head(t.Context(), run)
		if err != nil || data == nil || at < head.LastSeq/4 {
			t.Fatalf("snapshot of %d bytes at event %d of %d, %v", len(data), at, head.LastSeq, err)
		}
		if err := open(t, m, embedded.Config{Store: c, Open: stateless}).Answer(t.Context(), run, engine.Answer{Value: engine.Value(`"yes"`)}); err != nil {
			t.Fatal(err)
		}
		if len(c.from) == 0 || c.from[0] != at {
			t.Errorf("read from %v, want %d", c.from, at)
		}
	})
}

type echo struct{}

func (echo) Call(_ context.Context, q model.Request, _ func(model.Delta)) (model.Reply, error) {
	return sim.Reply("%s", q.LastText()), nil
}

// TestHooks: hooks see what is durable, in order, and what is said.
func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var seqs []uint64
	said := ""
	cfg := embedded.Config{Hooks: embedded.Hooks{
		Events: func(_ string, events []engine.Event) {
			mu.Lock()
			defer mu.Unlock()
			for _, e := range events {
				seqs = append(seqs, e.Seq)
			}
		},
		Delta: func(_ string, delta driver.Delta) {
			mu.Lock()
			defer mu.Unlock()
			said += delta.Text
		},
	}}
	bubble(t, cfg, func(t *testing.T, d *embedded.Driver, _ *journal.Memory) {
		run, err := d.Start(t.Context(), driver.Spec{Workflow: agents("a"), Input: engine.Value(`"hello"`)})
		if err != nil {
			t.Fatal(err)
		}
		status(t, d, run)
		mu.Lock()
		defer mu.Unlock()
		for i, s := range seqs {
			if s != uint64(i+1) {
				t.Fatalf("events %v", seqs)
			}
		}
		if len(seqs) == 0 || said != "hello" {
			t.Errorf("%d events, said %q", len(seqs), said)
		}
	})
}
