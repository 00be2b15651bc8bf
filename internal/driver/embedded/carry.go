package embedded

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
)

// call is a command under way. The first result that is told counts: the call's own, or that it was given up.
type call struct {
	actor  *actor
	cmd    engine.Command
	do     func(context.Context) engine.InputData
	limit  time.Duration
	slots  bool        // it needs a slot
	turn   driver.Turn // what it waits for before it takes one; nil: nothing
	ctx    context.Context
	cancel context.CancelCauseFunc
	told   atomic.Bool
	slot   atomic.Bool // it holds one of Driver.slots
	begun  atomic.Bool // it took its turn
	result message

	stopped bool // it was cancelled; the actor's own
}

// tell gives the result to the actor, unless one was told before.
func (c *call) tell(data engine.InputData) {
	if c.told.CompareAndSwap(false, true) {
		c.result = message{at: c.actor.d.now(), data: data}
		c.actor.put(&c.result)
	}
}

// admit waits for the call's turn and then for a slot: a call that waits for its provider holds none (P14). False: it was cancelled first.
func (c *call) admit() bool {
	if c.turn == nil {
		return !c.slots || c.acquire()
	}
	for {
		if c.turn.Ready(c.ctx) != nil || !c.acquire() {
			c.turn.Leave()
			return false
		}
		if c.turn.Start() {
			c.begun.Store(true)
			return true
		}
		c.release()
	}
}

// leave ends the turn that the call took, if it did.
func (c *call) leave(data engine.InputData) {
	if res, ok := data.(engine.ModelResult); ok && c.begun.Load() {
		c.turn.Done(res)
	}
}

func (c *call) release() {
	if c.slot.CompareAndSwap(true, false) {
		c.actor.d.slots.release()
	}
}

// giveUp tells that the call will have no result, and lets others have its slot.
func (c *call) giveUp(why error) {
	data := driver.GivenUp(c.cmd, why)
	c.tell(data)
	c.leave(data)
	c.release()
}

func (c *call) overdue() {
	c.giveUp(fmt.Errorf("no answer within %s, nor after the cancellation", c.limit))
}

// stop cancels the call and begins the time that it has to end, once.
func (c *call) stop(why error, limit time.Duration) {
	c.cancel(why)
	if !c.stopped {
		c.stopped = true
		time.AfterFunc(limit, func() { c.giveUp(fmt.Errorf("no answer within %s of the cancellation", limit)) })
	}
}

// acquire gets a slot; false where the call was cancelled first.
func (c *call) acquire() bool {
	if !c.actor.d.slots.acquire(c.ctx, &c.actor.d.line) {
		return false
	}
	c.slot.Store(true)
	return true
}

// run makes the call.
func (c *call) run() {
	defer c.actor.work.Done()
	defer c.cancel(nil)
	if !c.admit() {
		c.tell(driver.Unsent(c.cmd))
		return
	}
	defer c.release()
	defer func() {
		gone := driver.Gone(c.cmd)
		c.leave(gone)
		if !c.told.Load() {
			c.tell(gone)
		}
	}()
	if c.ctx.Err() != nil {
		c.tell(driver.Unsent(c.cmd)) // it was never made
		return
	}
	if c.limit > 0 {
		t := time.AfterFunc(c.limit+grace, c.overdue)
		defer t.Stop()
	}
	within := c.ctx
	if c.slots && c.actor.kit.Idles {
		within = driver.WithIdle(within, c.release)
	}
	var book *ledger
	if id := callID(c.cmd); (c.actor.kit.Idles || c.actor.kit.Waits) && !isModelCall(c.cmd) {
		book = &ledger{actor: c.actor, id: id, release: c.release}
		within = driver.WithLedger(within, book)
	}
	data := c.do(within)
	if book != nil {
		data = book.mark(data)
	}
	c.cancel(nil) // before the result is known: what the call left behind can do nothing more in its name
	c.leave(data)
	c.tell(data)
}

type timer struct {
	at    time.Time
	timer *time.Timer
}

// grace is how long an adapter may go on after its call was cancelled or its time was over. Then the call is given up and its slot is free,
// though its goroutine may live on: an adapter that does not heed its context must not hold a run for ever (P11).
const grace = 2 * time.Second

// carry carries out commands. Those that are under way already are left alone, so that giving a command twice does no harm.
func (a *actor) carry(cmds []engine.Command) {
	for _, c := range cmds {
		switch c := c.(type) {
		case *engine.CallModel:
			limit := cmp.Or(c.Timeout, a.kit.ModelTimeout, model.DefaultTotalTimeout)
			a.begin(c.ID, c, limit, true, func(ctx context.Context) engine.InputData { return a.kit.CallModel(ctx, &a.info, c, a.say) })
		case *engine.CallTool:
			a.begin(c.ID, c, c.Timeout, !a.kit.Waits, func(ctx context.Context) engine.InputData { return a.kit.CallTool(ctx, &a.info, c) })
		case *engine.CallFunc:
			a.begin(c.ID, c, c.Timeout, true, func(ctx context.Context) engine.InputData { return a.kit.CallFunc(ctx, &a.info, c, a) })
		case *engine.StartTimer:
			a.startTimer(c)
		case *engine.CancelCalls:
			for _, id := range c.IDs {
				a.cancelCall(id)
			}
		case *engine.OpenWait, *engine.Finish:
			// What they say stands in the events.
		}
	}
}

// callID gives the id of a command that has a result; "" for others.
func callID(c engine.Command) string {
	switch c := c.(type) {
	case *engine.CallModel:
		return c.ID
	case *engine.CallTool:
		return c.ID
	case *engine.CallFunc:
		return c.ID
	}
	return ""
}

func isModelCall(c engine.Command) bool {
	_, ok := c.(*engine.CallModel)
	return ok
}

// begin starts a call beside the actor. limit bounds it from the moment at which it gets its slot; 0: it bounds itself. Without slot it
// needs none.
func (a *actor) begin(id string, cmd engine.Command, limit time.Duration, slot bool, do func(context.Context) engine.InputData) {
	if a.calls[id] != nil {
		return
	}
	delete(a.orphans, id)
	c := &call{actor: a, cmd: cmd, do: do, limit: limit, slots: slot}
	if cm, ok := cmd.(*engine.CallModel); ok && a.kit.Admit != nil {
		c.turn = a.kit.Admit(&a.info, cm)
	}
	c.ctx, c.cancel = context.WithCancelCause(a.ctx)
	a.calls[id] = c
	a.work.Add(1)
	select {
	case a.d.spare <- c:
	default:
		a.d.wg.Go(c.start)
	}
}

// maxSpares bounds the goroutines that wait for their next call. A fresh one grows its stack anew, which short calls would pay for each time.
const maxSpares = 16

// start makes the call, and others after it while there are some at once or few goroutines wait for them.
func (c *call) start() {
	d := c.actor.d
	for c != nil {
		c.run()
		c = nil // its run may be forgotten meanwhile
		if d.spares.Add(1) <= maxSpares {
			select {
			case c = <-d.spare:
			case <-d.work.Done():
			}
		}
		d.spares.Add(-1)
	}
}

// stopCalls stops all calls that are under way.
func (a *actor) stopCalls() {
	for _, c := range a.calls {
		c.stop(errInterrupted, grace)
	}
}

// cancelCall stops a call; its result still comes. One that was never begun here is answered at once.
func (a *actor) cancelCall(id string) {
	if c := a.calls[id]; c != nil {
		limit := grace
		if a.run.IsEnding() && a.ctx.Err() == nil {
			// The engine bounds how long a run waits for functions that may finish (ADR 15): here only their slot is at stake, and a result made up
			// before that bound would make a failure of what was cancelled.
			limit += engine.SettleTime
		}
		c.stop(context.Canceled, limit)
		return
	}
	if cmd := a.orphans[id]; cmd != nil {
		delete(a.orphans, id)
		a.put(&message{at: a.d.now(), data: driver.Cancelled(cmd)})
	}
}

// startTimer starts a timer in the place of a former one of that id.
func (a *actor) startTimer(c *engine.StartTimer) {
	if old := a.timers[c.ID]; old != nil {
		if old.at.Equal(c.At) {
			return
		}
		old.timer.Stop()
	}
	t := &timer{at: c.At}
	t.timer = time.AfterFunc(c.At.Sub(a.d.now()), func() {
		// The engine ignores a timer that comes before its time, which clocks that were set may make of this one.
		at := a.d.now()
		if at.Before(c.At) {
			at = c.At
		}
		a.put(&message{at: at, data: engine.TimerDue{ID: c.ID}})
	})
	a.timers[c.ID] = t
}

// lost lists the tool calls that the former owner may have made, each with its tool's policy (P12). Error: the run is to be interrupted. A policy that could not be read because
// of that says nothing.
func (a *actor) lost() ([]engine.Lost, error) {
	var lost []engine.Lost
	for _, c := range a.run.Open() {
		if c, ok := c.(*engine.CallTool); ok {
			lost = append(lost, engine.Lost{ID: c.ID, Policy: string(a.kit.Policy(a.ctx, &a.info, c))})
		}
	}
	if len(lost) > 0 && a.ctx.Err() != nil {
		return nil, errStopped
	}
	return lost, nil
}

// windDown interrupts the run. Calls are stopped; what comes back nevertheless is paid for and is journaled, as long as it asks for no tool call:
// a tool call that is journaled and never made would have to be asked about when somebody resumes (P12).
func (a *actor) windDown() error {
	a.stopCalls()
	if a.create != nil {
		reply(a.take(), driver.ErrClosed)
		return driver.ErrClosed
	}
	var (
		results, rest []*message
		broken        error
	)
	told := map[string]bool{}
	late := time.NewTimer(grace)
	defer late.Stop()
	for waiting := true; waiting; {
		for _, m := range a.take() {
			if isNote(m) { // its call waits for the answer
				if broken == nil {
					broken = a.lastWord(m)
				}
				m.answer(errors.Join(broken, m.refused))
				continue
			}
			id, good := outcome(m.data)
			if id != "" {
				told[id] = true
			}
			if good {
				results = append(results, m)
			}
			if m.done != nil {
				rest = append(rest, m)
			}
		}
		if len(told) >= len(a.calls) {
			break
		}
		select {
		case <-a.notify:
		case <-late.C:
			waiting = false
		case <-a.d.root.Done():
			waiting = false
		}
	}
	for _, m := range rest {
		a.put(m) // leave sees to them
	}
	for _, m := range results {
		if broken == nil {
			broken = a.lastWord(m)
		}
	}
	return errStopped
}

// errStopped: the run was interrupted and is in memory what it may not be in the journal.
var errStopped = errors.New("run was interrupted")

// outcome gives the id of the call that d answers, and whether it is more than a failure.
func outcome(d engine.InputData) (id string, good bool) {
	switch d := d.(type) {
	case engine.ModelResult:
		return d.ID, d.Failure == nil
	case engine.ToolResult:
		return d.ID, d.Failure == nil
	case engine.ToolHeld:
		return d.ID, true
	case engine.FuncResult:
		return d.ID, d.Failure == nil
	}
	return "", false
}

func asksForTool(dec engine.Decision) bool {
	for _, c := range dec.Commands {
		if _, ok := c.(*engine.CallTool); ok {
			return true
		}
	}
	return false
}
