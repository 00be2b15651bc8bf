package embedded

import (
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/driver/held"
	"github.com/hocket-run/hocket/internal/engine"
)

// decide activates a batch in order of arrival: first what the run's former owner left, then
// results together, and everything else individually. It returns one decision for all of it. A
// sender's mistakes are reported to the sender; an error is an internal error.
func (a *actor) decide(batch []*message) (dec engine.Decision, err error) {
	defer held.Recovered(&err)
	a.decided = time.Now()
	ended := a.run.Status().Ended() // a recovery may end it, as the resume requests
	add := func(inputs ...engine.Input) error {
		part, err := a.run.Activate(inputs)
		if len(dec.Events)+len(dec.Commands) == 0 {
			dec = part
			return err
		}
		dec.Events = append(dec.Events, part.Events...)
		dec.Commands = append(dec.Commands, part.Commands...)
		return err
	}
	if a.takeover && !cancels(batch) {
		lost, err := a.lost()
		if err != nil {
			return dec, err
		}
		in := engine.Input{At: batch[0].at, Data: engine.Recovered{Lost: lost, Trace: batch[0].trace}}
		if err := add(in); err != nil && !held.IsRefusal(err) {
			return dec, err
		}
	}
	early := map[*message]bool{}
	if a.fresh {
		if err := a.passDeadlines(batch, early, add); err != nil {
			return dec, err
		}
	}
	group := a.group[:0]
	defer func() {
		clear(group)
		a.group = group
	}()
	flush := func() error {
		if len(group) == 0 {
			return nil
		}
		err := add(group...)
		if err != nil && held.IsRefusal(err) { // one result is stale; the others count
			err = nil
			for _, in := range group {
				if e := add(in); e != nil && !held.IsRefusal(e) {
					err = e
				}
			}
		}
		clear(group)
		group = group[:0]
		return err
	}
	for _, m := range batch {
		if early[m] {
			continue
		}
		m.refused = nil
		if m.data == nil {
			if m.resume && ended {
				m.refused = engine.ErrEnded
			}
			continue
		}
		in := engine.Input{At: m.at, Data: m.data}
		if m.done == nil && engine.IsResult(m.data) {
			group = append(group, in)
			continue
		}
		if err := flush(); err != nil {
			return dec, err
		}
		if err := add(in); err != nil {
			if !held.IsRefusal(err) {
				return dec, err
			}
			m.refused = err
		}
	}
	return dec, flush()
}

// passDeadlines fires the timers of waits that are due in a run that was just read (D21). An answer
// that was left in the store before a deadline takes precedence over it; early records the messages
// that were passed to the engine.
func (a *actor) passDeadlines(batch []*message, early map[*message]bool, add func(...engine.Input) error) error {
	for _, t := range held.Due(a.run, batch[0].at) {
		for _, m := range batch {
			if _, ok := m.data.(engine.Answer); !ok || early[m] || !m.submitted().Before(t.At) {
				continue
			}
			early[m], m.refused = true, nil
			if err := add(engine.Input{At: m.at, Data: m.data}); err != nil {
				if !held.IsRefusal(err) {
					return err
				}
				m.refused = err
			}
		}
		if !slices.ContainsFunc(a.run.Open(), func(c engine.Command) bool {
			o, ok := c.(*engine.StartTimer)
			return ok && o.ID == t.ID
		}) {
			continue
		}
		if err := add(engine.Input{At: batch[0].at, Data: engine.TimerDue{ID: t.ID}}); err != nil {
			return err
		}
	}
	return nil
}

// stopsDeciding reports whether the decision in progress is to be cut short.
func (a *actor) stopsDeciding() bool {
	return a.ctx.Err() != nil || time.Since(a.decided) >= held.MaxDecision
}

func cancels(batch []*message) bool {
	for _, m := range batch {
		if _, ok := m.data.(engine.Cancel); ok {
			return true
		}
	}
	return false
}
