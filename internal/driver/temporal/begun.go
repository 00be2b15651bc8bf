package temporal

import (
	"context"
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
}

// begins notes that a tool call begins, before it does. It gives the result of a call that was begun before and has none: its outcome is unknown. Calls of tools that are declared idempotent are
// made again without that.
func (l *caller) begins(ctx context.Context, kit *driver.RunResources, cmd *engine.CallTool) (lost engine.InputData, err error) {
	policy := kit.Policy(ctx, l.info, cmd)
	if policy == tool.PolicyRetry {
		return nil, nil
	}
	open, err := l.d.cfg.Store.Unclaimed(ctx, l.run)
	if err != nil {
		return nil, err
	}
	for _, q := range open {
		if q.Kind == requestBegun && callOf(q) == cmd.ID {
			l.begun = q.ID
			return engine.ToolResult{ID: cmd.ID, Unknown: string(policy), Failure: &engine.Failure{
				Code: engine.CodeOutcomeUnknown, Message: fmt.Sprintf("the worker that called tool %s stopped before it had the result", cmd.Tool),
			}}, nil
		}
	}
	l.begun, err = l.d.noteBegun(ctx, l.run, cmd.ID)
	return nil, err
}

// noteBegun stores that a call begins.
func (d *Driver) noteBegun(ctx context.Context, run, call string) (id uint64, err error) {
	data, err := json.Marshal(begun{call})
	if err != nil {
		return 0, err
	}
	return d.cfg.Store.Post(ctx, journal.Request{Run: run, Kind: requestBegun, Data: data, At: d.now()})
}

// callOf gives the call that a request says was begun.
func callOf(q journal.Request) string {
	var b begun
	if json.Unmarshal(q.Data, &b) != nil {
		return ""
	}
	return b.Call
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
