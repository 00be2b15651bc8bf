package embedded_test

import (
	"context"
	"sync"
	"testing"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
	"github.com/hocket-run/hocket/internal/sim"
)

// TestInterruptFailsNothing: a run that is interrupted while a call is made is left as it is, at whatever moment that happens: that the call was cut off is no failure of the run (D10).
func TestInterruptFailsNothing(t *testing.T) {
	t.Parallel()
	const runs = 200
	for range 30 {
		m := journal.NewMemory()
		store := m.Open(journal.KindRun)
		w := &sim.World{Model: func(ctx context.Context, _ model.Request) (model.Reply, error) {
			<-ctx.Done()
			return model.Reply{}, ctx.Err()
		}}
		d, err := embedded.New(embedded.Config{Store: store, Open: w.Open})
		if err != nil {
			t.Fatal(err)
		}
		var wg sync.WaitGroup
		ids := make([]string, runs)
		for i := range runs {
			wg.Go(func() {
				id, err := d.Start(t.Context(), driver.Spec{Workflow: agents("a")})
				if err != nil {
					t.Error(err)
					return
				}
				ids[i] = id
				if err := d.Interrupt(t.Context(), id); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if err := d.Close(t.Context()); err != nil {
			t.Fatal(err)
		}
		other := m.Open(journal.KindRun)
		for _, id := range ids {
			h, err := other.Head(t.Context(), id)
			if err != nil || h.Status.IsEnded() {
				t.Errorf("run %s: %s, %v; want it left as it was", id, engine.Status(h.Status), err)
			}
		}
		if t.Failed() {
			return
		}
	}
}
