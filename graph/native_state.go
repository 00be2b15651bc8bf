package graph

import (
	"bytes"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/hocket-run/hocket/internal/program"
)

// native is a state as a Go value: the result of decoding its fields. It is immutable, and shares
// memory with the previous states. Fields without a form are zero in it; they are decoded again for
// each function.
type native[S any] struct {
	codec *codec[S]
	value S
	// exact has a bit for each field whose JSON equals the encoding of value, so that appended data
	// can be detected. Fields above 63 have none.
	exact uint64
	rooms []spareCapacity
}

// spareCapacity is spare memory after a list, to which lists that extend one another append.
type spareCapacity struct {
	field int
	used  *atomic.Int64 // number of elements in use by some list
}

func (n *native[S]) isExact(field int) bool { return n.exact>>field&1 != 0 }

func (n *native[S]) setExact(field int, exact bool) {
	n.exact &^= 1 << field
	if exact {
		n.exact |= 1 << field
	}
}

// base returns the native form of a state, or nil if the slow path must be taken.
func (c *codec[S]) base(state program.State) *native[S] {
	if c.slowPath {
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

// foldsAny reports whether the state has a name that JSON matches to a field only
// case-insensitively.
func (c *codec[S]) foldsAny(state program.State) bool {
	for name := range state.Names() {
		if _, known := c.index[name]; !known && c.matchesFold(name) {
			return true
		}
	}
	return false
}

// next returns the native form of the state that a function made from base: is, which differs from
// base in the fields of list. It returns nil if there is none, because the state would change when
// encoded and decoded.
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

// room returns the counter of the spare capacity after a list, or nil if there is none. It is
// harmless if it belongs to another list that the field held before: each length is handed out only
// once.
func (n *native[S]) room(field int) *atomic.Int64 {
	for _, r := range n.rooms {
		if r.field == field {
			return r.used
		}
	}
	return nil
}

// grow appends to to, a string or a list, the elements that from has beyond it. If several lists
// extend the same list concurrently, they do not conflict: the first gets the spare memory.
func (n *native[S]) grow(field int, f form, to, from reflect.Value) bool {
	if _, ok := f.(textForm); ok {
		to.SetString(from.String()) // it was built by appending and need not be copied
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
		n.rooms = slices.DeleteFunc(slices.Clone(n.rooms), func(r spareCapacity) bool { return r.field == field })
		n.rooms = append(n.rooms, spareCapacity{field, used})
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
