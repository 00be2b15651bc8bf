package held

import (
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/journal"
)

// LostError means that the store has lost events that it had acknowledged: a replica without them
// took its place, or a backup was restored while a process drove the run. No journal contains what
// calls did since then, including tools that are not safe to repeat, so the run cannot continue on
// its own (ADR 91).
type LostError struct {
	Run      string
	From, To uint64 // first and last lost event
}

func (e *LostError) Error() string {
	return fmt.Sprintf("the store has lost events %d to %d of run %s, which it had stored: a replica took over that "+
		"did not have them, or a backup was restored; check what the calls of the run did, then retry it", e.From, e.To,
		e.Run)
}

// Lost returns an error if a journal that ends at last lacks acknowledged events that precede the
// append, and nil otherwise.
func Lost(ap journal.Append, last uint64) error {
	if ap.Create != nil || last+1 >= ap.Record.First {
		return nil
	}
	return &LostError{Run: ap.Run, From: last + 1, To: ap.Record.First - 1}
}

// Codes of runs that ended because of a bug in Hocket, or because their store lost events.
const (
	codeDefect     = "internal"
	codeEventsLost = "events_lost"
)

// CodeOf returns the code of a run that ends because it cannot continue.
func CodeOf(cause error) string {
	if _, ok := errors.AsType[*LostError](cause); ok {
		return codeEventsLost
	}
	return codeDefect
}
