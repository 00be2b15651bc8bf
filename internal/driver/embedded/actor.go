package embedded

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/text"
)

// actor drives one run for as long as it is in memory. The fields below the group guarded by mu
// belong to its goroutine alone.
type actor struct {
	d    *Driver
	id   string
	gone chan struct{} // closed when the actor has left Driver.runs

	// ctx is the context of the calls; it ends when the run is to be interrupted or has left
	// memory.
	ctx    context.Context
	cancel context.CancelCauseFunc

	mu         sync.Mutex
	mail       []*message
	busy       bool       // its goroutine is making a call; the next message hands the actor to another goroutine
	taken      []*message // last result of takeMail, for reuse
	left       bool
	notify     chan struct{}         // holds a token while there may be mail; nil until the actor first waits
	concurrent atomic.Bool           // another goroutine has made a call or been the actor
	burst      atomic.Pointer[burst] // the burst in progress; nil if there is none

	plan held.Compiled
	info driver.Info
	kit  *driver.RunResources
	// kitErr is the error from opening the kit. If it is set, the run can only be cancelled.
	kitErr error
	run    *engine.Run
	// decided is when the current decision began, see stopsDeciding.
	decided time.Time
	epoch   uint64
	owned   bool
	create  *journal.NewRun // until the first commit
	blobs   []journal.Blob  // until the first commit
	buf     []byte          // buffer of the last record, for reuse
	// releases free the large strings of the last append.
	releases []func()

	pause backoff // pause between failing appends

	// claimed is the run's head if the run was already claimed.
	claimed *journal.Head
	// handsOff means that no call of the run is started here. notStarted means that none of its
	// open calls has started since its last event.
	handsOff, notStarted bool
	// takeover means that the run was left by an owner that did not finish it, and that nothing was
	// written since.
	takeover bool
	// fresh means that the commands that were open when the run was read have not been inspected.
	fresh bool
	// observe is driver.Spec.Observe.
	observe func(*engine.Run, []event.Event)
	ended   func(*driver.LineEnd) // driver.Spec.Ended
	// brief is the number of bursts that were too short to save time; broken is why one could not
	// be continued.
	brief  int
	broken error
	calls  calls
	timers map[string]*timer
	// orphans are leftover commands of a former owner that were not started here.
	orphans          map[string]engine.Command
	asked            map[string]bool // waits answered by ApproveAll
	work             sync.WaitGroup  // calls in progress
	ready            []*call         // calls to start
	here             [1]*message     // a batch of one
	first            [1]*message     // storage for the first mail
	freeCall         *call           // a call that has ended, for reuse
	group            []engine.Input  // results to decide together; kept between batches
	waitingForBudget []*message      // calls waiting for budget to start a run
	slot             journal.Slot    // slot that the run requests before it starts
	asksForSlot      bool
}

func (d *Driver) newActor(run string) *actor {
	a := &actor{
		d: d, id: run, gone: make(chan struct{}),
	}
	a.mail = a.first[:0]
	a.ctx, a.cancel = context.WithCancelCause(d.work)
	return a
}

// log returns the run's logger.
func (a *actor) log() *slog.Logger { return a.d.cfg.Logger.With("run", a.id) }

// deliver adds a message to the mailbox. Results for an actor that has left are dropped, because
// their calls are open in the journal; notes are rejected.
func (a *actor) deliver(m *message) {
	a.mu.Lock()
	if a.left {
		a.mu.Unlock()
		m.answer(errStopped)
		return
	}
	a.mail = append(a.mail, m)
	notify := a.notify
	a.yield()
	select {
	case notify <- struct{}{}:
	default:
	}
}

// takeMail returns the messages in the mailbox. The slice is valid until the next call.
func (a *actor) takeMail() []*message {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.swap()
}

// swap is takeMail for callers that hold mu.
func (a *actor) swap() []*message {
	clear(a.taken)
	a.mail, a.taken = a.taken[:0], a.mail
	return a.taken
}

// next waits for mail and returns all of it. It returns nil if the run is to be interrupted. The
// error is errReplaced if another goroutine has become the actor, errEnded if the run has ended
// without mail, and a.broken if a burst could not be continued. Without mail it makes an inline
// call itself. The result of a call cut off by the interruption must never be returned, because
// it would fail the run. So the context is checked before the mailbox is emptied, at a point when
// no more mail can arrive.
//
// A run whose activation was cut short continues if there is no mail; the fold of a run that was
// left by its owner waits to be resumed.
func (a *actor) next() (batch []*message, err error) {
	cutShort := a.run.IsCut() && !a.takeover
	var inline *call
	if !cutShort {
		inline = a.takeInline()
	}
	if inline != nil {
		m, how := a.enterBurst(inline)
		switch {
		case how == burstReplaced:
			return nil, errReplaced
		case a.broken != nil:
			return nil, a.broken
		case how == burstEnded:
			return nil, errEnded
		case how == burstLeft:
			a.here[0] = m
			return a.here[:], nil
		case how == burstStopped:
			inline = a.takeInline()
		}
	}
	for {
		a.mu.Lock()
		cut := a.ctx.Err() != nil
		if !cut {
			batch = a.swap()
		}
		if cutShort && !cut && len(batch) == 0 {
			a.here[0] = &message{at: a.d.now(), data: engine.Continue{}}
			batch = a.here[:]
		}
		a.busy = inline != nil && !cut && len(batch) == 0
		if inline == nil && a.notify == nil {
			a.notify = make(chan struct{}, 1)
		}
		a.mu.Unlock()
		if inline != nil && (cut || len(batch) > 0) {
			a.ready = append(a.ready, inline)
		}
		if cut || len(batch) > 0 {
			a.dispatch()
			return batch, nil //nolint:nilerr // an interruption is reported by an empty batch
		}
		if inline != nil {
			m, still := a.callInline(inline)
			if !still {
				return nil, errReplaced
			}
			if inline = nil; m != nil {
				a.here[0] = m
				return a.here[:], nil
			}
			continue
		}
		a.dispatch()
		select {
		case <-a.notify:
		case <-a.ctx.Done():
		}
	}
}

// runTask runs the actor's goroutine.
func (a *actor) runTask() { a.end(a.live()) }

// errReplaced means that another goroutine is the actor.
var errReplaced = errors.New("another goroutine drives the run")

// errEnded means that the run ended in a burst.
var errEnded = errors.New("the run has ended")

// end removes the actor from the driver, unless another goroutine continues as the actor.
func (a *actor) end(err error) {
	if errors.Is(err, errReplaced) {
		return
	}
	if errors.Is(err, journal.ErrFenced) {
		a.log().Warn("another process took over the run; its calls in this process are cancelled", "err", err)
	}
	a.removeActor(err)
}

// live prepares the run and drives it, as loop does.
func (a *actor) live() error {
	if a.create != nil {
		switch m, how := a.startBurst(); how {
		case burstNone:
			a.setRun(held.NewRun(a.plan, a.id))
		case burstLeft:
			a.here[0] = m
			return a.loopFrom(a.here[:])
		case burstStopped:
		case burstReplaced:
			return errReplaced
		case burstEnded:
			return nil
		}
	} else if err := a.load(); err != nil {
		reply(a.takeMail(), err)
		return err
	}
	return a.loop()
}

// loop drives the run until it has paused, ended or been interrupted (all nil), cannot be driven
// here, or another goroutine is the actor (errReplaced).
func (a *actor) loop() error { return a.loopFrom(nil) }

// loopFrom is loop, with the batch to begin with, if it is not nil.
func (a *actor) loopFrom(batch []*message) error {
	for ; ; batch = nil {
		if a.broken != nil {
			return a.quarantine(a.broken)
		}
		if batch == nil {
			var err error
			batch, err = a.next()
			switch {
			case errors.Is(err, errEnded):
				return nil
			case errors.Is(err, errReplaced):
				return err
			case err != nil:
				return a.quarantine(err)
			}
		}
		if batch == nil {
			return a.drain()
		}
		if a.create != nil {
			batch = a.keepFirst(batch)
		}
		batch = a.retryReservations(batch)
		if err := a.step(batch); err != nil {
			reply(batch, err)
			return err
		}
		switch {
		case !a.owned, a.settled() && !a.hasMail():
			return nil
		case a.isHandedOff():
			return nil
		}
		a.askForSlot()
	}
}

// keepFirst returns the first message of a batch, which starts the run, and puts the rest back: if
// the run already exists, they are for the next actor.
func (a *actor) keepFirst(batch []*message) []*message {
	if len(batch) > 1 {
		a.mu.Lock()
		a.mail = append(slices.Clone(batch[1:]), a.mail...)
		a.mu.Unlock()
	}
	return batch[:1]
}

// isHandedOff reports whether the run continues elsewhere: none of its calls is in flight, and none
// is started.
func (a *actor) isHandedOff() bool {
	if a.d.draining.Load() {
		a.handsOff = true
	}
	if !a.handsOff || a.calls.count() > 0 || a.hasMail() {
		return false
	}
	a.notStarted = true
	return true
}

// settled reports whether the run needs no actor before the next request.
func (a *actor) settled() bool {
	s := a.run.Status()
	return s.Ended() || s == event.StatusPaused && a.run.InFlight() == 0 || s == event.StatusPending &&
		a.run.Created() == nil
}

// step activates a batch, makes the resulting events durable, and executes the commands. An error
// ends the actor; it is also returned to messages of the batch that were not answered.
func (a *actor) step(batch []*message) (err error) {
	defer text.Recover(&err)
	if a.kitErr != nil {
		if batch = a.cancelsOnly(batch); len(batch) == 0 {
			return errLeft
		}
	}
	if a.handsOff {
		if batch = a.leaveToOthers(batch); len(batch) == 0 {
			return errLeft
		}
	}
	if a.takeover {
		if batch, err = a.mayTakeOver(batch); err != nil {
			return err
		}
		if len(batch) == 0 {
			return errLeft
		}
	}
	for {
		dec, err := a.decide(batch)
		if errors.Is(err, errStopped) {
			return driver.ErrClosed
		}
		if held.IsLoadError(err) {
			return err
		}
		if err != nil {
			return a.quarantine(err)
		}
		if len(dec.Events) > 0 {
			committed, err := a.commit(dec, batch)
			switch {
			case err != nil && held.IsDefect(err):
				return a.quarantine(err)
			case err != nil:
				return err
			case !committed:
				continue // the run was reloaded in its state from before the batch
			}
		} else if err := a.stillOwned(batch); err != nil {
			return err
		}
		a.takeover = false
		a.accepted(batch)
		a.publish(dec.Events)
		for _, m := range batch {
			a.reply(m)
		}
		a.executeCommands(dec.Commands)
		if a.fresh {
			a.fresh = false
			a.executeCommands(a.run.Open())
		}
		a.approveAll()
		return nil
	}
}

// errLeft means that a run that was left by its owner stays as it is, since nobody asked it to
// continue.
var errLeft = errors.New("run stays interrupted")

// kitError means that the models, tools or functions of a run are not available in this process.
// Another process may have them.
type kitError struct{ err error }

func (e *kitError) Error() string { return e.err.Error() }
func (e *kitError) Unwrap() error { return e.err }

// try activates inputs one by one and returns the error of the last. The run must be discarded
// afterwards unless the first input failed.
func (a *actor) try(inputs []engine.Input) (err error) {
	defer held.Recovered(&err)
	for _, in := range inputs {
		_, err = a.run.Activate([]engine.Input{in})
	}
	return err
}

// accepted removes the calls and timers whose results are now in the journal.
func (a *actor) accepted(batch []*message) {
	for _, m := range batch {
		switch d := m.data.(type) {
		case engine.ModelResult:
			a.calls.drop(d.ID)
		case engine.ToolResult:
			a.calls.drop(d.ID)
		case engine.ToolHeld:
			a.calls.drop(d.ID)
		case engine.FuncResult:
			a.calls.drop(d.ID)
		case *engine.FuncResult:
			a.calls.drop(d.ID)
		case engine.TimerDue:
			if t := a.timers[d.ID]; t != nil && !t.at.After(m.at) {
				delete(a.timers, d.ID)
			}
		}
	}
}

// approveAll answers open approvals (D24).
func (a *actor) approveAll() {
	for _, w := range a.unapproved() {
		if a.asked == nil {
			a.asked = map[string]bool{}
		}
		a.asked[w.ID] = true
		a.deliver(&message{at: a.d.now(), data: engine.Answer{Wait: w.ID, Value: event.Value(`"approve"`),
			By: event.LocalBy(event.ChannelApproveAll)}})
	}
}

// removeActor removes the actor from the driver. Messages that arrived last go to a new actor: err
// concerns the messages before them.
func (a *actor) removeActor(err error) {
	for _, t := range a.timers {
		t.timer.Stop()
	}
	a.cancel(errInterrupted)
	a.stopCalls()
	a.dispatch() // they end immediately
	a.release()
	reply(a.waitingForBudget, errStopped)
	d := a.d
	paused := err == nil && a.run != nil && a.run.Status() == event.StatusPaused
	var deadline time.Time
	if paused {
		deadline = held.Earliest(a.run.Open())
	}
	kit := a.kit
	if a.concurrent.Load() || kit.Opened() {
		d.wg.Go(func() {
			a.work.Wait()
			if err := kit.Close(); err != nil {
				a.log().Warn("close tools", "err", err)
			}
		})
	}

	d.mu.Lock()
	a.mu.Lock()
	a.left = true
	var rest []*message
	for _, m := range a.mail {
		switch {
		case isNote(m):
			m.answer(errStopped) // its call no longer has an owner
		case m.done != nil:
			rest = append(rest, m)
		}
	}
	a.mail = nil
	a.mu.Unlock()
	delete(d.runs, a.id)
	d.signalRoom()
	switch {
	case d.closed:
	case len(rest) > 0:
		next := d.newActor(a.id)
		next.mail, rest = rest, nil
		d.launch(next)
	case !deadline.IsZero():
		d.park(a.id, deadline)
	}
	d.mu.Unlock()
	close(a.gone)
	reply(rest, driver.ErrClosed)
}
