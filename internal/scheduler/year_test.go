package scheduler_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/schedule"
	"github.com/hocket-run/hocket/internal/scheduler"
)

// outage is a period without a live scheduler: from is the kill, to the restart.
type outage struct{ from, to time.Time }

// TestYear checks that in a simulated year with clock changes, kills at any time and store errors,
// every planned time has one run, was skipped because of an active run, or was missed and is not
// the last missed one (P37, S1-23, S1-36, S1-37).
func TestYear(t *testing.T) {
	t.Parallel()
	for seed := range randtest.Seeds(seeds) {
		for _, policy := range scheduler.Policies() {
			t.Run(fmt.Sprintf("seed %d policy %s", seed, policy), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) { simulateYear(t, seed, policy) })
			})
		}
	}
}

func simulateYear(t *testing.T, seed uint64, policy scheduler.Policy) {
	rnd := rand.New(rand.NewPCG(seed, 36))
	branches := []scheduler.Branch{
		branch(scheduler.Key{Workflow: "news", Branch: "daily"}, "interval", "daily@02:30", "America/New_York"),
		branch(scheduler.Key{Workflow: "news", Branch: "midnight"}, "interval", "daily@00:00", "America/Havana"),
		branch(scheduler.Key{Workflow: "news", Branch: "weekly"}, "interval", "weekly@0,3", "America/Santiago"),
		branch(scheduler.Key{Workflow: "howe"}, "interval", "daily@2:15", "Australia/Lord_Howe"),
		branch(scheduler.Key{Workflow: "often"}, "interval", "5000", ""),
		branch(scheduler.Key{Workflow: "always"}, "continuous", "600", ""),
	}
	w := newWorld(t, branches...)
	// What happens to a slot depends only on the slot, regardless of the order in which slots come.
	pick := func(slot scheduler.Slot, what string, n uint64) int {
		h := fnv.New64a()
		fmt.Fprint(h, seed, what, idOf(slot))
		return int((h.Sum64() >> 8) % n)
	}
	longest := uint64(9000)
	if policy == scheduler.CatchUpAll {
		longest /= 4 // so that missed times are caught up before the next outage
	}
	w.takes = func(slot scheduler.Slot) time.Duration {
		// Whole seconds and a half: nothing ends at a planned time. Some runs take longer than a
		// period.
		return time.Duration(1+pick(slot, "takes", longest))*time.Second + 500*time.Millisecond
	}
	asked := map[string]int{}
	w.fail = func(slot scheduler.Slot) (error, error) {
		id := idOf(slot)
		if asked[id]++; asked[id] > 1 {
			return nil, nil
		}
		switch pick(slot, "fails", 40) {
		case 0:
			return errDown, nil
		case 1:
			return nil, errDown
		}
		return nil, nil
	}
	slow := poll(time.Hour) // nothing is published meanwhile
	start := time.Now().UTC()
	end := start.AddDate(0, months, 0)
	var outages []outage
	p := w.begin(slow, catchUp(policy))
	for {
		up := time.Duration(1+rnd.IntN(10*86400))*time.Second + 250*time.Millisecond
		if time.Now().Add(up).After(end) {
			sleep(time.Until(end))
			break
		}
		sleep(up)
		o := outage{from: time.Now().UTC()}
		p.die(true)
		sleep(time.Duration(rnd.IntN(2*86400))*time.Second + 250*time.Millisecond)
		o.to = time.Now().UTC()
		outages = append(outages, o)
		p = w.begin(slow, catchUp(policy))
	}
	p.die(true)
	if len(outages) < months {
		t.Fatalf("%d outages", len(outages))
	}
	for _, b := range branches {
		noOverlap(t, w.of(b.Key))
		if b.Schedule.Mode == "interval" {
			met, skipped, missed := checkSlots(t, w.of(b.Key), b, start, end, outages, policy)
			t.Logf("%s: %d met, %d skipped, %d missed", b.Key, met, skipped, missed)
		} else {
			checkChain(t, w.of(b.Key), b, outages)
		}
	}
}

// noOverlap checks that no two runs of a branch overlap, and that no two have the same planned
// time.
func noOverlap(t *testing.T, runs []*fakeRun) {
	t.Helper()
	seen := map[time.Time]bool{}
	for i, r := range runs {
		if seen[r.slot.Planned] {
			t.Errorf("%s has two runs", r.id)
		}
		seen[r.slot.Planned] = true
		if i > 0 && (!runs[i-1].status.Ended() || r.began.Before(runs[i-1].end)) {
			t.Errorf("%s began before %s had ended", r.id, runs[i-1].id)
		}
	}
}

func checkSlots(t *testing.T, runs []*fakeRun, b scheduler.Branch, start, end time.Time, outages []outage,
	policy scheduler.Policy) (met, skipped, missed int) {
	t.Helper()
	s, err := schedule.Parse(b.Schedule.Mode, b.Schedule.Spec)
	if err != nil {
		t.Fatal(err)
	}
	loc, err := schedule.Zone(b.Schedule.TimeZone, time.UTC)
	if err != nil {
		t.Fatal(err)
	}
	byPlan := map[time.Time]*fakeRun{}
	for _, r := range runs {
		byPlan[r.slot.Planned] = r
	}
	// Missed times still to be caught up at the end of the year.
	open := time.Time{}
	for _, r := range runs {
		if r.slot.CatchUp {
			open = r.slot.Planned
		}
	}
	for at := s.NextFrom(start, start, loc).UTC(); at.Before(end); at = s.NextFrom(start, at, loc).UTC() {
		r := byPlan[at]
		delete(byPlan, at)
		under := slices.ContainsFunc(runs, func(o *fakeRun) bool {
			return o.slot.Planned != at && o.began.Before(at) && (!o.status.Ended() || o.end.After(at))
		})
		out := slices.IndexFunc(outages, func(o outage) bool { return !at.Before(o.from) && !at.After(o.to) })
		if out < 0 {
			switch {
			case under:
				skipped++
				if r != nil && policy != scheduler.CatchUpAll {
					t.Errorf("%s %s ran though a run was under way", b.Key, at)
				}
			case r == nil && !end.After(at.Add(2*time.Minute)):
			case r == nil:
				t.Errorf("%s %s was lost", b.Key, at)
			case r.began.Sub(at) > 2*time.Minute && !killedSoon(outages, at, r.began):
				t.Errorf("%s %s began at %s", b.Key, at, r.began)
			default:
				met++
			}
			continue
		}
		missed++
		o := outages[out]
		next := s.NextFrom(start, at, loc)
		isLast := next.After(o.to)
		switch {
		case policy == scheduler.CatchUpNone && r != nil:
			t.Errorf("%s %s was missed and ran", b.Key, at)
		case policy == scheduler.CatchUpLast && !isLast && r != nil:
			t.Errorf("%s %s was missed, was not the last one, and ran", b.Key, at)
		case policy == scheduler.CatchUpLast && isLast && r == nil && !dropped(outages[out+1:], at, o.to, runs) &&
			end.Sub(o.to) > 6*time.Hour:
			t.Errorf("%s %s was the last one missed and did not run", b.Key, at)
		case policy == scheduler.CatchUpAll && r == nil && at.Before(open) &&
			next.Add(s.Every*scheduler.MaxCatchUp).After(o.to):
			t.Errorf("%s %s was missed and did not run", b.Key, at)
		case r != nil && r.began.Before(o.to):
			t.Errorf("%s %s ran without a scheduler", b.Key, at)
		}
	}
	for at := range byPlan {
		t.Errorf("%s %s is no planned time", b.Key, at)
	}
	if met == 0 || missed == 0 {
		t.Errorf("%s: %d met, %d missed", b.Key, met, missed)
	}
	return met, skipped, missed
}

// killedSoon reports whether a kill came between a planned time and its run.
func killedSoon(outages []outage, at, began time.Time) bool {
	return slices.ContainsFunc(outages, func(o outage) bool { return o.from.After(at) && o.from.Before(began) })
}

// dropped reports whether the next outage came before the branch was free; another planned time is
// then the last missed one.
func dropped(later []outage, at, up time.Time, runs []*fakeRun) bool {
	if len(later) == 0 {
		return false
	}
	for _, r := range runs {
		if r.began.Before(up) && r.slot.Planned != at &&
			(!r.status.Ended() || r.end.Add(2*time.Minute).After(later[0].from)) {
			return true
		}
	}
	return later[0].from.Sub(up) < 2*time.Minute
}

// checkChain checks that, while a scheduler is alive, each run of a continuous branch begins one
// delay after the previous run ended, or a few retries later.
func checkChain(t *testing.T, runs []*fakeRun, b scheduler.Branch, outages []outage) {
	t.Helper()
	if len(runs) < 100*months {
		t.Errorf("%s: %d runs", b.Key, len(runs))
	}
	for i := 1; i < len(runs); i++ {
		pause := runs[i].began.Sub(runs[i-1].end)
		out := slices.ContainsFunc(outages, func(o outage) bool {
			return !o.to.Before(runs[i-1].end) && !o.from.After(runs[i].began)
		})
		if !out && (pause < 10*time.Minute || pause > 12*time.Minute) {
			t.Errorf("%s: %s began %s after the end of the one before", b.Key, runs[i].id, pause)
		}
		if runs[i-1].status != journal.StatusCompleted {
			t.Errorf("%s is %s", runs[i-1].id, runs[i-1].status)
		}
	}
}
