package embedded

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
)

// call is a command in progress. The first reported result counts: the call's own, or that it was
// abandoned.
//
// A call may be reused once its result has been taken and nothing refers to it: its function holds
// only the call's context.
type call struct {
	*callContext
	cmd      engine.Command
	limit    time.Duration
	slots    bool             // it needs a slot
	turn     driver.Admission // what it waits for before taking a slot; may be nil
	reported atomic.Bool
	slot     atomic.Bool // it holds one of Driver.slots
	begun    atomic.Bool // its turn has started

	// overtime means that the time limit may have been reported, and that its timer may still be
	// running.
	overtime bool

	result   message
	returned engine.FuncResult // the function result in result, if a function returned
	stopped  bool              // cancelled; owned by the actor
}

// begin queues a call; dispatch or next starts it. limit is the maximum duration from the
// moment the call gets its slot; 0 means that the call limits itself. If slot is false, the call
// needs none.
func (a *actor) begin(id string, cmd engine.Command, limit time.Duration, slot bool) {
	if a.calls.get(id) != nil {
		return
	}
	delete(a.orphans, id)
	c := a.freeCall
	if a.freeCall = nil; c == nil {
		c = &call{}
	}
	*c = call{callContext: &callContext{parent: a.ctx, actor: a, name: id, call: c}, cmd: cmd, limit: limit,
		slots: slot}
	if cm, ok := cmd.(*engine.CallModel); ok && a.kit.Admit != nil {
		c.turn = a.kit.Admit(&a.info, cm)
	}
	a.calls.put(c)
	a.work.Add(1)
	a.ready = append(a.ready, c)
}

// dispatch starts the queued calls on other goroutines.
func (a *actor) dispatch() {
	if len(a.ready) > 0 {
		a.concurrent.Store(true)
		a.d.crew.add(a.d, a.ready)
		clear(a.ready)
		a.ready = a.ready[:0]
	}
}

// takeInline removes and returns the call that the actor's own goroutine may make: a function or
// model call that is the only call in flight. It returns nil if there is none.
func (a *actor) takeInline() *call {
	if len(a.ready) != 1 || a.calls.count() != 1 {
		return nil
	}
	c := a.ready[0]
	switch c.cmd.(type) {
	case *engine.CallFunc, *engine.CallModel:
	default:
		return nil
	}
	a.ready[0] = nil
	a.ready = a.ready[:0]
	return c
}

// callInline makes a call on the actor's goroutine, without the cost of another goroutine. If mail
// arrives meanwhile, the actor's context ends, or the function ends its goroutine, another
// goroutine becomes the actor (see yield). callInline returns the result, or nil if it arrived as
// mail; false means that this goroutine is no longer the actor.
//
// The caller must have set a.busy.
func (a *actor) callInline(c *call) (*message, bool) {
	data := c.make()
	a.mu.Lock()
	here := a.busy
	a.busy = false
	cut := a.ctx.Err() != nil
	a.mu.Unlock()
	if !here || cut { // drain handles the result of a call that was cut off
		c.report(data)
		return nil, here
	}
	if !c.reported.CompareAndSwap(false, true) {
		return nil, true // the call was abandoned, which is reported as mail
	}
	c.result = message{at: a.d.now(), data: data}
	if !c.overtime && !c.stopped { // otherwise a timer may still read it
		a.freeCall = c
		if cmd, ok := c.cmd.(*engine.CallFunc); ok {
			a.run.Reuse(cmd)
		}
	}
	return &c.result, true
}

// yield makes another goroutine the actor if the actor's own goroutine is making a call. a.mu
// must be held; yield releases it.
func (a *actor) yield() {
	away := a.takeBurst() || a.busy
	a.busy = false
	a.mu.Unlock()
	if away {
		a.concurrent.Store(true)
		a.d.crew.run(a.d, (*successor)(a))
	}
}

// successor is the actor on a new goroutine, after the previous one started making a call.
type successor actor

func (s *successor) runTask() {
	a := (*actor)(s)
	if b := a.burst.Load(); b != nil {
		b.adoptOnce()
		a.burst.Store(nil)
	}
	a.end(a.loop())
}

// interrupt cancels the actor's context.
func (a *actor) interrupt(why error) {
	a.cancel(why)
	a.mu.Lock()
	a.yield()
}

// report reports the result to the actor, unless a result was already reported.
func (c *call) report(data engine.InputData) {
	if c.reported.CompareAndSwap(false, true) {
		c.result = message{at: c.actor.d.now(), data: data}
		c.actor.deliver(&c.result)
	}
}

// admit waits for the call's turn and then for a slot: a call that waits for its provider holds
// none (P14). It returns false if the call was cancelled first.
func (c *call) admit() bool {
	if c.turn == nil {
		return !c.slots || c.acquire()
	}
	for {
		if c.turn.Ready(c.callContext) != nil || !c.acquire() {
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

// leave ends the call's turn, if it has started.
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

// giveUp reports that the call will have no result, and releases its slot.
func (c *call) giveUp(why error) {
	data := driver.GivenUp(c.cmd, why)
	c.report(data)
	c.leave(data)
	c.release()
}

func (c *call) overdue() {
	c.giveUp(fmt.Errorf("no answer within %s, nor after the cancellation", c.limit))
}

// stop cancels the call and starts the timer that abandons it after limit, once.
func (c *call) stop(why error, limit time.Duration) {
	c.end(why)
	if !c.stopped {
		c.stopped = true
		time.AfterFunc(limit, func() { c.giveUp(fmt.Errorf("no answer within %s of the cancellation", limit)) })
	}
}

// acquire acquires a slot. It returns false if the call was cancelled first.
func (c *call) acquire() bool {
	if !c.actor.d.slots.acquire(c.callContext, &c.actor.d.queue) {
		return false
	}
	c.slot.Store(true)
	return true
}

// run makes the call and reports its result.
func (c *call) run() { c.report(c.make()) }

// make makes the call and returns its result. If its function ends the goroutine, make reports
// that.
func (c *call) make() (data engine.InputData) {
	defer c.actor.work.Done()
	returned := false
	defer func() {
		c.release()
		c.end(nil)
		if !returned {
			gone := driver.Gone(c.cmd)
			c.leave(gone)
			c.report(gone)
		}
	}()
	switch {
	case !c.admit(), c.Err() != nil:
		data = driver.Unsent(c.cmd) // it was never made
	default:
		data = c.invoke()
	}
	returned = true
	return data
}

// invoke obtains the result from the kit.
func (c *call) invoke() (data engine.InputData) {
	if c.limit > 0 {
		t := time.AfterFunc(c.limit+grace, c.overdue)
		defer func() { c.overtime = !t.Stop() }()
	}
	a := c.actor
	switch cmd := c.cmd.(type) {
	case *engine.CallModel:
		unpin, err := held.Pin(cmd)
		if err != nil {
			a.interrupt(err)
			data = driver.Unsent(cmd)
			break
		}
		defer unpin()
		data = a.kit.CallModel(c.callContext, &a.info, cmd, a.say)
		a.d.said.Flush(a.id)
	case *engine.CallTool:
		data = a.kit.CallTool(c.callContext, &a.info, cmd, c.callContext)
	case *engine.CallFunc:
		c.returned = a.kit.CallFunc(c.callContext, &a.info, cmd, c.callContext)
		data = &c.returned
	}
	data = c.mark(data)
	c.end(nil) // before reporting the result: leftovers of the call can no longer act for it
	c.leave(data)
	return data
}
