package scheduler_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/scheduler"
)

// a planned time whose run may not run concurrently with others is skipped, not refused.
// Missed times, requested runs and continuous branches wait until the run may start.
func TestScheduler_ConcurrencyLimit(t *testing.T) {
	t.Parallel()
	busy := &scheduler.BusyError{Run: "other", Err: errors.New("it is busy")}
	busyUntil := func(t *testing.T, key scheduler.Key, mode, spec string, until time.Duration) (*world, time.Time) {
		w := newWorld(t, branch(key, mode, spec, ""))
		from := time.Now()
		w.fail = func(scheduler.Slot) (error, error) {
			if time.Since(from) < until {
				return busy, nil
			}
			return nil, nil
		}
		return w, from
	}
	synctest.Test(t, func(t *testing.T) {
		w, from := busyUntil(t, tick, "interval", "60", 150*time.Second)
		p := w.begin()
		sleep(3*time.Minute + 10*time.Second)
		p.die(true)
		want(t, "runs", w.planned(tick, from), "[3m0s]")
		want(t, "its run", w.events[2].Run, "other")
		want(t, "events", w.drainEvents(tick), "[registered skipped skipped started ended]")
	})
	synctest.Test(t, func(t *testing.T) {
		w, from := busyUntil(t, tick, "interval", "3600", 3*time.Hour+5*time.Minute)
		w.begin().die(true)
		sleep(150 * time.Minute)
		p := w.begin()
		w.say(tick, ask)
		sleep(40 * time.Minute)
		p.die(true)
		runs := w.of(tick)
		want(t, "runs that were missed and asked for", len(runs), 2)
		for _, r := range runs {
			if r.slot.Planned.Sub(from) > 151*time.Minute || r.began.Sub(from) < 185*time.Minute ||
				r.began.Sub(from) > 188*time.Minute {
				t.Errorf("%+v began after %s", r.slot, r.began.Sub(from))
			}
		}
		want(t, "events", w.drainEvents(tick), "[registered missed skipped started ended started ended]")
	})
	synctest.Test(t, func(t *testing.T) {
		w, from := busyUntil(t, loop, "continuous", "5", 10*time.Minute)
		p := w.begin()
		sleep(12 * time.Minute)
		p.die(true)
		runs := w.of(loop)
		if first := runs[0].began.Sub(from); first < 10*time.Minute || first > 11*time.Minute {
			t.Errorf("the first run began after %s", first)
		}
	})
}
