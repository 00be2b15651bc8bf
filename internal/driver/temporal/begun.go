package temporal

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
	// By is one attempt's own: one that does not know whether its note was stored finds it by that. "": no attempt of a worker.
	By string `json:"by,omitempty"`
}

// begins notes that a tool call begins, before it does. It gives the result of a call that was begun before and has none: its outcome is unknown. Calls of tools that are declared idempotent are
// made again without that.
func (l *caller) begins(ctx context.Context, kit *driver.RunResources, cmd *engine.CallTool) (lost engine.InputData, err error) {
	policy := kit.Policy(ctx, l.info, cmd)
	if policy == tool.PolicyRetry {
		return nil, nil
	}
	by := rand.Text()
	err = l.d.insist(ctx, func() error {
		open, err := l.d.cfg.Store.Unclaimed(ctx, l.run)
		if err != nil {
			return err
		}
		for _, q := range open {
			note := noteOf(q)
			if note.Call != cmd.ID {
				continue
			}
			if l.begun = q.ID; note.By != by {
				lost = engine.ToolResult{ID: cmd.ID, Unknown: string(policy), Failure: &engine.Failure{
					Code: engine.CodeOutcomeUnknown, Message: fmt.Sprintf("the worker that called tool %s stopped before it had the result", cmd.Tool),
				}}
			}
			return nil
		}
		l.begun, err = l.d.noteBegun(ctx, l.run, begun{Call: cmd.ID, By: by})
		return err
	})
	return lost, err
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

// ended takes back that a call was begun: its result is in the journal.
func (l *caller) ended(ctx context.Context) {
	if l.begun == 0 {
		return
	}
	if err := l.d.cfg.Store.Settle(ctx, l.begun, []byte("{}")); err != nil && !errors.Is(err, journal.ErrNotFound) {
		l.d.cfg.Logger.Warn("cannot note that a call has ended; it has a result, so that nothing depends on it", "run", l.run, "call", l.id, "err", err)
	}
}
