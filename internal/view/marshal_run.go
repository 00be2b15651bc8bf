package view

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/journal"
	"github.com/hocket-run/hocket/internal/project"
)

const (
	// Limit is the size in bytes above which a value is shown as a reference.
	Limit = 32 << 10
	// composedLimit is Limit for objects that Hocket itself composed from values: outputs of
	// parallel blocks. Those values are references in it.
	composedLimit = 8 * Limit
	// refBytes is the approximate length of a reference.
	refBytes = 700
)

// seal prepares the values of a run object for writing.
func (r *Reader) seal(o *project.Run) {
	o.Input, o.Output = r.sealed(o.Input), r.sealed(o.Output)
	for _, values := range []map[string]event.Value{o.Outputs, o.State} {
		for name, v := range values {
			values[name] = r.sealed(v)
		}
	}
	for i := range o.Steps {
		s := &o.Steps[i]
		s.Input, s.Output = r.sealed(s.Input), r.sealed(s.Output)
	}
	for i := range o.Waiting {
		w := &o.Waiting[i]
		w.Input, w.Arguments, w.Schema = r.sealed(w.Input), r.sealed(w.Arguments), r.sealed(w.Schema)
	}
}

// sealed returns a single token for a value that is long although its parts have tokens, or that
// was never in an event in this form.
func (r *Reader) sealed(v event.Value) event.Value {
	if len(v) == 0 || r.table.lone(v) != nil {
		return v
	}
	size, parts, text := len(v), 0, string(v)
	for i := 0; ; parts++ {
		at, one := r.table.next(text, i)
		if one == nil {
			break
		}
		if i = at + len(one.token); one.from == inline && one.Bytes <= Limit {
			size += int(one.Bytes)
		} else {
			size += refBytes
		}
	}
	switch {
	case parts > 0 && size > composedLimit:
		return r.table.compose(text, false).quoted()
	case parts == 0 && (size > shortBytes || isReserved(v)):
		ref := r.table.inline(journal.Leaf{Value: v}, 0)
		ref.always = ref.always || isReserved(v)
		return ref.quoted()
	}
	return v
}

// Event returns an event as a line that is ready to be written. e may be an event that a folder
// expanded.
func (r *Reader) Event(e event.Event) (json.RawMessage, error) {
	switch d := e.Data.(type) {
	case *event.StepStarted:
		c := *d
		c.Input = r.sealed(d.Input)
		e.Data = &c
	case *event.StepCompleted:
		c := *d
		c.Output = r.sealed(d.Output)
		e.Data = &c
	case *event.RunCompleted:
		c := *d
		c.Output = r.sealed(d.Output)
		e.Data = &c
	}
	return journal.MarshalEvent(r.run, e)
}
