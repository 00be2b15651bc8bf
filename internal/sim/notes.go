package sim

import (
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/hocket-run/hocket/internal/driver"
	"github.com/hocket-run/hocket/internal/engine"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// Once runs a sub-step of a function and has its result noted, unless the call already contains the
// note. Sub-steps are checked against the journal as calls are, see Wrong: one with a stored note
// is not run again (D8), and an accepted note is stored (D7). Once returns the errors of do and of
// rec.
func (w *World) Once(run string, c *engine.CallFunc, rec driver.Caller, key string, do func() (event.Value, error)) (
	event.Value, error) {
	if i := slices.IndexFunc(c.Notes, func(n loop.Note) bool { return n.Key == key }); i >= 0 {
		return c.Notes[i].Value, nil
	}
	w.mu.Lock()
	journal := w.journal
	w.mu.Unlock()
	stands := func() bool {
		return slices.ContainsFunc(journal(run), func(e event.Event) bool {
			d, ok := e.Data.(*event.FuncNoted)
			return ok && e.Step == c.Step && d.Key == key
		})
	}
	name := fmt.Sprintf("%s.%d/%s", c.Node, c.Step, key)
	before := journal != nil && stands()
	v, err := do()
	if err != nil {
		return nil, err
	}
	err = rec.Record(engine.FuncNote{ID: c.ID, Key: key, Value: v})
	w.mu.Lock()
	if w.notes == nil {
		w.notes = map[string]int{}
	}
	w.notes[name]++
	w.mu.Unlock()
	// A process that lost the run cannot know that the note is stored, and cannot store its own.
	mine := err == nil || errors.Is(err, loop.ErrNote)
	switch {
	case before && mine:
		w.blame("sub-step " + name + " was done again though its note is in the journal (D8)")
	case err == nil && journal != nil && !stands():
		w.blame("the note of sub-step " + name + " was taken and is not in the journal (D7)")
	}
	return v, err
}

// Noted returns how often sub-steps were run, by node.step/key.
func (w *World) Noted() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.notes)
}

func (w *World) blame(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.wrong = append(w.wrong, what)
}
