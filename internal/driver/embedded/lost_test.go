package embedded_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/hocket-run/hocket/internal/driver/embedded"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/sim"
)

// TestStoreLosesEvents checks that a run whose store ends before an event that it had acknowledged
// fails and says which events are lost. It does not continue from the shorter journal, which would
// repeat tool calls.
func TestStoreLosesEvents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := journal.NewMemory()
		o := &stubStore{Backend: m.Open(journal.KindServe)}
		lost := uint64(0) // number of lost events
		o.append = func(ctx context.Context, a journal.Append) error {
			if a.Record.First > 3 && lost == 0 {
				lost = 2
				return journal.ErrConflict
			}
			return o.Backend.Append(ctx, a)
		}
		o.head = func(ctx context.Context, run string) (journal.Head, error) {
			h, err := o.Backend.Head(ctx, run)
			h.LastSeq -= lost
			return h, err
		}
		w := &sim.World{}
		d := open(t, m, embedded.Config{Store: o, Open: w.Open})
		run := start(t, d, agents("a", "b"))
		if s := status(t, d, run); s.Status != event.StatusFailed {
			t.Errorf("%+v, want failed", s)
		}
		events := (&cluster{reader: m.Open("")}).Events(t, run)
		if end, ok := events[len(events)-1].Data.(*event.RunFailed); !ok || end.Error.Code != "events_lost" {
			t.Errorf("the run ends with %#v, want events_lost", events[len(events)-1].Data)
		}
		if n := w.Count("model", "b"); n != 0 {
			t.Errorf("%d calls after events were lost", n)
		}
	})
	if held.Lost(journal.Append{Record: journal.Record{First: 4}}, 3) != nil {
		t.Error("an append that continues the journal finds events lost")
	}
	var e *held.LostError
	if err := held.Lost(journal.Append{Run: "r", Record: journal.Record{First: 6}}, 3); !errors.As(err, &e) ||
		e.From != 4 || e.To != 5 {
		t.Errorf("%v, want the loss of events 4 and 5", err)
	}
}
