package project

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/jsontext"
)

// items holds the items of a map: their values and their outputs. Details of an item are forgotten
// once it has ended.
type items struct {
	values []event.Value
	done   []item
	// ended and failed count the items of the current attempt.
	ended, failed int
}

type item struct {
	output  event.Value
	failure *event.Failure
	ended   bool
}

// openItems reads the list of a map once.
func (f *Folder) openItems(st *step) {
	if st.items == nil {
		values, _ := jsontext.Items(f.input(st))
		st.items = &items{values: values, done: make([]item, len(values))}
	}
}

// beginItem sets the value of an item's scope.
func (f *Folder) beginItem(st *step, sc *scope, place int) {
	if st.def.Map == nil {
		return
	}
	sc.place = place
	if f.openItems(st); place <= len(st.items.values) {
		sc.item = st.items.values[place-1]
	}
	for len(st.items.done) < place { // a reader holds the list as a token
		st.items.done = append(st.items.done, item{})
	}
}

// endItem records the output of an item.
func (f *Folder) endItem(st *step, d *event.EdgeTaken) {
	sc := st.branches[d.Branch]
	if sc == nil || d.Branch > len(st.items.done) {
		return
	}
	at := &st.items.done[d.Branch-1]
	switch {
	case sc.failed:
		at.failure = sc.failure
		st.items.failed++
	case sc.last != nil:
		at.output = sc.last.output
	}
	at.ended = true
	st.items.ended++
	delete(st.branches, d.Branch)
	f.closeItem(st, sc)
}

// closeItem forgets the details of an item's scope.
func (f *Folder) closeItem(st *step, sc *scope) {
	if f.forget != nil {
		f.forget.owners[sc.n] = st.n
		delete(f.scopes, sc.n)
	}
	*sc = scope{n: sc.n, flow: sc.flow, prefix: sc.prefix, owner: sc.owner, item: sc.item, place: sc.place}
}

// closeItems forgets the details of the running items of a map that has ended or is retried.
func (f *Folder) closeItems(st *step) {
	if st.def.Map == nil {
		return
	}
	for _, sc := range st.branches {
		if sc.failed && st.items != nil {
			st.items.failed++
		}
		f.closeItem(st, sc)
	}
	st.branches = nil
}

// resetFailed forgets the failed items; the other items do not run again.
func (m *items) resetFailed() {
	if m == nil {
		return
	}
	for i := range m.done {
		if m.done[i].failure != nil {
			m.done[i] = item{}
			m.ended--
		}
	}
	m.failed = 0
}

// list returns the output of a map, with the failures of items in their positions if collect is
// set.
func (m *items) list(collect bool) event.Value {
	out := event.Value("[")
	for i := range m.done {
		if i > 0 {
			out = append(out, ',')
		}
		switch one := &m.done[i]; {
		case one.failure != nil && collect:
			out = append(out, one.failure.InList()...)
		case one.failure == nil && len(one.output) > 0:
			out = append(out, one.output...)
		default:
			out = append(out, "null"...)
		}
	}
	return append(out, ']')
}

// counts returns the progress of a map. A map that is not running has no running items.
func (f *Folder) counts(st *step) *Items {
	if st.items == nil {
		return nil
	}
	c := &Items{Total: len(st.items.done), Done: st.items.ended - st.items.failed, Failed: st.items.failed}
	switch f.stepStatus(st) {
	case StepRunning, StepWaiting:
		c.Running = len(st.branches)
	}
	return c
}

// itemOf returns the map and the item that a scope is in, or false if it is in none. For nested
// maps it is the inner one.
func itemOf(sc *scope) (m *step, item int, ok bool) {
	for ; sc != nil && sc.owner != nil; sc = sc.owner.scope {
		if sc.place > 0 {
			return sc.owner, sc.place - 1, true
		}
	}
	return nil, 0, false
}
