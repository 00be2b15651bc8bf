package typed

import (
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync/atomic"
)

// State is a typed state: values by field name. It is immutable. The zero State has no fields.
type State struct {
	fields []field // sorted by name
	native any     // the native form, a *cell that may hold it, or nil
}

// cell is where [State.KeepNative] stores the native form of a state.
type cell struct{ native atomic.Pointer[any] }

type field struct {
	name  string
	value *Value
}

// StateOf returns the state with the given fields, written by step.
func StateOf(fields map[string]json.RawMessage, step int) State {
	s := State{fields: make([]field, 0, len(fields))}
	for name, v := range fields {
		s.fields = append(s.fields, field{name, Of(v, step)})
	}
	slices.SortFunc(s.fields, func(a, b field) int { return strings.Compare(a.name, b.name) })
	return s
}

// Len returns the number of fields.
func (s State) Len() int { return len(s.fields) }

func (s State) find(name string) (int, bool) {
	return slices.BinarySearchFunc(s.fields, name, func(f field, name string) int {
		return strings.Compare(f.name, name)
	})
}

// Value returns the value of a field, or nil if there is none.
func (s State) Value(name string) *Value {
	if i, ok := s.find(name); ok {
		return s.fields[i].value
	}
	return nil
}

// Get returns the JSON of a field, or nil if there is none. It must not be modified.
func (s State) Get(name string) json.RawMessage { return s.Value(name).JSON() }

// All returns the fields in the order of their names.
func (s State) All() iter.Seq2[string, *Value] {
	return func(yield func(string, *Value) bool) {
		for _, f := range s.fields {
			if !yield(f.name, f.value) {
				return
			}
		}
	}
}

// Map returns the JSON of all fields by name, or nil if there are none. The caller owns the map,
// but not the values.
func (s State) Map() map[string]json.RawMessage {
	if len(s.fields) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(s.fields))
	for _, f := range s.fields {
		out[f.name] = f.value.JSON()
	}
	return out
}

// Names returns the names of the fields, in order.
func (s State) Names() iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, f := range s.fields {
			if !yield(f.name) {
				return
			}
		}
	}
}

// Native returns the value set by [State.WithNative] or [State.KeepNative]: the program's own form
// of the state, or nil if there is none.
func (s State) Native() any {
	if c, ok := s.native.(*cell); ok {
		if v := c.native.Load(); v != nil {
			return *v
		}
		return nil
	}
	return s.native
}

// WithNative returns s with the program's own form of it, which must never change and must not
// contain anything that the fields do not. If v is nil, [State.KeepNative] may set it later.
func (s State) WithNative(v any) State {
	if s.native = v; v == nil {
		s.native = new(cell)
	}
	return s
}

// KeepNative sets the native form of a state for which [State.WithNative] was called with nil, for
// all copies of it, unless it was already set. It is safe for concurrent use.
func (s State) KeepNative(v any) {
	if c, ok := s.native.(*cell); ok {
		c.native.CompareAndSwap(nil, &v)
	}
}

// Same reports whether s and t are the same state: no step has changed a field between them.
func (s State) Same(t State) bool {
	return len(s.fields) == len(t.fields) && (len(s.fields) == 0 || &s.fields[0] == &t.fields[0])
}

// With returns s with changed fields. If there are any, the new state has no native form.
func (s State) With(changes Changes) State {
	if len(changes) == 0 {
		return s
	}
	fresh := 0
	for _, c := range changes {
		if _, ok := s.find(c.Field); !ok {
			fresh++
		}
	}
	out := State{fields: append(make([]field, 0, len(s.fields)+fresh), s.fields...)}
	for _, c := range changes {
		i, ok := out.find(c.Field)
		if !ok {
			out.fields = slices.Insert(out.fields, i, field{name: c.Field})
		}
		out.fields[i].value = c.Value
	}
	return out
}

// Change is a field with its new value.
type Change struct {
	Field string
	Value *Value
}

// Changes are the changes of one step, sorted by field.
type Changes []Change

// Value returns the new value of a field, or nil if it did not change.
func (c Changes) Value(name string) *Value {
	for i := range c {
		if c[i].Field == name {
			return c[i].Value
		}
	}
	return nil
}

// Map returns the JSON of the new values by field, or nil if there are none.
func (c Changes) Map() map[string]json.RawMessage {
	if len(c) == 0 {
		return nil
	}
	out := make(map[string]json.RawMessage, len(c))
	for _, one := range c {
		out[one.Field] = one.Value.JSON()
	}
	return out
}

// ChangesOf returns the changes of a step: whole new values, and edits of values of s. Changes that
// Check rejects are left out.
func (s State) ChangesOf(whole map[string]json.RawMessage, edits []Edit, step int) Changes {
	if len(whole)+len(edits) == 0 {
		return nil
	}
	if len(whole) == 1 && len(edits) == 0 { // the usual case
		for name, v := range whole {
			one := &struct {
				changes [1]Change
				value   Value
			}{value: Value{head: v, step: step}}
			one.changes[0] = Change{name, &one.value}
			return one.changes[:]
		}
	}
	return s.ChangesBy((*Value).Edited, whole, edits, step)
}

// ChangesBy is [State.ChangesOf] for values edited with edited, which behaves like [Value.Edited].
func (s State) ChangesBy(edited func(v *Value, e *Edit, step int) (*Value, error), whole map[string]json.RawMessage,
	edits []Edit, step int) Changes {
	out := make(Changes, 0, len(whole)+len(edits))
	for name, v := range whole {
		out = append(out, Change{name, Of(v, step)})
	}
	for i := range edits {
		old := s.Value(edits[i].Field)
		if old == nil {
			continue
		}
		if v, err := edited(old, &edits[i], step); err == nil {
			out = append(out, Change{edits[i].Field, v})
		}
	}
	slices.SortStableFunc(out, func(a, b Change) int { return strings.Compare(a.Field, b.Field) })
	return slices.CompactFunc(out, func(a, b Change) bool { return a.Field == b.Field })
}

// Check returns an error if changes from disk cannot be applied to s. The error is ErrEdit,
// wrapped.
func (s State) Check(whole map[string]json.RawMessage, edits []Edit) error {
	for i := range edits {
		field := edits[i].Field
		if err := edits[i].Check(s.Value(field)); err != nil {
			return err
		}
		if _, again := whole[field]; again || slices.ContainsFunc(edits[:i], func(e Edit) bool {
			return e.Field == field
		}) {
			return fmt.Errorf("%w: field %q is changed twice", ErrEdit, field)
		}
	}
	return nil
}

// Shorten returns changed fields in the form in which they are stored, whole or as edits of values
// of s, sorted by name. grown are further fields that gained a tail. It does not modify fields.
func (s State) Shorten(fields map[string]json.RawMessage, grown ...Growth) (
	whole map[string]json.RawMessage, edits []Edit) {
	for i := range grown {
		if grown[i].base != s.Value(grown[i].field) { // it belongs to another state
			fields, grown = Whole(fields, grown), nil
			break
		}
	}
	for name, v := range fields {
		if e, ok := Between(name, s.Value(name), v); ok {
			edits = append(edits, e)
		}
	}
	short := len(edits)
	for i := range grown {
		edits = append(edits, grown[i].edit())
	}
	if len(edits) > 1 {
		slices.SortFunc(edits, func(a, b Edit) int { return strings.Compare(a.Field, b.Field) })
	}
	if short == 0 {
		return fields, edits
	}
	for name, v := range fields {
		if slices.ContainsFunc(edits, func(e Edit) bool { return e.Field == name }) {
			continue
		}
		if whole == nil {
			whole = make(map[string]json.RawMessage, len(fields)-short)
		}
		whole[name] = v
	}
	return whole, edits
}
