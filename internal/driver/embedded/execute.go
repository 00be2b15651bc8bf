package embedded

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/model"
)

type timer struct {
	at    time.Time
	timer *time.Timer
}

// grace is how long an adapter may continue after its call was cancelled or timed out. Then the
// call is abandoned and its slot released, though its goroutine may live on: an adapter that
// ignores its context must not block a run forever (P11).
const grace = 2 * time.Second

// executeCommands executes commands. Commands already in progress are left alone, so that passing a
// command twice is harmless.
func (a *actor) executeCommands(cmds []engine.Command) {
	if a.handsOff || a.d.draining.Load() {
		a.executeCancels(cmds)
		return
	}
	a.notStarted = false
	for _, c := range cmds {
		switch c := c.(type) {
		case *engine.CallModel:
			a.begin(c.ID, c, cmp.Or(c.Timeout, a.kit.ModelTimeout, model.DefaultTotalTimeout), true)
		case *engine.CallTool:
			a.begin(c.ID, c, c.Timeout, !a.kit.Waits)
		case *engine.CallFunc:
			a.begin(c.ID, c, c.Timeout, true)
		case *engine.StartTimer:
			a.startTimer(c)
		case *engine.CancelCalls:
			for _, id := range c.IDs {
				a.cancelCall(id)
			}
		case *engine.OpenWait, *engine.Finish:
			// Their results are in the events.
		}
	}
}

// executeCancels executes only the commands that end calls, for a run that continues in another
// process. That process starts the calls.
func (a *actor) executeCancels(cmds []engine.Command) {
	if a.orphans == nil {
		a.orphans = map[string]engine.Command{}
	}
	for _, c := range cmds {
		if id := engine.CallID(c); id != "" && a.calls.get(id) == nil {
			a.orphans[id] = c
		}
		if c, ok := c.(*engine.CancelCalls); ok {
			for _, id := range c.IDs {
				a.cancelCall(id)
			}
		}
	}
}

// stopCalls stops all calls in progress.
func (a *actor) stopCalls() {
	for c := range a.calls.all() {
		c.stop(errInterrupted, grace)
	}
}

// cancelCall stops a call; its result still arrives. A call that was never started here is answered
// immediately.
func (a *actor) cancelCall(id string) {
	if c := a.calls.get(id); c != nil {
		limit := grace
		if a.run.IsEnding() && a.ctx.Err() == nil {
			// The engine limits how long a run waits for functions that may finish (ADR 15). Only
			// their slot is at stake here, and a result invented before that limit would turn a
			// cancellation into a failure.
			limit += engine.SettleTime
		}
		c.stop(context.Canceled, limit)
		return
	}
	if cmd := a.orphans[id]; cmd != nil {
		delete(a.orphans, id)
		a.deliver(&message{at: a.d.now(), data: driver.Cancelled(cmd)})
	}
}

// startTimer starts a timer, replacing an earlier timer with the same id.
func (a *actor) startTimer(c *engine.StartTimer) {
	if old := a.timers[c.ID]; old != nil {
		if old.at.Equal(c.At) {
			return
		}
		old.timer.Stop()
	}
	t := &timer{at: c.At}
	t.timer = time.AfterFunc(c.At.Sub(a.d.now()), func() {
		// The engine ignores a timer that fires early, which can happen here if the clock was set.
		at := a.d.now()
		if at.Before(c.At) {
			at = c.At
		}
		a.deliver(&message{at: at, data: engine.TimerDue{ID: c.ID}})
	})
	if a.timers == nil {
		a.timers = map[string]*timer{}
	}
	a.timers[c.ID] = t
}

// lost returns the tool calls that the former owner may have made, each with its tool's policy
// (P12). It returns an error if the run is to be interrupted; a policy that could not be read for
// that reason means nothing.
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

// drain interrupts the run. Calls are stopped; results that still arrive have been paid for and are
// journaled, unless they request tool calls: a tool call that is journaled but never made would
// require asking a person at the next resume (P12).
func (a *actor) drain() error {
	a.stopCalls()
	a.dispatch()
	if a.create != nil {
		reply(a.takeMail(), driver.ErrClosed)
		return driver.ErrClosed
	}
	var (
		results, rest []*message
		broken        error
	)
	told := map[string]bool{}
	a.mu.Lock()
	if a.notify == nil {
		a.notify = make(chan struct{}, 1)
	}
	a.mu.Unlock()
	late := time.NewTimer(grace)
	defer late.Stop()
	for waiting := true; waiting; {
		for _, m := range a.takeMail() {
			if isNote(m) { // its call is waiting for the answer
				if broken == nil {
					broken = a.commitFinal(m)
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
		if len(told) >= a.calls.count() {
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
		a.deliver(m) // removeActor handles them
	}
	for _, m := range results {
		if broken == nil {
			broken = a.commitFinal(m)
		}
	}
	return errStopped
}

// errStopped means that the run was interrupted, and that its state in memory may differ from the
// journal.
var errStopped = errors.New("run was interrupted")

// outcome returns the id of the call that d answers, and whether the result is more than a failure.
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
	case *engine.FuncResult:
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
