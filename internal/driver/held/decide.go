package held

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
)

// Turn is one decision about a run held in common.
type Turn struct {
	// Run is the current state of the run; it must not be kept.
	Run *engine.Run
	// Plan is the compiled definition of the run.
	Plan Compiled
	// Head is the run's head before the turn.
	Head   journal.Head
	at     time.Time
	dec    engine.Decision
	defect error
}

// At returns the time of the turn.
func (t *Turn) At() time.Time { return t.at }

// Do passes an input to the engine. An error is either the engine's rejection, which changed
// nothing, or it makes the turn void.
func (t *Turn) Do(data engine.InputData) error { return t.DoAt(data, t.at) }

// DoAt is Do for an input with another time.
func (t *Turn) DoAt(data engine.InputData, at time.Time) (err error) {
	if t.defect != nil {
		return t.defect
	}
	defer func() {
		if err != nil && !IsRefusal(err) {
			t.defect = err
		}
	}()
	defer Recovered(&err)
	part, err := t.Run.Activate([]engine.Input{{At: at, Data: data}})
	t.dec.Events = append(t.dec.Events, part.Events...)
	t.dec.Commands = append(t.dec.Commands, part.Commands...)
	return err
}

// PassDeadlines fires the timers of waits that are due (D21).
func (t *Turn) PassDeadlines() error {
	for _, timer := range Due(t.Run, t.at) {
		if err := t.Do(engine.TimerDue{ID: timer.ID}); err != nil && !IsRefusal(err) {
			return err
		}
	}
	return nil
}

// Decide calls fn, which passes inputs to the current state of the run, and stores the resulting
// events. If other processes appended meanwhile, fn is called again with the new state. The
// decision is durable when Decide returns without an error. An error from fn is returned after the
// inputs passed before it are stored. A decision that takes long is cut short, see [MaxDecision];
// DecideThen and Continue make the rest of it.
//
// Errors: those of Look and fn; ctx's, and those of a store that does not respond, after which it
// is unknown whether the decision was stored.
func (c *Common) Decide(ctx context.Context, fn func(t *Turn) error) (engine.Decision, error) {
	dec, _, err := c.turn(ctx, engine.Decision{}, fn, nil)
	return dec, err
}

// DecideThen is like Decide, but makes the whole decision, with other decisions between its parts.
// It then calls then with the run after the decision and the head from before its last part; then
// must neither keep the run nor block. It is called if the error is nil or comes from fn.
func (c *Common) DecideThen(ctx context.Context, fn func(t *Turn) error,
	then func(run *engine.Run, head journal.Head, dec engine.Decision)) (dec engine.Decision, err error) {
	dec, isCut, err := c.turn(ctx, dec, fn, then)
	refused := err
	for isCut && (err == nil || IsRefusal(err)) {
		dec, isCut, err = c.turn(ctx, dec, func(t *Turn) error { return t.Do(engine.Continue{}) }, then)
	}
	if err == nil {
		err = refused
	}
	return dec, err
}

// Continue makes the decisions that were left when one was cut short. Errors are those of Decide.
func (c *Common) Continue(ctx context.Context) error {
	for isCut := true; isCut; {
		var err error
		_, isCut, err = c.turn(ctx, engine.Decision{}, func(t *Turn) error {
			if t.Run.IsCut() {
				return t.Do(engine.Continue{})
			}
			return nil
		}, nil)
		if err != nil {
			return err
		}
	}
	return nil
}

// MaxDecision is how long a decision may take before it is cut short and stored: a run of many
// steps without calls can then be seen, cancelled and interrupted. A run whose decisions are faster
// is stored with one append for each.
const MaxDecision = 100 * time.Millisecond

// turn is a Decide after which the run may have more to decide, which isCut reports. The decision
// is added to before; then, if not nil, is called if nothing is left.
func (c *Common) turn(ctx context.Context, before engine.Decision, fn func(t *Turn) error,
	then func(run *engine.Run, head journal.Head, dec engine.Decision)) (dec engine.Decision, isCut bool, err error) {
	if err := c.enter(ctx); err != nil {
		return before, false, err
	}
	defer c.leave()
	for {
		if err := c.current(ctx); err != nil {
			return before, false, err
		}
		c.decided = time.Now()
		t := &Turn{Run: c.run, Plan: c.plan, Head: c.head, at: c.cs.cfg.Now().UTC().Truncate(time.Microsecond)}
		refused := fn(t)
		if t.defect == nil && c.cs.cfg.Settle != nil {
			c.settle(t)
		}
		if t.defect != nil {
			c.run = nil
			if IsLoadError(t.defect) {
				return before, false, t.defect
			}
			return before, false, c.quarantine(ctx, t.defect)
		}
		if len(t.dec.Events) > 0 {
			stored, err := c.store(ctx, t.dec.Events)
			if err != nil || !stored {
				c.run = nil // it is ahead of its journal
			}
			switch {
			case err != nil && IsDefect(err):
				return before, false, c.quarantine(ctx, err)
			case err != nil:
				return before, false, err
			case !stored:
				continue
			}
		}
		dec = engine.Decision{
			Events: append(before.Events, t.dec.Events...), Commands: append(before.Commands, t.dec.Commands...),
		}
		if isCut = c.run.IsCut(); !isCut && then != nil {
			if err := c.showRun(dec, then); err != nil {
				return dec, false, err
			}
		}
		return dec, isCut, refused
	}
}

// showRun calls then with the run.
func (c *Common) showRun(dec engine.Decision, then func(*engine.Run, journal.Head, engine.Decision)) (err error) {
	defer Recovered(&err)
	then(c.run, c.head, dec)
	return nil
}

// settle passes the inputs that follow from the state of the run.
func (c *Common) settle(t *Turn) {
	for {
		more := c.cs.cfg.Settle(c.run)
		n := len(t.dec.Events)
		for _, in := range more {
			_ = t.Do(in) // a rejection changes nothing; an internal error ends the turn
		}
		if len(t.dec.Events) == n || t.defect != nil {
			return
		}
	}
}

// store stores events. If stored is false and err is nil, they are not stored and the run has to be
// reloaded.
func (c *Common) store(ctx context.Context, events []event.Event) (stored bool, err error) {
	ap, err := NewAppend(c.run, c.id, events, &c.buf, c.cs.keepsEvents)
	if err == nil {
		ap.Epoch, ap.Common, ap.Release = c.head.Epoch, true, Rests(c.run)
		err = ap.Validate()
	}
	if err != nil {
		return false, &DefectError{err}
	}
	switch err := c.cs.cfg.Store.Append(ctx, ap); {
	case err == nil:
	case errors.Is(err, journal.ErrConflict):
		return false, nil
	case errors.Is(err, journal.ErrFenced): // it was transferred; if it is common again, it has a new epoch
		return false, nil
	case IsDamage(err):
		return false, &DefectError{err}
	case IsPermanent(err), errors.Is(err, journal.ErrBusy), ctx.Err() != nil:
		return false, err
	default:
		if stored, err := c.uncertain(ctx, ap, err); !stored {
			return false, err
		}
	}
	c.release(ap)
	if fn := c.cs.cfg.Stored; fn != nil {
		fn(c.id, events)
	}
	return true, nil
}

// Rests reports whether nothing has to be done for a run before the next request; such a run has no
// owner. A pending run does not rest: it has to begin in its turn.
func Rests(run *engine.Run) bool {
	s := run.Status()
	return s.Ended() || s == event.StatusPaused && run.InFlight() == 0
}

// uncertain reads the journal until it shows whether an append that returned an error was stored.
func (c *Common) uncertain(ctx context.Context, ap journal.Append, cause error) (bool, error) {
	c.cs.cfg.Logger.Warn("the store is temporarily unavailable; retrying", "run", c.id, "err", cause)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		if !pause(ctx, wait) {
			return false, cause
		}
		stored, err := HasStored(ctx, c.cs.cfg.Store, ap)
		if err == nil || IsPermanent(err) {
			return stored, err
		}
	}
}

// pause waits, and reports whether ctx is still active.
func pause(ctx context.Context, wait time.Duration) bool {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// release frees the large strings of the append before this one, since an output is usually
// followed by a call that needs it.
func (c *Common) release(ap journal.Append) {
	for _, fn := range c.releases {
		fn()
	}
	c.releases = nil
	if len(ap.Blobs) > 0 {
		c.releases = Releases(c.run, c.load, func(hash string) bool {
			return slices.ContainsFunc(ap.Blobs, func(b journal.Blob) bool { return b.Hash == hash })
		})
	}
}

// quarantine ends a run as failed after an internal error, if its journal still allows that (P18).
func (c *Common) quarantine(ctx context.Context, cause error) error {
	q := &driver.QuarantineError{Run: c.id, Err: cause}
	c.cs.cfg.Logger.Error("run cannot continue", "run", c.id, "err", cause)
	if c.catchUp(ctx) != nil {
		return q
	}
	end := Fail(c.run, c.cs.cfg.Now().UTC().Truncate(time.Microsecond), cause)
	if end == nil {
		return q
	}
	if stored, err := c.store(ctx, end); !stored || err != nil {
		c.run = nil
	}
	return q
}

// Fail ends a run as failed after an internal error, and returns the event that does so; nil if the
// run cannot end.
func Fail(run *engine.Run, at time.Time, cause error) []event.Event {
	end := []event.Event{{Seq: run.Seq() + 1, At: at,
		Data: &event.RunFailed{Error: event.Failure{Code: CodeOf(cause), Message: cause.Error()}}}}
	if run.Status().Ended() || run.Apply(end) != nil {
		return nil
	}
	return end
}

// Create stores a new run that is held in common. Errors: journal.ErrExists; *journal.BusyError;
// journal.ErrNoCommon; the engine's.
func (cs *Commons) Create(ctx context.Context, p *Prepared) (err error) {
	id, run, began := p.Run, NewRun(p.Plan, p.Run), time.Now()
	run.StopWhen(func() bool { return time.Since(began) >= MaxDecision })
	dec, err := activate(run, engine.Input{At: p.New.Created, Data: p.Start})
	if err != nil {
		return err
	}
	ap, err := NewAppend(run, id, dec.Events, new([]byte), cs.keepsEvents)
	if err != nil {
		return err
	}
	ap.Create, ap.Common, ap.Release = &p.New, true, Rests(run)
	ap.Blobs = append(append([]journal.Blob{p.Definition}, p.Files...), ap.Blobs...)
	if err := ap.Validate(); err != nil {
		return err
	}
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		err = cs.cfg.Store.Append(ctx, ap)
		if err == nil || IsPermanent(err) || ctx.Err() != nil || errors.Is(err, journal.ErrBusy) ||
			errors.Is(err, journal.ErrNoCommon) {
			break
		}
		if errors.Is(err, journal.ErrExists) {
			if stored, rerr := HasStored(ctx, cs.cfg.Store, ap); stored && rerr == nil && wait > 20*time.Millisecond {
				err = nil // stored by an earlier attempt whose reply was lost
			}
			break
		}
		if !pause(ctx, wait) {
			return fmt.Errorf("start run %s: %w", id, err)
		}
	}
	if err == nil && cs.cfg.Stored != nil {
		cs.cfg.Stored(id, dec.Events)
	}
	return err
}

// activate passes a new run its first input.
func activate(run *engine.Run, in engine.Input) (dec engine.Decision, err error) {
	defer Recovered(&err)
	return run.Activate([]engine.Input{in})
}
