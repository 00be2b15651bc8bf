package embedded_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// paused gives a parcel of a run that waits for an approval.
func paused(t *testing.T, d *embedded.Driver) journal.Parcel {
	t.Helper()
	run := start(t, d, approval())
	if s := status(t, d, run); s.Status != engine.StatusPaused {
		t.Fatalf("%+v, want paused", s)
	}
	p, err := d.Export(t.Context(), run)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func approve(t *testing.T, d *embedded.Driver, run string) {
	t.Helper()
	if err := d.Answer(t.Context(), run, engine.Answer{Value: engine.Value(`"approve"`)}); err != nil {
		t.Fatal(err)
	}
	if s := status(t, d, run); s.Status != engine.StatusCompleted {
		t.Errorf("%+v, want completed", s)
	}
}

// TestImport: a run goes on in another store from where it was exported, and the one that it left is as it was (S2-63).
func TestImport(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, m := open(t, journal.NewMemory(), embedded.Config{}), journal.NewMemory()
		there := open(t, m, embedded.Config{})
		p := paused(t, here)
		if err := there.Import(t.Context(), p, approval()); err != nil {
			t.Fatal(err)
		}
		got, err := there.Export(t.Context(), p.Run)
		if err != nil || len(got.Events) != len(p.Events) {
			t.Fatalf("%d events, %v, want %d", len(got.Events), err, len(p.Events))
		}
		store := m.Open("")
		head, err := store.Head(t.Context(), p.Run)
		if err != nil || head.Status != journal.StatusPaused || head.Waiting != 1 || head.Owner != "" || head.WorkflowName != "test" || !head.Created.Equal(p.Events[0].At) {
			t.Errorf("head %+v, %v", head, err)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		approve(t, there, p.Run)
		if s := status(t, here, p.Run); s.Status != engine.StatusPaused {
			t.Errorf("the run that it was made of: %+v, want paused", s)
		}
	})
}

// TestImportTwice: a run that is here already goes on as it is, unless it went another way or further than what comes in.
func TestImportTwice(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d, other := open(t, journal.NewMemory(), embedded.Config{}), open(t, journal.NewMemory(), embedded.Config{})
		p := paused(t, d)
		if err := d.Import(t.Context(), p, approval()); err != nil {
			t.Errorf("the same run: %v", err)
		}
		shorter := p
		shorter.Events = p.Events[:2]
		if err := other.Import(t.Context(), shorter, approval()); err != nil {
			t.Fatal(err)
		}
		if err := other.Import(t.Context(), p, approval()); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("further than the one here: %v", err)
		}
		if err := d.Import(t.Context(), shorter, approval()); err != nil {
			t.Errorf("nothing settled since: %v", err)
		}
		otherWay := p
		otherWay.Model = "another/model" // how a run was started does not change
		otherWay.Events = append([]engine.Event(nil), p.Events...)
		otherWay.Events[0].At = otherWay.Events[0].At.Add(-1e9)
		if err := d.Import(t.Context(), otherWay, approval()); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("another run of that id: %v", err)
		}
		approve(t, d, p.Run)
		if err := d.Import(t.Context(), p, approval()); !errors.Is(err, journal.ErrConflict) {
			t.Errorf("it went on: %v", err)
		}
	})
}

// TestImportRefused: events that are no run of the workflow are not stored (P17).
func TestImportRefused(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := open(t, journal.NewMemory(), embedded.Config{}), open(t, journal.NewMemory(), embedded.Config{})
		p := paused(t, here)
		for name, tt := range map[string]struct {
			w      *workflow.Workflow
			change func(events []engine.Event) []engine.Event
		}{
			"another workflow": {agents("a"), func(e []engine.Event) []engine.Event { return e }},
			"an event missing": {approval(), func(e []engine.Event) []engine.Event { return append(e[:2:2], e[3:]...) }},
			"another node": {approval(), func(e []engine.Event) []engine.Event {
				for i := range e {
					if _, ok := e[i].Data.(*engine.StepStarted); ok {
						e[i].Node = "ghost"
					}
				}
				return e
			}},
			"twice created": {approval(), func(e []engine.Event) []engine.Event {
				e[1].Data = e[0].Data
				return e
			}},
		} {
			changed := p
			changed.Events = tt.change(append([]engine.Event(nil), p.Events...))
			if err := there.Import(t.Context(), changed, tt.w); err == nil {
				t.Errorf("%s: no error", name)
			}
			if _, err := there.Export(t.Context(), p.Run); !errors.Is(err, journal.ErrNotFound) {
				t.Errorf("%s: something was stored: %v", name, err)
			}
		}
	})
}
