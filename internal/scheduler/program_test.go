package scheduler_test

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/scheduler"
)

func ofProgram(name string) func(*scheduler.Config) {
	return func(c *scheduler.Config) { c.Program, c.Keep = name, time.Minute }
}

// two programs and stored workflows share a store; each has its own scheduler, and none
// removes the registrations of the others.
func TestPrograms(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		docs := newWorld(t, branch(tick, "interval", "60", ""))
		a, b := tick, tick
		a.Program, b.Program = "a", "b"
		first, second := newWorld(t, branch(a, "interval", "90", "")), newWorld(t, branch(b, "interval", "120", ""))
		first.store, second.store = docs.store, docs.store
		from := time.Now()
		all := []*process{docs.begin(), first.begin(ofProgram("a")), second.begin(ofProgram("b"))}
		second.say(b, pause)
		sleep(5*time.Minute + time.Second)
		for _, p := range all {
			p.die(true)
		}
		want(t, "documents", docs.planned(tick, from), "[1m0s 2m0s 3m0s 4m0s 5m0s]")
		want(t, "program a", first.planned(a, from), "[1m30s 3m0s 4m30s]")
		want(t, "program b, which is paused", second.planned(b, from), "[]")
		list, err := docs.store.Open(journal.KindRun).Registrations(t.Context())
		want(t, "registered", fmt.Sprint(len(list), err), "3 <nil>")
	})
}

// a starting program declares its graphs one after another, and the schedule state of a
// later graph is kept meanwhile. A graph that is not declared within a minute is removed.
func TestScheduler_UnregisterGracePeriod(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a, b, c := scheduler.Key{Program: "p", Workflow: "a"}, scheduler.Key{Program: "p", Workflow: "b"},
			scheduler.Key{Program: "p", Workflow: "c"}
		w := newWorld(t, branch(a, "interval", "3600", ""), branch(b, "interval", "3600", ""),
			branch(c, "interval", "3600", ""))
		from := time.Now()
		w.begin(ofProgram("p")).die(true)
		w.unpublish(b)
		w.unpublish(c)
		sleep(90 * time.Minute)
		p := w.begin(ofProgram("p"))
		sleep(30 * time.Second)
		w.publish(branch(b, "interval", "3600", ""))
		sleep(time.Hour)
		p.die(true)
		want(t, "runs, with one that was missed", w.planned(b, from), "[1h0m0s 2h0m0s]")
		list, err := w.store.Open(journal.KindRun).Registrations(t.Context())
		want(t, "registered", fmt.Sprint(len(list), err), "2 <nil>")
	})
}

// a schedule's own policy for missed times takes precedence over the scheduler's.
func TestPolicyOfSchedule(t *testing.T) {
	t.Parallel()
	for policy, runs := range map[scheduler.Policy]string{
		"": "[2h0m0s]", scheduler.CatchUpLast: "[2h0m0s]", scheduler.CatchUpNone: "[]",
		scheduler.CatchUpAll: "[1h0m0s 2h0m0s]",
	} {
		synctest.Test(t, func(t *testing.T) {
			each := branch(tick, "interval", "3600", "")
			each.CatchUp = policy
			w := newWorld(t, each)
			from := time.Now()
			w.begin().die(true)
			sleep(150 * time.Minute)
			p := w.begin()
			sleep(20 * time.Minute)
			p.die(true)
			want(t, string(policy), w.planned(tick, from), runs)
		})
	}
}
