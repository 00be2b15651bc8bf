package embedded

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// notices tells of the events that people want to hear of: the run ended, or somebody has, or had, to answer.
func notices(events []engine.Event) []journal.Notice {
	var list []journal.Notice
	for _, e := range events {
		switch e.Data.(type) {
		case *engine.RunCompleted, *engine.RunFailed, *engine.RunCancelled, *engine.WaitOpened, *engine.WaitAnswered, *engine.WaitReminded,
			*engine.WaitClosed:
			list = append(list, journal.Notice{Seq: e.Seq, Type: string(e.Data.Type())})
		}
	}
	return list
}

// openWaits tells of the waits that a run is born with, because the run that it was forked from had them open.
func openWaits(past []engine.Event, r *engine.Run) []journal.Notice {
	var list []journal.Notice
	open := r.Waits()
	for _, e := range past {
		d, ok := e.Data.(*engine.WaitOpened)
		if ok && slices.ContainsFunc(open, func(w engine.WaitInfo) bool { return w.ID == d.Wait }) {
			list = append(list, journal.Notice{Seq: e.Seq, Type: string(d.Type())})
		}
	}
	return list
}
