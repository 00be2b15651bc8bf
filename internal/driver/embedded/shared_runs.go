package embedded

import (
	"context"
	"errors"
	"sync"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/workflow"
)

// requestLook is the kind of the requests that ask the processes executing a run held in common to
// check it, because something was appended.
const requestLook = "look"

// commons creates the registry of the runs held in common.
func (d *Driver) commons() *held.Commons {
	return held.NewCommons(held.CommonConfig{
		Store: d.cfg.Store, Plans: &d.plans, Program: d.cfg.Program, Open: d.cfg.Open, Settle: d.approvals,
		Stored: d.Stored, Now: d.cfg.Now, Logger: d.cfg.Logger,
	})
}

// Commons returns the runs held in common, for a driver that executes their calls.
func (d *Driver) Commons() *held.Commons { return d.common }

// approvals returns the answers of ApproveAll (D24).
func (d *Driver) approvals(run *engine.Run) []engine.InputData {
	if !d.cfg.ApproveAll {
		return nil
	}
	var answers []engine.InputData
	for _, w := range run.Waits() {
		if approves(w) {
			answers = append(answers, engine.Answer{Wait: w.ID, Value: event.Value(`"approve"`),
				By: event.LocalBy(event.ChannelApproveAll)})
		}
	}
	return answers
}

// approves reports whether ApproveAll answers a wait; a wait of a child run is answered in that
// run.
func approves(w engine.WaitInfo) bool {
	return w.Kind == workflow.WaitApproval && !w.Changed && w.Below == nil && len(w.Roles) == 0
}

// isCommon reports whether a run was not claimed because all processes hold it in common.
func isCommon(err error) bool {
	owned, ok := errors.AsType[*journal.OwnedError](err)
	return ok && owned.Owner.ID == journal.CommonOwner
}

// askCommon passes an input to a run held in common; nil only fires deadlines that are due. Errors:
// the engine's; journal.ErrOwned if another program has its functions.
func (d *Driver) askCommon(ctx context.Context, run string, data engine.InputData) error {
	c, done := d.common.Use(run)
	defer done()
	isForeign := false
	_, err := c.Decide(ctx, func(t *held.Turn) error {
		if isForeign = d.lacksFunctions(t.Plan); isForeign {
			return nil
		}
		if _, cancels := data.(engine.Cancel); !cancels {
			if err := t.PassDeadlines(); err != nil {
				return err
			}
		}
		switch {
		case data != nil:
			return t.Do(data)
		case t.Run.Status().Ended():
			return engine.ErrEnded
		}
		return nil
	})
	switch {
	case isForeign && data == nil:
		return d.changedCommon(ctx, run)
	case isForeign:
		return &journal.OwnedError{Run: run, Owner: journal.Common()}
	}
	if err != nil {
		return err
	}
	return d.changedCommon(ctx, run)
}

// lacksFunctions reports whether the functions of a definition belong to another program.
func (d *Driver) lacksFunctions(c held.Compiled) bool {
	return c.Program == nil && d.cfg.Foreign(c.Plan.Workflow())
}

// changedCommon notifies the processes that execute a run held in common that something was
// appended.
func (d *Driver) changedCommon(ctx context.Context, run string) error {
	if d.cfg.Common != nil {
		d.cfg.Common(run)
		return nil
	}
	if _, err := d.cfg.Store.Post(ctx, journal.Request{Run: run, Kind: requestLook, Data: []byte("{}"),
		At: d.now()}); err != nil {
		d.cfg.Logger.Warn("cannot tell others of a change; they find it later", "run", run, "err", err)
	}
	return nil
}

// Stored publishes events of a run that this process appended.
func (d *Driver) Stored(run string, events []event.Event) {
	if fn := d.cfg.Hooks.Events; fn != nil {
		fn(run, events)
	}
	d.hubs.publish(run, events)
}

// Say publishes a piece of model output from a call of a run.
func (d *Driver) Say(run string, delta driver.Delta) {
	if fn := d.cfg.Hooks.Delta; fn != nil {
		fn(run, delta)
	}
	for _, s := range d.hubs.watchersOf(run) {
		s.put(driver.Update{Delta: &delta})
	}
	d.said.Say(run, delta)
}

// TakeRequest executes a request in the inbox about a run held in common, and stores the result.
// taken reports whether the request was for this process; it is not if the run's functions are
// elsewhere.
func (d *Driver) TakeRequest(ctx context.Context, q journal.Request) (taken bool, err error) {
	var result error
	if q.Kind != requestLook {
		data, err := decodeRequest(q.Kind, q.Data)
		if err == nil {
			err = d.askCommon(ctx, q.Run, data)
		}
		if errors.Is(err, journal.ErrOwned) || ctx.Err() != nil {
			return false, ctx.Err()
		}
		result = err
	} else if d.cfg.Common != nil {
		d.cfg.Common(q.Run)
	}
	return true, d.cfg.Store.Settle(ctx, q.ID, encodeResult(result))
}

// Said immediately sends the model output of a run to other processes, before the result of the
// call that produced it.
func (d *Driver) Said(run string) { d.said.Flush(run) }

// TakeSlot acquires one of the slots for calls (Config.MaxCalls), when it is this driver's turn. It
// returns false if ctx was done first. release may be called more than once.
func (d *Driver) TakeSlot(ctx context.Context) (release func(), ok bool) {
	if !d.slots.acquire(ctx, &d.queue) {
		return nil, false
	}
	return sync.OnceFunc(d.slots.release), true
}

// StartCommon stores a new run that is held in common, and returns what it was built from.
func (d *Driver) StartCommon(ctx context.Context, spec *driver.Spec) (held.Prepared, error) {
	p, err := d.plans.Prepare(spec, journal.KindTemporal, d.now, d.cfg.Program)
	if err != nil {
		return p, err
	}
	// a run whose kit cannot be opened is not started
	kit, err := held.Open(ctx, d.cfg.Open, p.NewInfo(spec.Files), p.Plan.Program)
	if err == nil {
		err = kit.Close()
	}
	if err != nil {
		return p, err
	}
	return p, d.common.Create(ctx, &p)
}

// AdmitCommon lets a pending run that is held in common begin if its turn has come, and
// returns its position in its queue. Processes may do so concurrently: the run begins once.
//
// Errors: journal.ErrOwned if another program has the run's functions; those of the store and of
// held.Common.Decide.
func (d *Driver) AdmitCommon(ctx context.Context, head journal.Head) (journal.Turn, error) {
	c, err := d.definition(ctx, head.Definition)
	switch {
	case err != nil:
		return journal.Turn{}, journal.InRun(head.Run, err)
	case d.lacksFunctions(c):
		return journal.Turn{}, &journal.OwnedError{Run: head.Run, Owner: journal.Common()}
	}
	slot, _ := driver.SlotOf(head.Run, head.Meta)
	turn, err := d.admit(ctx, slot)
	if err != nil || !turn.Admitted {
		return turn, err
	}
	return turn, d.askCommon(ctx, head.Run, engine.Admitted{})
}

// HasDeadline reports whether a wait of a paused run has a deadline.
func (d *Driver) HasDeadline(ctx context.Context, h journal.Head) (bool, error) {
	c, err := d.definition(ctx, h.Definition)
	if err != nil || !c.Deadlines && h.Meta[driver.MetaRemind] == "" || d.lacksFunctions(c) {
		return false, err
	}
	run, err := held.Fold(ctx, d.cfg.Store, h.Run, c, nil)
	return err == nil && !held.Earliest(run.Open()).IsZero(), err
}

// OpenTools returns the ids of the tool calls of a run that have no result.
func (d *Driver) OpenTools(ctx context.Context, h journal.Head) (ids []string, err error) {
	c, err := d.definition(ctx, h.Definition)
	if err != nil {
		return nil, journal.InRun(h.Run, err)
	}
	run, err := held.Fold(ctx, d.cfg.Store, h.Run, c, nil)
	if err != nil {
		return nil, err
	}
	defer held.Recovered(&err)
	for _, cmd := range run.Unfinished() {
		if t, ok := cmd.(*engine.CallTool); ok {
			ids = append(ids, t.ID)
		}
	}
	return ids, nil
}
