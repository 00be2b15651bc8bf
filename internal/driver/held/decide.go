package held

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/journal"
)

// Turn is one decision about a run held in common.
type Turn struct {
	// Run is the run as it is; it is not to be kept.
	Run *engine.Run
	// Plan is what the run was compiled to.
	Plan Compiled
	// Head is of before the turn.
	Head   journal.Head
	at     time.Time
	dec    engine.Decision
	defect error
}

// At is the time of the turn.
func (t *Turn) At() time.Time { return t.at }

// Do gives the engine an input. An error is the engine's refusal, which changed nothing; after any other one the turn is void.
func (t *Turn) Do(data engine.InputData) error { return t.DoAt(data, t.at) }

// DoAt is Do for an input of another time.
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

// Decide has fn give inputs to the run as it is now, and stores what follows. Where others appended meanwhile, fn is called again with the run as it is then. The decision is durable when Decide returns
// without an error. An error of fn is returned after what it had given before is stored.
//
// Errors: those of Look and fn; ctx's, and those of a store that does not answer, after which it is not known whether the decision was stored.
func (c *Common) Decide(ctx context.Context, fn func(t *Turn) error) (engine.Decision, error) {
	return c.DecideThen(ctx, fn, nil)
}

// DecideThen is Decide that shows the run as it is after the decision, with its head of before, to then, which must not keep it, nor wait. It is called where the error is nil or fn's.
func (c *Common) DecideThen(ctx context.Context, fn func(t *Turn) error, then func(run *engine.Run, head journal.Head, dec engine.Decision)) (dec engine.Decision, err error) {
	if err := c.enter(ctx); err != nil {
		return dec, err
	}
	defer c.leave()
	for {
		if err := c.current(ctx); err != nil {
			return dec, err
		}
		t := &Turn{Run: c.run, Plan: c.plan, Head: c.head, at: c.cs.cfg.Now().UTC().Truncate(time.Microsecond)}
		refused := fn(t)
		if t.defect == nil && c.cs.cfg.Settle != nil {
			c.settle(t)
		}
		if t.defect != nil {
			c.run = nil
			if IsLoadError(t.defect) {
				return dec, t.defect
			}
			return dec, c.quarantine(ctx, t.defect)
		}
		if len(t.dec.Events) == 0 {
			return c.shown(t, refused, then)
		}
		switch stored, err := c.store(ctx, t.dec.Events); {
		case err != nil && IsDefect(err):
			c.run = nil
			return dec, c.quarantine(ctx, err)
		case err != nil:
			c.run = nil
			return dec, err
		case stored:
			return c.shown(t, refused, then)
		}
		c.run = nil // it is ahead of its journal
	}
}

// shown shows the run to then.
func (c *Common) shown(t *Turn, refused error, then func(*engine.Run, journal.Head, engine.Decision)) (dec engine.Decision, err error) {
	if then != nil {
		defer Recovered(&err)
		then(c.run, c.head, t.dec)
	}
	return t.dec, refused
}

// settle gives the inputs that follow from what the run is.
func (c *Common) settle(t *Turn) {
	for {
		more := c.cs.cfg.Settle(c.run)
		n := len(t.dec.Events)
		for _, in := range more {
			_ = t.Do(in) // a refusal changes nothing, and a defect ends the turn
		}
		if len(t.dec.Events) == n || t.defect != nil {
			return
		}
	}
}

// store stores events. stored is false without an error where they are not stored and the run has to be read again.
func (c *Common) store(ctx context.Context, events []engine.Event) (stored bool, err error) {
	ap, err := NewAppend(c.run, c.id, events, c.buf, c.cs.keepsEvents)
	if err == nil {
		ap.Epoch, ap.Common, ap.Release = c.head.Epoch, true, Rests(c.run)
		err = ap.Validate()
	}
	if err != nil {
		return false, &DefectError{err}
	}
	if ap.Events == nil && cap(ap.Record.Data) <= maxBuf {
		c.buf = ap.Record.Data
	}
	switch err := c.cs.cfg.Store.Append(ctx, ap); {
	case err == nil:
	case errors.Is(err, journal.ErrConflict):
		return false, nil
	case errors.Is(err, journal.ErrFenced): // it was moved; where it is common again, it is in another epoch
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

// maxBuf bounds what is kept of the data of a record, for the next one.
const maxBuf = 4 << 10

// Rests tells whether a run needs nothing to be done before the next request: then it has no owner.
func Rests(run *engine.Run) bool {
	s := run.Status()
	return s.Ended() || s == engine.StatusPaused && run.InFlight() == 0 || s == engine.StatusPending
}

// uncertain reads the journal until it tells whether an append that gave an error was stored.
func (c *Common) uncertain(ctx context.Context, ap journal.Append, cause error) (bool, error) {
	c.cs.cfg.Logger.Warn("the store is temporarily unavailable; retrying", "run", c.id, "err", cause)
	for wait := 20 * time.Millisecond; ; wait = min(2*wait, 5*time.Second) {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return false, cause
		}
		stored, err := HasStored(ctx, c.cs.cfg.Store, ap)
		if err == nil || IsPermanent(err) {
			return stored, err
		}
	}
}

// release lets large texts leave memory: those of the append before this one, since what follows from a text is mostly a call that needs it.
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

// quarantine ends a run as failed after a defect, if its journal still allows to say so (P18).
func (c *Common) quarantine(ctx context.Context, cause error) error {
	q := &driver.QuarantineError{Run: c.id, Err: cause}
	c.cs.cfg.Logger.Error("run cannot continue", "run", c.id, "err", cause)
	if c.catchUp(ctx) != nil {
		return q
	}
	end := []engine.Event{{
		Seq: c.run.Seq() + 1, At: c.cs.cfg.Now().UTC().Truncate(time.Microsecond),
		Data: &engine.RunFailed{Error: engine.Failure{Code: CodeOf(cause), Message: cause.Error()}},
	}}
	if c.run.Status().Ended() || c.run.Apply(end) != nil {
		return q
	}
	if stored, err := c.store(ctx, end); !stored || err != nil {
		c.run = nil
	}
	return q
}

// Create stores a new run that is held in common. Errors: journal.ErrExists; *journal.BusyError; journal.ErrNoCommon; the engine's.
func (cs *Commons) Create(ctx context.Context, p *Prepared) (err error) {
	id, run := p.Run, NewRun(p.Plan, p.Run)
	dec, err := activate(run, engine.Input{At: p.New.Created, Data: p.Start})
	if err != nil {
		return err
	}
	ap, err := NewAppend(run, id, dec.Events, nil, cs.keepsEvents)
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
		if err == nil || IsPermanent(err) || ctx.Err() != nil || errors.Is(err, journal.ErrBusy) || errors.Is(err, journal.ErrNoCommon) {
			break
		}
		if errors.Is(err, journal.ErrExists) {
			if stored, rerr := HasStored(ctx, cs.cfg.Store, ap); stored && rerr == nil && wait > 20*time.Millisecond {
				err = nil // by a former attempt, whose answer was lost
			}
			break
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return fmt.Errorf("start run %s: %w", id, err)
		}
	}
	if err == nil && cs.cfg.Stored != nil {
		cs.cfg.Stored(id, dec.Events)
	}
	return err
}

// activate gives a new run its first input.
func activate(run *engine.Run, in engine.Input) (dec engine.Decision, err error) {
	defer Recovered(&err)
	return run.Activate([]engine.Input{in})
}
