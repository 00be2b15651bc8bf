package scheduler_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/scheduler"
)

// P37: a planned time is done when its run is durable, not before: a kill while the run's models
// and tools are being opened loses nothing, and delays no other schedule.
func TestKilledWhileStarting(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, branch(tick, "interval", "60", ""), branch(day, "interval", "daily@00:02", ""))
		from := time.Now()
		var opened atomic.Int32
		w.open = func(ctx context.Context) {
			if opened.Add(1) == 1 {
				<-ctx.Done()
			}
		}
		p := w.begin()
		sleep(150 * time.Second)
		want(t, "the other schedule", w.planned(day, from), "[2m0s]")
		want(t, "ticks meanwhile are skipped", w.drainEvents(tick), "[registered skipped]")
		p.die(true)
		sleep(10 * time.Second)
		p = w.begin(catchUp(scheduler.CatchUpAll))
		sleep(15 * time.Second)
		p.die(true)
		want(t, "runs", w.planned(tick, from), "[1m0s 2m0s]")
	})
}

// P37: runs that could not be started while the store was down are caught up like missed ones, up
// to MaxCatchUp.
func TestCatchUp_StoreOutage(t *testing.T) {
	t.Parallel()
	for _, policy := range scheduler.Policies() {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, branch(tick, "interval", "1", ""))
				w.takes = func(scheduler.Slot) time.Duration { return time.Millisecond }
				from := time.Now()
				const down = 10 * time.Minute
				w.fail = func(scheduler.Slot) (error, error) {
					if time.Since(from) < down {
						return errDown, nil
					}
					return nil, nil
				}
				p := w.begin(catchUp(policy))
				sleep(down + 70*time.Second + 500*time.Millisecond)
				p.die(true)
				early := 0
				for _, r := range w.of(tick) {
					if r.slot.Planned.Sub(from) < down {
						early++
					}
				}
				if early == 0 || early > scheduler.MaxCatchUp {
					t.Errorf("made up for %d planned times, want from 1 to %d", early, scheduler.MaxCatchUp)
				}
			})
		})
	}
}

func TestCatchUp_Limit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, branch(tick, "interval", "1", ""))
		w.takes = func(scheduler.Slot) time.Duration { return time.Millisecond }
		from := time.Now()
		w.begin().die(true)
		sleep(24 * time.Hour)
		p := w.begin(catchUp(scheduler.CatchUpAll))
		sleep(500 * time.Millisecond)
		p.die(true)
		runs := w.of(tick)
		want(t, "runs", len(runs), scheduler.MaxCatchUp)
		want(t, "first", runs[0].slot.Planned.Sub(from), 24*time.Hour-99*time.Second)
		want(t, "last", runs[99].slot.Planned.Sub(from), 24*time.Hour)
	})
}
