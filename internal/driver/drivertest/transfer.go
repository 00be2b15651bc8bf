package drivertest

import (
	"context"
	"errors"
	"testing"

	"github.com/hocket-run/hocket/internal/driver/stored"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
	"github.com/hocket-run/hocket/workflow"
)

// paused starts a run that waits for an approval and returns its id.
func paused(t *testing.T, c Cluster, p Process) string {
	t.Helper()
	run := start(t, p, chain(approval("ok"), agent("a")))
	settle(t, c, p, run, event.StatusPaused)
	return run
}

func export(t *testing.T, c Cluster, run string) journal.Bundle {
	t.Helper()
	p, err := c.Runs(t).Export(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func approve(t *testing.T, p Process, run string) {
	t.Helper()
	if err := p.Answer(t.Context(), run, engine.Answer{Value: text("approve")}); err != nil {
		t.Fatal(err)
	}
}

func approvalFlow() *workflow.Workflow { return chain(approval("ok"), agent("a")).workflow() }

// testImport checks that a run continues in another store from the point where it was exported, and
// that the original run is unchanged (S2-63).
func testImport(t *testing.T, c Cluster) {
	other := c.Fresh(t)
	here, there := c.Open(t, Options{World: &sim.World{}}), other.Open(t, Options{World: &sim.World{}})
	run := paused(t, c, here)
	p := export(t, c, run)
	if err := other.Runs(t).Import(t.Context(), p, approvalFlow()); err != nil {
		t.Fatal(err)
	}
	if got := export(t, other, run); len(got.Events) != len(p.Events) {
		t.Fatalf("%d events, want %d", len(got.Events), len(p.Events))
	}
	settle(t, other, there, run, event.StatusPaused)
	approve(t, there, run)
	settle(t, other, there, run, event.StatusCompleted)
	settle(t, c, here, run, event.StatusPaused)
}

// testImportTwice checks that importing a run that already exists here leaves it unchanged, and
// fails if the two have diverged or either has advanced past the other.
func testImportTwice(t *testing.T, c Cluster) {
	d, other := c.Open(t, Options{World: &sim.World{}}), c.Fresh(t).Runs(t)
	run := paused(t, c, d)
	here, p := c.Runs(t), export(t, c, run)
	if err := here.Import(t.Context(), p, approvalFlow()); err != nil {
		t.Errorf("the same run: %v", err)
	}
	shorter := p
	shorter.Events = p.Events[:2]
	if err := other.Import(t.Context(), shorter, approvalFlow()); err != nil {
		t.Fatal(err)
	}
	if err := other.Import(t.Context(), p, approvalFlow()); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("further than the one here: %v", err)
	}
	if err := here.Import(t.Context(), shorter, approvalFlow()); err != nil {
		t.Errorf("nothing settled since: %v", err)
	}
	otherWay := p
	otherWay.Model = "another/model" // a run's start parameters do not change
	otherWay.Events = append([]event.Event(nil), p.Events...)
	otherWay.Events[0].At = otherWay.Events[0].At.Add(-1e9)
	if err := here.Import(t.Context(), otherWay, approvalFlow()); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("another run of that id: %v", err)
	}
	approve(t, d, run)
	settle(t, c, d, run, event.StatusCompleted)
	if err := here.Import(t.Context(), p, approvalFlow()); !errors.Is(err, journal.ErrConflict) {
		t.Errorf("it went on: %v", err)
	}
}

// testImportRefused checks that events that are not a run of the workflow are not stored (P17).
func testImportRefused(t *testing.T, c Cluster) {
	d, there := c.Open(t, Options{World: &sim.World{}}), c.Fresh(t)
	p := export(t, c, paused(t, c, d))
	for name, tt := range map[string]struct {
		w      *workflow.Workflow
		change func(events []event.Event) []event.Event
	}{
		"another workflow": {chain(agent("a")).workflow(), func(e []event.Event) []event.Event { return e }},
		"an event missing": {approvalFlow(), func(e []event.Event) []event.Event {
			return append(e[:2:2], e[3:]...)
		}},
		"another node": {approvalFlow(), func(e []event.Event) []event.Event {
			for i := range e {
				if _, ok := e[i].Data.(*event.StepStarted); ok {
					e[i].Node = "ghost"
				}
			}
			return e
		}},
		"twice created": {approvalFlow(), func(e []event.Event) []event.Event {
			e[1].Data = e[0].Data
			return e
		}},
	} {
		changed := p
		changed.Events = tt.change(append([]event.Event(nil), p.Events...))
		if err := there.Runs(t).Import(t.Context(), changed, tt.w); err == nil {
			t.Errorf("%s: no error", name)
		}
		if there.Events(t, p.Run) != nil {
			t.Errorf("%s: something was stored", name)
		}
	}
}

// testFork checks that a run forked while it waits continues on its own, as does the original, and
// that nothing is stored if the position does not exist or permission is denied.
func testFork(t *testing.T, c Cluster) {
	p := c.Open(t, Options{World: &sim.World{}})
	run := paused(t, c, p)
	events := c.Events(t, run)
	last := events[len(events)-1].Seq
	runs := c.Runs(t)
	seen := 0
	fork, err := runs.Fork(t.Context(), run, last, func(past []event.Event) error {
		seen = len(past)
		return nil
	})
	if err != nil || seen != len(events) {
		t.Fatalf("fork: %v, shown %d events of %d", err, seen, len(events))
	}
	first, _ := c.Events(t, fork)[0].Data.(*event.RunCreated)
	if first == nil || first.ForkedFrom != run {
		t.Errorf("first event of the fork: %+v", first)
	}
	approve(t, p, fork)
	settle(t, c, p, fork, event.StatusCompleted)
	settle(t, c, p, run, event.StatusPaused)
	approve(t, p, run)
	settle(t, c, p, run, event.StatusCompleted)

	refused := errors.New("refused")
	for name, tt := range map[string]struct {
		at    uint64
		allow func([]event.Event) error
		want  error
	}{
		"nothing":     {0, nil, stored.ErrForkPoint},
		"too far":     {1000, nil, stored.ErrForkPoint},
		"ended":       {c.Events(t, run)[len(c.Events(t, run))-1].Seq, nil, stored.ErrForkPoint},
		"not allowed": {last, func([]event.Event) error { return refused }, refused},
	} {
		if id, err := runs.Fork(t.Context(), run, tt.at, tt.allow); id != "" || !errors.Is(err, tt.want) {
			t.Errorf("%s: %q, %v", name, id, err)
		}
	}
	if _, err := runs.Fork(context.WithoutCancel(t.Context()), "none", 1, nil); !errors.Is(err, journal.ErrNotFound) {
		t.Errorf("fork of no run: %v", err)
	}
}
