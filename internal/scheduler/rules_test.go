package scheduler_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
)

var (
	tick = scheduler.Key{Workflow: "w", Branch: "tick"}
	loop = scheduler.Key{Workflow: "w", Branch: "loop"}
	day  = scheduler.Key{Workflow: "w", Branch: "day"}
)

// sleep lets time pass in the bubble.
func sleep(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

func want[T comparable](t *testing.T, what string, got, want T) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestRules(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		test func(t *testing.T)
	}{
		{"S1-37 the first run comes a period after the registration", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			from := time.Now()
			p := w.begin()
			sleep(59 * time.Second)
			want(t, "runs", w.planned(tick, from), "[]")
			sleep(2*time.Minute + time.Second)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 2m0s 3m0s]")
			want(t, "events", w.drainEvents(tick), "[registered started ended started ended started]")
		}},
		{"S1-37 a tick that finds a running run is skipped", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			w.takes = func(scheduler.Slot) time.Duration { return 150 * time.Second }
			from := time.Now()
			p := w.begin()
			sleep(8*time.Minute + 10*time.Second)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 4m0s 7m0s]")
			want(t, "events", w.drainEvents(tick),
				"[registered started skipped skipped ended started skipped skipped ended started skipped]")
		}},
		{"S1-22 one_time starts nothing", func(t *testing.T) {
			w := newWorld(t, branch(tick, "one_time", "60", ""), branch(loop, "", "", ""))
			p := w.begin()
			sleep(time.Hour)
			p.die(true)
			want(t, "runs", len(w.list), 0)
			list, err := w.store.Open(journal.KindRun).Registrations(t.Context())
			want(t, "registered", fmt.Sprint(list, err), "[] <nil>")
		}},
		{"S1-22 a schedule that cannot be read starts nothing, and is told once", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "", ""), branch(day, "interval", "daily@09:00", "Europe/Berln"))
			p := w.begin()
			sleep(time.Hour)
			want(t, "runs", len(w.list), 0)
			events := w.events
			w.publish(branch(tick, "interval", "60", ""))
			w.publish(branch(day, "interval", "daily@02:02", "Europe/Berlin")) // the bubble's time is 01:00 UTC
			sleep(3 * time.Minute)
			p.die(true)
			want(t, "repaired", len(w.of(tick)), 2)
			want(t, "repaired calendar", len(w.of(day)), 1)
			w.events = events
			want(t, "events", fmt.Sprint(len(w.events), w.events[1].Err, w.events[2].Err),
				`3 the mode interval needs a schedule; a schedule is a number of seconds ("60"), "daily@HH:mm" or `+
					`"weekly@d1,d2" with 0 for Sunday`+
					` unknown time zone "Europe/Berln"; did you mean "Europe/Berlin"?`)
		}},
		{"S1-23 S1-39 a continuous branch runs at once and again after its delay, whatever the status",
			func(t *testing.T) {
				w := newWorld(t, branch(loop, "continuous", "5", ""))
				w.takes = func(scheduler.Slot) time.Duration { return time.Minute }
				from := time.Now()
				p := w.begin()
				sleep(30 * time.Second)
				w.finish(w.list[0].id, journal.StatusFailed)
				sleep(time.Minute)
				w.finish(w.list[1].id, journal.StatusCancelled)
				sleep(10 * time.Second)
				p.die(true)
				want(t, "runs", w.planned(loop, from), "[0s 35s 1m35s]")
			}},
		{"S1-23 the default delay is a second", func(t *testing.T) {
			w := newWorld(t, branch(loop, "continuous", "", ""))
			from := time.Now()
			p := w.begin()
			sleep(5 * time.Second)
			p.die(true)
			want(t, "runs", w.planned(loop, from), "[0s 2s 4s]")
		}},
		{"S1-39 after a restart the next run waits for the end of the unfinished one", func(t *testing.T) {
			w := newWorld(t, branch(loop, "continuous", "5", ""))
			w.takes = func(scheduler.Slot) time.Duration { return time.Minute }
			from := time.Now()
			w.begin().die(true)
			sleep(time.Hour)
			want(t, "runs", w.planned(loop, from), "[0s]")
			p := w.begin()
			sleep(2 * time.Minute)
			p.die(true)
			want(t, "runs", w.planned(loop, from), "[0s 1h1m5s]")
		}},
		{"S1-39 P37 a run that will not end is waited for no longer", func(t *testing.T) {
			w := newWorld(t, branch(loop, "continuous", "5", ""))
			w.takes = func(scheduler.Slot) time.Duration { return time.Hour }
			from := time.Now()
			p := w.begin()
			sleep(time.Minute)
			w.orphan(w.list[0].id)
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", w.planned(loop, from), "[0s 1m5s]")
			want(t, "events", w.drainEvents(loop), "[registered started started]")
		}},
		{"S1-39 after a restart without an unfinished run the next one starts at once", func(t *testing.T) {
			w := newWorld(t, branch(loop, "continuous", "3600", ""))
			from := time.Now()
			p := w.begin()
			sleep(time.Minute)
			p.die(true)
			sleep(time.Minute)
			p = w.begin()
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", w.planned(loop, from), "[0s 2m0s]")
		}},
		{"S1-38 another version of the workflow begins the interval anew, a calendar goes on", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""), branch(day, "interval", "daily@00:01", ""))
			from := time.Now() // midnight
			p := w.begin()
			sleep(40*time.Second + 500*time.Millisecond)
			for _, b := range []scheduler.Branch{branch(tick, "interval", "60", ""),
				branch(day, "interval", "daily@00:01", "")} {
				b.Version = 2
				w.publish(b)
			}
			sleep(90 * time.Second)
			p.die(true)
			want(t, "interval", w.planned(tick, from), "[1m41s]")
			want(t, "calendar", w.planned(day, from), "[1m0s]")
		}},
		{"S1-38 another schedule begins anew, one that is gone starts nothing", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""), branch(day, "interval", "70", ""))
			from := time.Now()
			p := w.begin()
			sleep(30*time.Second + 500*time.Millisecond)
			w.publish(branch(tick, "interval", "10", ""))
			w.unpublish(day)
			sleep(30 * time.Second)
			w.publish(branch(day, "interval", "70", ""))
			sleep(71 * time.Second)
			p.die(true)
			want(t, "first two", w.planned(tick, from)[:12], "[41s 51s 1m1s"[:12])
			want(t, "gone and back", w.planned(day, from), "[2m11s]")
		}},
		{"S1-38 registrations survive a restart", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			from := time.Now()
			p := w.begin()
			sleep(70 * time.Second)
			p.die(true)
			sleep(20 * time.Second)
			p = w.begin()
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 2m0s]")
		}},
		{"a workflow that cannot be read keeps its registration", func(t *testing.T) {
			w := newWorld(t, branch(tick, "interval", "60", ""))
			from := time.Now()
			p := w.begin()
			sleep(70*time.Second + 500*time.Millisecond)
			w.publish(scheduler.Branch{Key: tick, Err: errDown})
			sleep(2 * time.Minute)
			want(t, "runs", w.planned(tick, from), "[1m0s]")
			w.publish(branch(tick, "interval", "60", ""))
			sleep(time.Minute)
			p.die(true)
			want(t, "runs", w.planned(tick, from), "[1m0s 3m0s 4m0s]")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, c.test)
		})
	}
}

func TestCatchUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		policy scheduler.Policy
		takes  time.Duration
		want   string
	}{
		{"", time.Second, "[1m0s 5m0s 6m0s]"},
		{scheduler.CatchUpLast, time.Second, "[1m0s 5m0s 6m0s]"},
		{scheduler.CatchUpNone, time.Second, "[1m0s 6m0s]"},
		{scheduler.CatchUpAll, time.Second, "[1m0s 2m0s 3m0s 4m0s 5m0s 6m0s]"},
		// The run active at the kill has 40 s left when it is resumed at 5:30. Missed times wait
		// for its end.
		{scheduler.CatchUpLast, 70 * time.Second, "[1m0s 5m0s]"},
		{scheduler.CatchUpAll, 70 * time.Second, "[1m0s 2m0s]"},
	} {
		t.Run(fmt.Sprintf("P37 %q, runs take %s", c.policy, c.takes), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, branch(tick, "interval", "60", ""))
				w.takes = func(scheduler.Slot) time.Duration { return c.takes }
				from := time.Now()
				p := w.begin(catchUp(c.policy))
				sleep(90 * time.Second)
				p.die(true)
				sleep(4 * time.Minute) // 5:30
				p = w.begin(catchUp(c.policy))
				sleep(50 * time.Second)
				p.die(true)
				want(t, "runs", w.planned(tick, from), c.want)
			})
		})
	}
}

// P37: neither a clock change nor a suspended machine makes a planned time run twice or keeps a
// branch silent.
func TestClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name string
		step time.Duration
		want string
	}{
		{"a minute back", -time.Minute, "[1m0s 2m0s 3m0s]"},
		{"a minute on", time.Minute, "[1m0s 2m0s 3m0s 4m0s 5m0s]"},
		{"an hour on: the last missed one", time.Hour, "[1m0s 2m0s 1h2m0s 1h3m0s 1h4m0s]"},
		{"a year back: it goes on from now", -365 * 24 * time.Hour, "[1m0s 2m0s -8759h56m58s -8759h55m58s]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, branch(tick, "interval", "60", ""))
				from := time.Now()
				clock := time.Now
				p := w.begin(func(c *scheduler.Config) { c.Now = func() time.Time { return clock() } })
				sleep(2*time.Minute + 1500*time.Millisecond)
				set := func() time.Time { return time.Now().Add(c.step) }
				w.mu.Lock()
				clock = set
				w.mu.Unlock()
				sleep(2*time.Minute + time.Second)
				p.die(true)
				want(t, "runs", w.planned(tick, from), c.want)
			})
		})
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	refused := fmt.Errorf("no key for openai: %w", scheduler.ErrRefused)
	for _, c := range []struct {
		name         string
		key          scheduler.Key
		mode, spec   string
		fails        int
		before       error
		after        error
		want, events string
	}{
		{"a start that fails is made again", tick, "interval", "60", 3, errDown, nil, "[1m0s 2m0s]",
			"[registered started ended started ended]"},
		{"a start of unknown outcome is found", tick, "interval", "60", 1, nil, errDown, "[1m0s 2m0s]",
			"[registered started ended]"},
		{"a refused run is told and the next planned time tried", tick, "interval", "60", 1, refused, nil, "[2m0s]",
			"[registered refused started ended]"},
		{"a refused continuous run is tried ever more seldom", loop, "continuous", "", 4, refused, nil, "[15s]",
			"[registered refused started]"},
		{"a continuous run that fails to start is tried again", loop, "continuous", "", 2, errDown, nil, "[3s]",
			"[registered started]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, branch(c.key, c.mode, c.spec, ""))
				w.takes = func(scheduler.Slot) time.Duration { return time.Second }
				if c.key == loop {
					w.takes = func(scheduler.Slot) time.Duration { return time.Hour }
				}
				n := 0
				w.fail = func(scheduler.Slot) (error, error) {
					if n++; n > c.fails {
						return nil, nil
					}
					return c.before, c.after
				}
				from := time.Now()
				p := w.begin()
				sleep(2*time.Minute + 30*time.Second)
				p.die(true)
				want(t, "runs", w.planned(c.key, from), c.want)
				want(t, "events", w.drainEvents(c.key), c.events)
			})
		})
	}
}

// the store keeps since when and why runs are refused, until one is accepted: for planned
// times, for a request of a person, and for continuous branches, whichever process leads.
func TestRefusalStored(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, branch(tick, "interval", "60", ""))
		var reason atomic.Value
		reason.Store("")
		w.fail = func(scheduler.Slot) (error, error) {
			if reason.Load() == "" {
				return nil, nil
			}
			return fmt.Errorf("%w: %s", scheduler.ErrRefused, reason.Load()), nil
		}
		stored := func() string {
			t.Helper()
			list, err := w.store.Open(journal.KindRun).Registrations(t.Context())
			if err != nil || len(list) != 1 {
				t.Fatal(list, err)
			}
			if list[0].Refused.IsZero() {
				return list[0].Refusal
			}
			return fmt.Sprint(list[0].Refused.Sub(list[0].Registered), " ", list[0].Refusal)
		}
		reason.Store("no key")
		p := w.begin()
		sleep(30 * time.Second)
		want(t, "at first", stored(), "")
		sleep(time.Minute)
		want(t, "refused", stored(), "1m0s no key")
		p.die(true)
		p = w.begin()
		sleep(time.Minute)
		want(t, "refused again, by another process", stored(), "1m0s no key")
		reason.Store(strings.Repeat("é", 3000))
		sleep(time.Minute)
		if got := stored(); !strings.HasPrefix(got, "3m0s éé") || len(got) > 2100 || !utf8.ValidString(got) {
			t.Errorf("another reason: %.60s, %d bytes", got, len(got))
		}
		w.say(tick, ask)
		reason.Store("no tool")
		sleep(5 * time.Second)
		if got := stored(); !strings.HasSuffix(got, " no tool") {
			t.Errorf("a request is refused: %s", got)
		}
		reason.Store("")
		sleep(time.Minute)
		want(t, "started", stored(), "")
		p.die(true)
	})
}

// P37: of two schedulers, one executes the schedules, and the other takes over when it ends.
func TestTwo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, branch(tick, "interval", "60", ""))
		from := time.Now()
		a, b := w.begin(), w.begin()
		sleep(150 * time.Second)
		want(t, "runs", w.planned(tick, from), "[1m0s 2m0s]")
		kinds := map[scheduler.EventKind]int{}
		for _, e := range w.events {
			kinds[e.Kind]++
		}
		want(t, "leading and waiting", fmt.Sprint(kinds[scheduler.EventLeading], kinds[scheduler.EventWaiting],
			kinds[scheduler.EventRegistered]), "1 1 1")
		a.die(false)
		sleep(time.Minute)
		b.die(false)
		want(t, "runs", w.planned(tick, from), "[1m0s 2m0s 3m0s]")
	})
}

func TestConfig(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	good := scheduler.Config{Source: w, Runs: w, Book: w.store.Open(journal.KindRun)}
	for name, change := range map[string]func(*scheduler.Config){
		"no source": func(c *scheduler.Config) { c.Source = nil },
		"no runs":   func(c *scheduler.Config) { c.Runs = nil },
		"no book":   func(c *scheduler.Config) { c.Book = nil },
		"poll":      func(c *scheduler.Config) { c.Poll = -1 },
		"policy":    func(c *scheduler.Config) { c.CatchUp = "some" },
	} {
		cfg := good
		change(&cfg)
		if _, err := scheduler.New(cfg); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
	if _, err := scheduler.New(good); err != nil {
		t.Error(err)
	}
}
