package program

import (
	"encoding/json"
	"iter"
	"maps"
)

// StateOf returns the state with those fields, which must not be modified. It has no native form,
// and none of its fields can grow.
func StateOf(f Fields) State { return fieldState(f) }

type fieldState Fields

func (f fieldState) Get(name string) json.RawMessage { return f[name] }
func (f fieldState) Map() map[string]json.RawMessage { return maps.Clone(f) }
func (f fieldState) Names() iter.Seq[string]         { return maps.Keys(f) }
func (fieldState) Native() any                       { return nil }
func (fieldState) KeepNative(any)                    {}
func (fieldState) CanGrow(string) bool               { return false }

// Whole returns all changed fields of a result. s is the state that its function saw.
func (r *Result) Whole(s State) Fields {
	if len(r.Grown) == 0 {
		return r.Update
	}
	out := make(Fields, len(r.Update)+len(r.Grown))
	maps.Copy(out, r.Update)
	for _, t := range r.Grown {
		base := s.Get(t.Field)
		at := len(base) - 1
		v := append(make(Value, 0, len(base)+len(t.Text)), base[:at]...)
		out[t.Field] = append(append(v, t.Text...), base[at])
	}
	return out
}
