package failure

import (
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// AllowedElsewhereError is returned when a run may start programs, or do other things on this
// machine, that a person allowed in another folder, with other programs, or under stricter
// permissions. Nothing was started. The use case Allow allows it again.
type AllowedElsewhereError struct {
	Run string
	// Dir is the folder where it was allowed, Here the current one.
	Dir, Here string
	// Wants is what was allowed, Changed what has changed since then, one line per change.
	Wants   CommandsError
	Changed []string
}

func (e *AllowedElsewhereError) Error() string {
	text := "run " + e.Run + ": its access to this machine must be allowed again: " + strings.Join(e.Changed, "; ")
	if e.Dir != e.Here {
		text += "; it was allowed in the folder " + e.Dir + ", and the current folder is " + e.Here
	}
	return text
}

// NoApprovalError is returned when a question receives a decision that is not one of its options:
// the word would be taken for the person's answer.
type NoApprovalError struct{ Run, Node string }

func (e *NoApprovalError) Error() string {
	return fmt.Sprintf("run %s asks a question at %s, not for an approval", e.Run, e.Node)
}

// EndedError is returned when a run has ended, so that nothing of it can continue.
type EndedError struct {
	Run    string
	Status journal.Status
}

func (e *EndedError) Error() string {
	return fmt.Sprintf("run %s has ended (%s); there is nothing to resume", e.Run, e.Status)
}

// Is makes errors.Is(err, engine.ErrEnded) report true.
func (e *EndedError) Is(target error) bool { return target == engine.ErrEnded }

// NotEndedError is returned when a run has not ended, so that there is nothing to retry.
type NotEndedError struct {
	Run    string
	Status journal.Status
}

func (e *NotEndedError) Error() string {
	return fmt.Sprintf("run %s has not ended (%s); resume or cancel it first", e.Run, e.Status)
}

// BusyError is returned when a run of the session has not ended, and identifies that run.
// errors.Is(err, journal.ErrBusy) holds.
type BusyError = journal.BusyError
