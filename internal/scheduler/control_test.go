package scheduler_test

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
)

// say changes the control of a schedule through a separate handle, as another process would.
func (w *world) say(key scheduler.Key, change func(c *journal.Control, now time.Time)) {
	w.t.Helper()
	h := w.store.Open(journal.KindRun)
	c, err := h.Control(w.t.Context(), key)
	if err == nil {
		change(&c, time.Now().UTC())
		err = h.SetControl(w.t.Context(), c)
	}
	if err := errors.Join(err, h.Close()); err != nil {
		w.t.Fatal(err)
	}
}

func pause(c *journal.Control, now time.Time) { c.Paused, c.PausedBy = now, "ann" }
func resume(c *journal.Control, now time.Time) {
	c.Paused, c.Resumed, c.ResumedBy = time.Time{}, now, "bob"
}
func ask(c *journal.Control, now time.Time) { c.Asked, c.AskedBy = now, "ann" }

func skip(until time.Duration) func(*journal.Control, time.Time) {
	return func(c *journal.Control, now time.Time) {
		c.SkipAfter, c.SkipUntil = now, now.Add(until)
	}
}

func TestControls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"X-71 X-72 a paused schedule starts nothing, and nothing of that time is made up for", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			from := time.Now()
			p := w.begin(catchUp(scheduler.CatchUpAll))
			sleep(90 * time.Second)
			w.say(tick, pause)
			sleep(2 * time.Minute)
			w.say(tick, resume)
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 4m0s]")
			want(t, "events", w.drainEvents(tick), "[registered started ended paused held held resumed started ended]")
		}},
		{"X-71 a pause holds from the instant at which it is stored, however seldom the scheduler looks",
			func(t *testing.T) {
				w := newWorld(t, branch(tick, "interval", "60", ""))
				p := w.begin(poll(time.Hour))
				sleep(59*time.Second + 999*time.Millisecond)
				w.say(tick, pause)
				sleep(61 * time.Second)
				p.die(true)
				want(t, "runs", len(w.list), 0)
				want(t, "events", w.drainEvents(tick), "[registered paused held held]")
			}},
		{"X-71 X-72 a pause outlives the scheduler and a new version", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			w.begin().die(true)
			w.say(tick, pause)
			sleep(time.Hour)
			p := w.begin()
			sleep(90 * time.Second)
			b := branch(tick, "interval", "60", "")
			b.Version = 2
			w.publish(b)
			sleep(2 * time.Minute)
			p.die(true)
			want(t, "runs", len(w.list), 0)
			w.say(tick, resume)
			began := time.Now()
			p = w.begin(catchUp(scheduler.CatchUpAll))
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", len(w.list), 1)
			want(t, "the first is planned after the resumption", w.list[0].slot.Planned.After(began), true)
		}},
		{"X-72 what waited to be made up for is dropped by a pause", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			w.takes = func(scheduler.Slot) time.Duration { return 10 * time.Minute }
			from := time.Now()
			w.begin().die(true)
			sleep(5*time.Minute + 30*time.Second)
			p := w.begin(catchUp(scheduler.CatchUpAll))
			sleep(time.Second)
			w.say(tick, pause)
			sleep(30 * time.Minute)
			w.say(tick, resume)
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 36m0s]")
		}},
		{"X-71 a paused continuous schedule starts nothing, and starts when the scheduler sees that it is resumed",
			func(t *testing.T) {
				w := newWorld(t, branch(loop, "continuous", "5", ""))
				w.takes = func(scheduler.Slot) time.Duration { return time.Minute }
				from := time.Now()
				p := w.begin()
				sleep(10 * time.Second)
				w.say(loop, pause)
				sleep(10 * time.Minute)
				w.say(loop, resume)
				sleep(2 * time.Second)
				p.die(true)
				want(t, "runs", w.planned(loop, from), "[0s 10m11s]")
			}},
		{"X-73 a planned time that is skipped starts nothing, then or later", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			from := time.Now()
			p := w.begin(catchUp(scheduler.CatchUpAll))
			sleep(90 * time.Second)
			w.say(tick, skip(30*time.Second))
			sleep(30 * time.Second)
			p.die(true)
			sleep(2 * time.Minute)
			p = w.begin(catchUp(scheduler.CatchUpAll))
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 3m0s 4m0s 5m0s]")
		}},
		{"X-73 a skipped time that is missed is not made up for", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			from := time.Now()
			w.begin().die(true)
			sleep(90 * time.Second)
			w.say(tick, skip(30*time.Second))
			sleep(2 * time.Minute)
			p := w.begin(catchUp(scheduler.CatchUpAll))
			sleep(20 * time.Second)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 3m0s]")
		}},
		{"X-74 a run that is asked for starts once, also of a paused schedule and after a restart", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "3600", ""))
			from := time.Now()
			p := w.begin()
			sleep(30 * time.Second)
			w.say(tick, pause)
			w.say(tick, ask)
			sleep(5 * time.Second)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[30s]")
			w.say(tick, ask)
			p = w.begin()
			sleep(time.Minute)
			p.die(true)
			p = w.begin()
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[30s 35s]")
		}},
		{"X-74 a run that is asked for waits for the end of the one that goes on", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			w.takes = func(scheduler.Slot) time.Duration { return 50 * time.Second }
			from := time.Now()
			p := w.begin()
			sleep(70 * time.Second)
			w.say(tick, ask)
			sleep(45 * time.Second)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 1m10s]")
			want(t, "it began after the other", w.list[1].began.Sub(from), 110*time.Second)
		}},
		{"X-74 a run that was asked for a day ago is not started", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "3600", ""))
			w.say(tick, ask)
			sleep(25 * time.Hour)
			p := w.begin()
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", len(w.list), 0)
		}},
		{"X-74 a start that fails is tried again, and one that was refused is not", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "3600", ""))
			from := time.Now()
			fails := 3
			w.fail = func(scheduler.Slot) (error, error) {
				if fails--; fails > 0 {
					return errDown, nil
				}
				return nil, nil
			}
			p := w.begin()
			w.say(tick, ask)
			sleep(time.Minute)
			want(t, "runs", w.planned(tick, from), "[0s]")
			w.fail = func(scheduler.Slot) (error, error) { return scheduler.ErrRefused, nil }
			w.say(tick, ask)
			sleep(time.Minute)
			w.fail = func(scheduler.Slot) (error, error) { return nil, nil }
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", len(w.list), 1)
		}},
		{"X-75 schedules of one workflow have a state each", func(t *testing.T) {
			a, b := scheduler.Key{Workflow: "w", Schedule: "a"}, scheduler.Key{Workflow: "w", Schedule: "b"}
			w := newWorld(t, branch(a, "interval", "60", ""), branch(b, "interval", "60", ""))
			p := w.begin()
			w.say(a, pause)
			sleep(90 * time.Second)
			p.die(true)
			want(t, "runs", len(w.of(a)), 0)
			want(t, "runs", len(w.of(b)), 1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, c.test)
		})
	}
}
