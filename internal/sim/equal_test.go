package sim_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/pgtest"
	"github.com/hocket-run/hocket/internal/randtest"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/internal/store/postgres"
	"github.com/hocket-run/hocket/internal/store/sqlite"
	"github.com/hocket-run/hocket/workflow"
)

var equalSeeds = flag.Int("sim.equal", 50,
	"how many random workflows TestJournalsAreEqual runs on each store; make test-all runs ten times as many")

// TestJournalsAreEqual checks that a random workflow with the same replies has the same journal on
// each store: byte for byte and including times, if its calls end at the same moments; and equal
// according to sim.Diff, if they end at different moments, in a different order. Package temporal
// compares the journals of the same workflows on Temporal.
func TestJournalsAreEqual(t *testing.T) {
	t.Parallel()
	server := pgtest.Shared(t) // started here, so that none of its goroutines belongs to a bubble
	for seed := range randtest.Seeds(*equalSeeds) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			t.Parallel()
			stores := map[string]func(t *testing.T) journal.Backend{
				"memory": func(*testing.T) journal.Backend { return journal.NewMemory().Open(journal.KindServe) },
				"sqlite": func(t *testing.T) journal.Backend {
					s, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "hocket.db"),
						sqlite.Config{Kind: journal.KindServe})
					if err != nil {
						t.Fatal(err)
					}
					return s
				},
				"postgres": func(t *testing.T) journal.Backend {
					s, err := postgres.Open(context.WithoutCancel(t.Context()),
						postgres.Config{URL: server.Reused(t), Kind: journal.KindServe, Relay: soleRelay{}})
					if err != nil {
						t.Fatal(err)
					}
					return s
				},
			}
			play := func(open func(t *testing.T) journal.Backend, order uint64) (events []event.Event) {
				synctest.Test(t, func(t *testing.T) { events = journalOf(t, open(t), seed, order) })
				return events
			}
			want := play(stores["memory"], 1)
			for _, name := range slices.Sorted(maps.Keys(stores)) {
				if name == "memory" {
					continue
				}
				if diff := cmp.Diff(show(want), show(play(stores[name], 1))); diff != "" {
					t.Errorf("seed %d: the journal in %s is another one (-memory +%s)\n%s", seed, name, name, diff)
				}
			}
			other := play(stores["memory"], 2)
			if diff, err := sim.Diff(want, other); err != nil || diff != "" {
				t.Errorf("seed %d: %v; the journal depends on the order in which calls end\n%s", seed, err, diff)
			}
		})
	}
}

// soleRelay is a postgres.Relay for the only handle of a store.
type soleRelay struct{}

func (soleRelay) Send(string, string)                       {}
func (soleRelay) Listen(string, func(string)) (stop func()) { return func() {} }

// journalOf runs a random workflow to its end and returns its journal. Each call takes a unique
// time, derived from order, so that no two calls end at the same moment.
func journalOf(t *testing.T, store journal.Backend, seed, order uint64) []event.Event {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), maxRunTime)
	defer cancel()
	w := sim.Behave(seed)
	w.ByContent()
	w.Apart(order)
	d, err := embedded.New(embedded.Config{Expressions: celexpr.Compiler{}, Store: store, Open: w.Open, MaxCalls: 100,
		Program: func(*workflow.Workflow) (driver.Program, error) { return w.Program(), nil }})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := errors.Join(d.Close(ctx), store.Close()); err != nil {
			t.Error(err)
		}
	}()
	h := &cluster{t: t, seed: seed, reader: store}
	events := func() []event.Event { return h.events("r") }
	if err := sim.Play(ctx, d, "r", seed, sim.Generate(seed), events); err != nil {
		t.Fatal(err)
	}
	return events()
}
