package driver

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// StatusOf returns the status under which a run is stored: a run that is paused with calls in
// flight counts as running, because it needs an owner.
func StatusOf(run *engine.Run) journal.Status {
	if s := run.Status(); s != event.StatusPaused || run.InFlight() == 0 {
		return s
	}
	return journal.StatusRunning
}

// Notices returns the notices for events that people wait for: the run ended, or a wait was opened,
// answered or closed.
func Notices(events []event.Event) []journal.Notice {
	var list []journal.Notice
	for _, e := range events {
		is := event.StatusOf(e.Data).Ended()
		switch e.Data.(type) {
		case *event.WaitOpened, *event.WaitAnswered, *event.WaitReminded, *event.WaitClosed:
			is = true
		}
		if is {
			list = append(list, journal.Notice{Seq: e.Seq, Type: string(e.Data.Type())})
		}
	}
	return list
}

// OpenWaits returns the notices for the open waits of a new run that has the past of another run.
func OpenWaits(past []event.Event, r *engine.Run) []journal.Notice {
	var list []journal.Notice
	open := r.Waits()
	for _, e := range past {
		d, ok := e.Data.(*event.WaitOpened)
		if ok && slices.ContainsFunc(open, func(w engine.WaitInfo) bool { return w.ID == d.Wait }) {
			list = append(list, journal.Notice{Seq: e.Seq, Type: string(d.Type())})
		}
	}
	return list
}
