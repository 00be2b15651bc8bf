package run

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// metaRecord holds the absolute path of the file to which the model calls of a run are recorded.
const metaRecord = "record"

// ContinueRecording continues the recording of a run that this process is about to drive, and of
// its descendants; it does nothing if the run has no recording, or if another process drives it. It
// is for the command line, whose user named the file: neither a server nor a Go program writes to a
// path taken from a stored run.
//
// An error says why the recording stays as it is. The run can continue without it.
func (s *Runner) ContinueRecording(ctx context.Context, run string) error {
	head, err := s.store.Head(ctx, run)
	if err != nil || head.Meta[metaRecord] == "" || s.opener.IsRecording() {
		return err
	}
	if _, driven, err := s.Driven(ctx, run); err != nil || driven {
		return err
	}
	known, err := s.replied(ctx, run)
	if err != nil {
		return err
	}
	return s.opener.ContinueRecording(head.Meta[metaRecord], known)
}

// replied returns the model replies in a run and its descendants.
func (s *Runner) replied(ctx context.Context, run string) (all []chat.Message, err error) {
	runs := []string{run} // each once, even if the journal is damaged
	for i := 0; i < len(runs); i++ {
		err := s.EachEvent(ctx, runs[i], 0, func(e event.Event) error {
			switch data := e.Data.(type) {
			case *event.ModelReplied:
				all = append(all, data.Message)
			case *event.ChildStarted:
				if !slices.Contains(runs, data.Run) {
					runs = append(runs, data.Run)
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, journal.ErrNotFound) { // it was about to be started
			return nil, err
		}
	}
	return all, nil
}
