package run

import (
	"context"
	"errors"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// metaRecord holds the file to which the model calls of a run are recorded, as an absolute path.
const metaRecord = "record"

// ContinueRecording goes on with the recording of a run that this process is about to drive, and of the runs below it; nothing happens where it has none, or where
// another process drives the run. It is for the command line, whose person named the file: neither a server nor a Go program writes where a stored run says.
//
// Errors say why the recording stays as it is. The run can go on without it.
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

// replied gives the replies of models in a run and in the runs below it.
func (s *Runner) replied(ctx context.Context, run string) (all []chat.Message, err error) {
	runs := []string{run} // each once, whatever a damaged journal says
	for i := 0; i < len(runs); i++ {
		err := s.EachEvent(ctx, runs[i], 0, func(e engine.Event) error {
			switch data := e.Data.(type) {
			case *engine.ModelReplied:
				all = append(all, data.Message)
			case *engine.ChildStarted:
				if !slices.Contains(runs, data.Run) {
					runs = append(runs, data.Run)
				}
			}
			return nil
		})
		if err != nil && !errors.Is(err, journal.ErrNotFound) { // it was to be started
			return nil, err
		}
	}
	return all, nil
}
