package driver

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// Index returns the index entry of a run after events: its input and usage when it pauses, also its
// output and error when it ends, and only its input when it continues after it had ended. It
// returns nil if nothing changes. The input is not indexed when the run starts: most runs end soon,
// and replacing an entry costs three times as much as creating one.
func Index(run *engine.Run, events []event.Event) *journal.Index {
	var ix *journal.Index
	for _, e := range events {
		switch d := e.Data.(type) {
		case *event.RunResumed:
			if d.Reason == event.ReasonReopened {
				ix = texts(ix, run, nil, "")
				ix.Outcome = journal.Outcome{}
			}
		case *event.RunPaused:
			ix = texts(ix, run, nil, "")
			ix.Outcome = used(run)
		case *event.RunCompleted:
			ix = texts(ix, run, run.Output(), "")
			ix.Outcome = used(run)
		case *event.RunFailed:
			ix = texts(ix, run, nil, d.Error.Message)
			ix.Outcome = used(run)
			ix.Outcome.Code, ix.Outcome.Message = d.Error.Code, journal.Cut(d.Error.Message, journal.MaxMessage)
		case *event.RunCancelled:
			ix = texts(ix, run, nil, d.Reason)
			ix.Outcome = used(run)
		}
	}
	return ix
}

func texts(ix *journal.Index, run *engine.Run, output event.Value, problem string) *journal.Index {
	if ix == nil {
		ix = &journal.Index{}
	}
	ix.Texts = &journal.Texts{Output: output, Error: problem}
	if c := run.Created(); c != nil {
		ix.Texts.Input = c.Input
	}
	return ix
}

func used(run *engine.Run) journal.Outcome {
	s := run.Spent()
	return journal.Outcome{Tokens: s.Tokens, Calls: s.Calls, Cost: chat.ToMoney(s.CostUSD)}
}
