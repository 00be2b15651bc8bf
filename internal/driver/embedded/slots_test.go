package embedded_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/model"
)

// TestSlots_Fairness checks that drivers that share their slots take turns: a driver with many
// waiting calls delays another driver's call by one of its own, not by all, and cancelled calls
// delay no other (SEC17, SEC10).
func TestSlots_Fairness(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			mu    sync.Mutex
			order []string
			step  = make(chan struct{})
		)
		client := func(who string) clientFunc {
			return func(ctx context.Context, _ model.Request) (model.Reply, error) {
				mu.Lock()
				order = append(order, who)
				mu.Unlock()
				select {
				case <-step:
					return reply("done", chat.Usage{}), nil
				case <-ctx.Done():
					return model.Reply{}, ctx.Err()
				}
			}
		}
		slots := embedded.NewSlots(1)
		drivers := map[string]*embedded.Driver{}
		for _, who := range []string{"busy", "quiet", "gone"} {
			drivers[who] = open(t, journal.NewMemory(), embedded.Config{Slots: slots,
				Open: kitOf(&driver.RunResources{Models: client(who), DefaultModel: "m"})})
		}
		begin := func(who string, calls int) string {
			run, err := drivers[who].Start(t.Context(), driver.Spec{Workflow: broad(calls, nil)})
			if err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			return run
		}
		begin("busy", 20)
		gone := begin("gone", 20)
		begin("quiet", 2)
		if err := drivers["gone"].Cancel(t.Context(), gone, ""); err != nil { // cancelled calls take no turn
			t.Fatal(err)
		}
		synctest.Wait()
		if taken, waiting := slots.Load(); taken != 1 || waiting != 21 {
			t.Errorf("%d places are taken and %d calls wait, want 1 and 21", taken, waiting)
		}
		for range 22 {
			step <- struct{}{}
			synctest.Wait()
		}
		want := []string{"busy", "busy", "quiet", "busy", "quiet"}
		if got := order[:len(want)]; !slices.Equal(got, want) {
			t.Errorf("the calls came in the order %v, want %v first", got, want)
		}
		if len(order) != 22 || slices.Contains(order, "gone") {
			t.Errorf("%d calls were made, want 22 and none that was cancelled: %v", len(order), order)
		}
	})
}
