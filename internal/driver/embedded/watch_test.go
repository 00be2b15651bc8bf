package embedded_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// TestSlowWatcher checks that a watcher that falls far behind still receives every event once and
// in order.
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

// counting is a store that records the first event from which a run is read.
type counting struct {
	journal.Backend
	mu   sync.Mutex
	from []uint64
}

func (c *counting) Each(ctx context.Context, run string, after uint64, take func(journal.Record) error) error {
	c.mu.Lock()
	c.from = append(c.from, after)
	c.mu.Unlock()
	return c.Backend.Each(ctx, run, after, take)
}

// TestHooks checks that hooks receive durable events in order, and model output.
func TestHooks(t *testing.T) {
	var mu sync.Mutex
	var seqs []uint64
	said := ""
	cfg := embedded.Config{Hooks: embedded.Hooks{
		Events: func(_ string, events []event.Event) {
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
		run, err := d.Start(t.Context(), driver.Spec{Workflow: agents("a"), Input: event.Value(`"hello"`)})
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
