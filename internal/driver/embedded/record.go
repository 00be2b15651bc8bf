package embedded

import (
	"errors"

	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/text"
)

// Record implements driver.Caller. The actor always answers: it commits the note, or returns the
// reason why it does not.
func (c *callContext) Record(note engine.FuncNote) error {
	reply := make(chan error, 1)
	a := c.actor
	a.deliver(&message{at: a.d.now(), data: note, done: func(err error) { reply <- err }})
	return <-reply
}

// isNote reports whether a call in flight waits for the outcome of the message.
func isNote(m *message) bool {
	switch m.data.(type) {
	case engine.FuncNote, engine.ChildStart, engine.CallUse, engine.CallReserve:
		return true
	}
	return false
}

// commitFinal commits a message of a call that was stopped, while the run still belongs to this
// process. After an error nothing more may be committed: the run in memory may be ahead of its
// journal.
func (a *actor) commitFinal(m *message) (err error) {
	defer text.Recover(&err)
	if a.takeover || !a.owned || requestsBudget(m) {
		return errStopped
	}
	dec, err := a.decide([]*message{m})
	if err != nil {
		return err
	}
	if asksForTool(dec) {
		return a.reread()
	}
	if len(dec.Events) == 0 {
		return nil
	}
	if ok, err := a.commit(dec, nil); !ok || err != nil {
		return errors.Join(errStopped, err)
	}
	a.publish(dec.Events)
	return nil
}
