package temporaldriver

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/tool"
)

// requestBegun is the kind of an open request in the inbox that records that a tool call has begun.
// Temporal cannot record that: a workflow that was lost, reset or terminated by hand dispatches the
// call again, and the worker that receives it does not know of the previous call. The store does,
// whatever happened to Temporal (P12).
const requestBegun = "begun"

// begun is the content of such a request.
type begun struct {
	Call string `json:"call"`
	// By is unique to one attempt, so that an attempt can distinguish its notes from those of
	// others. Empty means that it was not an attempt of a worker.
	By string `json:"by,omitempty"`
}

// noteBegin records that a tool call begins, before it does. If another attempt has recorded the
// call and there is no result, it returns a result with unknown outcome. The note is written before
// the check: if two workers have the same call because Temporal declared the first dead, at most
// one of them sees no other note. Calls of tools that are declared idempotent are repeated without
// this check.
func (l *caller) noteBegin(ctx context.Context, kit *driver.RunResources, cmd *engine.CallTool) (
	lost engine.InputData, err error) {
	policy := kit.Policy(ctx, l.info, cmd)
	if policy == tool.PolicyRetry {
		return nil, nil
	}
	own := begun{Call: cmd.ID, By: rand.Text()}
	var open []journal.Request
	err = l.d.retryStore(ctx, func() (err error) {
		if l.begun == 0 {
			if l.begun, err = l.d.noteBegun(ctx, l.run, own); err != nil {
				return err
			}
		}
		open, err = l.d.cfg.Store.Unclaimed(ctx, l.run)
		return err
	})
	if err == nil && ctx.Err() != nil {
		err = errAbandoned
	}
	store, stop := l.d.storeContext(ctx)
	defer stop()
	if err != nil { // it was not begun
		l.clearBegun(store)
		return nil, err
	}
	for _, q := range open {
		note := noteOf(q)
		switch {
		case note.Call != cmd.ID, q.ID == l.begun:
		case note.By == own.By: // a previous try whose response was lost
			l.withdraw(store, q.ID)
		default:
			l.clearBegun(store)
			l.begun = q.ID
			return engine.ToolResult{ID: cmd.ID, Unknown: string(policy), Failure: &event.Failure{
				Code:    event.CodeOutcomeUnknown,
				Message: fmt.Sprintf("the worker that called tool %s stopped before it had the result", cmd.Tool),
			}}, nil
		}
	}
	return nil, nil
}

// noteBegun stores a note that a call begins.
func (d *Driver) noteBegun(ctx context.Context, run string, note begun) (id uint64, err error) {
	data, err := json.Marshal(note)
	if err != nil {
		return 0, err
	}
	return d.cfg.Store.Post(ctx, journal.Request{Run: run, Kind: requestBegun, Data: data, At: d.now()})
}

// noteOf returns the note of a begun call in a request, or the zero value if it is another kind of
// request.
func noteOf(q journal.Request) (b begun) {
	if q.Kind != requestBegun || json.Unmarshal(q.Data, &b) != nil {
		return begun{}
	}
	return b
}

// clearBegun removes the note that the call was begun: its result is in the journal, or it was not
// begun.
func (l *caller) clearBegun(ctx context.Context) {
	if l.begun != 0 {
		l.withdraw(ctx, l.begun)
	}
}

func (l *caller) withdraw(ctx context.Context, note uint64) {
	if err := l.d.cfg.Store.Settle(ctx, note, []byte("{}")); err != nil && !errors.Is(err, journal.ErrNotFound) {
		l.d.cfg.Logger.Warn("cannot take back the note that a call was begun", "run", l.run, "call", l.id, "err", err)
	}
}
