package held

import (
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
)

// LostError says that the store has lost events that it had acknowledged: a replica that lacked them took its place, or a backup was restored while a process drove the run. What calls did since, such as
// those of tools that are not safe to repeat, is in no journal, so that the run cannot go on by itself (ADR 91).
type LostError struct {
	Run      string
	From, To uint64 // the events that are lost
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the store has lost events %d to %d of run %s, which it had stored: a replica took over that did not have them, or a backup was restored; check what the calls of the run did, then retry it", e.From, e.To, e.Run)
}

// Lost tells whether a journal that ends at last lacks events that an append follows, which the store had acknowledged; nil: it does not.
func Lost(ap journal.Append, last uint64) error {
	if ap.Create != nil || last+1 >= ap.Record.First {
		return nil
	}
	return &LostError{Run: ap.Run, From: last + 1, To: ap.Record.First - 1}
}

// Codes of runs that ended by a defect of Hocket, and because their store lost events.
const (
	codeDefect     = "internal"
	codeEventsLost = "events_lost"
)

// CodeOf gives the code of a run that ends since it cannot continue.
func CodeOf(cause error) string {
	if _, ok := errors.AsType[*LostError](cause); ok {
		return codeEventsLost
	}
	return codeDefect
}
