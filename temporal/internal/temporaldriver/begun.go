package temporaldriver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/tool"
)

// requestBegun is the kind of an open request in the inbox that says that a tool call was begun. Temporal cannot say that: a workflow that was lost, wound back or ended by hand gives the call again,
// and a worker that has it does not know of the one before. The store does, whatever became of Temporal (P12).
const requestBegun = "begun"

// begun is what such a request has.
type begun struct {
	Call string `json:"call"`
	// By is one attempt's own, so that it tells its notes from those of others. "": no attempt of a worker.
	By string `json:"by,omitempty"`
}

// begins notes that a tool call begins, before it does. It gives the result of a call that another attempt has noted and that has no result: its outcome is unknown. The note comes before the look:
// of two workers that have one call, since Temporal took the first for dead, at most one sees no other note. Calls of tools that are declared idempotent are made again without that.
func (l *caller) begins(ctx context.Context, kit *driver.RunResources, cmd *engine.CallTool) (lost engine.InputData, err error) {
	policy := kit.Policy(ctx, l.info, cmd)
	if policy == tool.PolicyRetry {
		return nil, nil
	}
	own := begun{Call: cmd.ID, By: rand.Text()}
	var open []journal.Request
	err = l.d.insist(ctx, func() (err error) {
		if l.begun == 0 {
			if l.begun, err = l.d.noteBegun(ctx, l.run, own); err != nil {
				return err
			}
		}
		open, err = l.d.cfg.Store.Unclaimed(ctx, l.run)
		return err
	})
	if err == nil && ctx.Err() != nil {
		err = errLeft
	}
	store, stop := l.d.afterwards(ctx)
	defer stop()
	if err != nil { // it was not begun
		l.ended(store)
		return nil, err
	}
	for _, q := range open {
		note := noteOf(q)
		switch {
		case note.Call != cmd.ID, q.ID == l.begun:
		case note.By == own.By: // a try before, whose answer was lost
			l.takeBack(store, q.ID)
		default:
			l.ended(store)
			l.begun = q.ID
			return engine.ToolResult{ID: cmd.ID, Unknown: string(policy), Failure: &engine.Failure{
				Code: engine.CodeOutcomeUnknown, Message: fmt.Sprintf("the worker that called tool %s stopped before it had the result", cmd.Tool),
			}}, nil
		}
	}
	return nil, nil
}

// noteBegun stores that a call begins.
func (d *Driver) noteBegun(ctx context.Context, run string, note begun) (id uint64, err error) {
	data, err := json.Marshal(note)
	if err != nil {
		return 0, err
	}
	return d.cfg.Store.Post(ctx, journal.Request{Run: run, Kind: requestBegun, Data: data, At: d.now()})
}

// noteOf gives what a request says of a call that was begun; the zero value where it is another request.
func noteOf(q journal.Request) (b begun) {
	if q.Kind != requestBegun || json.Unmarshal(q.Data, &b) != nil {
		return begun{}
	}
	return b
}

// ended takes back the note that the call was begun: its result is in the journal, or it was not begun.
func (l *caller) ended(ctx context.Context) {
	if l.begun != 0 {
		l.takeBack(ctx, l.begun)
	}
}

func (l *caller) takeBack(ctx context.Context, note uint64) {
	if err := l.d.cfg.Store.Settle(ctx, note, []byte("{}")); err != nil && !errors.Is(err, journal.ErrNotFound) {
		l.d.cfg.Logger.Warn("cannot take back the note that a call was begun", "run", l.run, "call", l.id, "err", err)
	}
}
