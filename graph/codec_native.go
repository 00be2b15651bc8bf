package graph

import (
	"bytes"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/program"
)

// native is a state as a Go value: what decoding its fields gives. It never changes, and shares what it has in common with the states before it. Fields without
// a form are zero in it; they are decoded anew for each function.
type native[S any] struct {
	codec *codec[S]
	value S
	// exact has a bit for each field whose JSON is what encoding value gives, so that what it gained can be told apart. Fields above 63 have none.
	exact uint64
	rooms []room
}

// room is memory behind a list to which lists that extend one another add.
type room struct {
	field int
	used  *atomic.Int64 // elements that some list has
}

func (n *native[S]) isExact(field int) bool { return n.exact>>field&1 != 0 }

func (n *native[S]) setExact(field int, exact bool) {
	n.exact &^= 1 << field
	if exact {
		n.exact |= 1 << field
	}
}

// base gives the native form of a state. Nil: the plain way must be taken.
func (c *codec[S]) base(state program.State) *native[S] {
	if c.plain {
		return nil
	}
	if n, ok := state.Native().(*native[S]); ok && n.codec == c {
		return n
	}
	n := &native[S]{codec: c}
	v, r := reflect.ValueOf(&n.value).Elem(), new(reader)
	for i := range c.fields {
		f := &c.fields[i]
		raw := state.Get(f.name)
		if raw == nil {
			continue
		}
		if f.form == nil {
			continue
		}
		canon, ok := f.read(r, raw, f.in(v), true)
		if !ok {
			return nil
		}
		n.setExact(i, canon != nil && bytes.Equal(canon, raw))
	}
	if c.foldsAny(state) {
		return nil
	}
	state.KeepNative(n)
	return n
}

// foldsAny tells whether JSON takes a name of the state, that of no field, for that of one.
func (c *codec[S]) foldsAny(state program.State) bool {
	for name := range state.Names() {
		if _, known := c.index[name]; !known && c.folds(name) {
			return true
		}
	}
	return false
}

// next gives the native form of the state that a function made of base: is, which differs from it in the fields of list. Nil: there is none, as the
// state would not be the same once it was encoded and decoded.
func (c *codec[S]) next(base *native[S], list []difference, is reflect.Value) *native[S] {
	if !slices.ContainsFunc(list, func(d difference) bool { return c.fields[d.field].form != nil }) {
		return base
	}
	n := &native[S]{codec: c, value: base.value, exact: base.exact, rooms: base.rooms}
	was, v := reflect.ValueOf(&base.value).Elem(), reflect.ValueOf(&n.value).Elem()
	for _, d := range list {
		f := &c.fields[d.field]
		if f.form == nil {
			continue
		}
		to, from, ok := f.in(v), f.in(is), true
		switch {
		case d.grew:
			ok = n.grow(d.field, f.form, to, from)
		case d.to < 0:
			to.SetZero()
		default:
			to.SetZero()
			ok = f.form.take(to, from, f.in(was))
		}
		if !ok {
			return nil
		}
		n.setExact(d.field, d.to >= 0 && f.stable)
	}
	return n
}

// room gives the memory behind a list. That of another list, which the field had before, does no harm: a length is given away once.
func (n *native[S]) room(field int) *atomic.Int64 {
	for _, r := range n.rooms {
		if r.field == field {
			return r.used
		}
	}
	return nil
}

// grow gives to, a text or a list, what from has behind it. Lists that extend the same one at the same time do not meet: the first one has the room.
func (n *native[S]) grow(field int, f form, to, from reflect.Value) bool {
	if _, ok := f.(textForm); ok {
		to.SetString(from.String()) // which was put together for the purpose
		return true
	}
	have, want := to.Len(), from.Len()
	if used := n.room(field); used != nil && want <= to.Cap() && used.CompareAndSwap(int64(have), int64(want)) {
		to.SetLen(want)
	} else {
		old := to.Slice(0, have)
		to.SetZero()
		to.Grow(want + want/2 + 4)
		to.SetLen(want)
		reflect.Copy(to, old)
		used := new(atomic.Int64)
		used.Store(int64(want))
		n.rooms = slices.DeleteFunc(slices.Clone(n.rooms), func(r room) bool { return r.field == field })
		n.rooms = append(n.rooms, room{field, used})
	}
	var elem form = textForm{}
	if l, ok := f.(listForm); ok {
		elem = l.elem
	}
	for i := have; i < want; i++ {
		e := to.Index(i)
		e.SetZero()
		if !elem.take(e, from.Index(i), reflect.Value{}) {
			return false
		}
	}
	return true
}
