package stored

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/tool"
)

// Called is an attempt of a model call, as recorded in the journal of its run.
type Called struct {
	// Command is the engine's command.
	Command *engine.CallModel
	// At is the time of the command.
	At time.Time
	// Answered is the model that answered or failed, according to the journal; "" means that there
	// is no answer, or that no model was found.
	Answered string
	// Ended means that there is an answer or a failure.
	Ended bool
	// Pins are the tool definitions that the run had pinned when the call ended, or has pinned now
	// if it has not ended.
	Pins tool.Pins
}

// ErrNoCall is returned when a run has no such model call or attempt.
var ErrNoCall = errors.New("no such model call")

var errStop = errors.New("found")

// ModelCall returns attempt n of a model call of a run; 0 means the last attempt. Errors:
// ErrNoCall; journal.ErrNotFound, *journal.CorruptError, *journal.NewerError.
func (r *Runs) ModelCall(ctx context.Context, run, call string, n int) (c Called, err error) {
	defer recovered(&err)
	head, err := r.cfg.Journal.Head(ctx, run)
	if err != nil {
		return Called{}, err
	}
	seq, c, err := r.findCall(ctx, run, call, n)
	if err != nil {
		return Called{}, err
	}
	plan, err := r.plan(ctx, head.Definition)
	if err != nil {
		return Called{}, journal.InRun(run, err)
	}
	folded := engine.New(plan, run)
	err = r.events(ctx, run, func(events []event.Event, _ bool) error {
		for i := range events {
			if err := folded.Apply(events[i : i+1]); err != nil {
				return err
			}
			if events[i].Seq == seq {
				return errStop
			}
		}
		return nil
	})
	if err != nil && !errors.Is(err, errStop) {
		return Called{}, err
	}
	for _, cmd := range folded.Unfinished() {
		if m, ok := cmd.(*engine.CallModel); ok && m.After == seq {
			c.Command = m
			return c, nil
		}
	}
	return Called{},
		&journal.CorruptError{Run: run, Reason: fmt.Sprintf("model call %s is not open where its event is", call)}
}

// findCall returns the number of the event with which an attempt of a model call started, and what
// other events say about it.
func (r *Runs) findCall(ctx context.Context, run, call string, n int) (seq uint64, c Called, err error) {
	history := driver.NewHistory(run, nil)
	end := func(name string, attempt int, model string) {
		if name == call && (n == 0 || attempt == n) && seq != 0 {
			c.Answered, c.Ended, c.Pins = model, true, maps.Clone(history.Pins)
		}
	}
	err = r.events(ctx, run, func(events []event.Event, _ bool) error {
		for _, e := range events {
			switch d := e.Data.(type) {
			case *event.ModelCalled:
				if d.Call == call && (n == 0 || d.Attempt == n) {
					seq, c = e.Seq, Called{At: e.At}
				}
			case *event.ModelReplied:
				end(d.Call, d.Attempt, d.Model)
			case *event.ModelFailed:
				end(d.Call, d.Attempt, d.Model)
			case *event.ToolsPinned:
				history.Add(e)
			}
		}
		return nil
	})
	if err == nil && seq == 0 {
		err = fmt.Errorf("model call %s of run %s: %w", call, run, ErrNoCall)
	}
	if !c.Ended {
		c.Pins = history.Pins
	}
	return seq, c, err
}
