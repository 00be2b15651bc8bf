package typed

import (
	"encoding/json"
	"maps"
)

// Growth is a change of one field whose value gained a tail: text is inserted before the last byte
// of base.
type Growth struct {
	field string
	base  *Value
	text  string
}

// CanGrow reports whether [State.Grown] accepts a tail for a field. It is false for values so small
// that they are stored whole.
func (s State) CanGrow(name string) bool {
	v := s.Value(name)
	return v != nil && v.Len() >= minSaved && v.hasContent()
}

// Grown returns the change of a field for which [State.CanGrow] is true and which gains text:
// further elements, each after a comma, or the JSON of further text without its quotation marks.
// The resulting edit is the one that [Between] returns for the whole value, provided the former
// JSON is written as the value's encoder writes it.
func (s State) Grown(name, text string) Growth { return Growth{name, s.Value(name), text} }

func (g *Growth) edit() Edit {
	at := g.base.Len() - 1
	return Edit{Field: g.field, Base: g.base.step, Size: at + 1, From: at, To: at, Text: g.text}
}

// Field returns the name of the field.
func (g *Growth) Field() string { return g.field }

// Check returns an error if the grown field would not be JSON. The error is ErrEdit, wrapped.
func (g *Growth) Check() error {
	if g.base == nil {
		return (&Edit{Field: g.field}).Check(nil)
	}
	e := g.edit()
	return e.Check(g.base)
}

// JSON returns the whole value.
func (g *Growth) JSON() json.RawMessage {
	e := g.edit()
	return e.apply(g.base.JSON())
}

// Whole returns the changed fields including those that grew. It does not modify fields.
func Whole(fields map[string]json.RawMessage, grown []Growth) map[string]json.RawMessage {
	if len(grown) == 0 {
		return fields
	}
	out := make(map[string]json.RawMessage, len(fields)+len(grown))
	maps.Copy(out, fields)
	for i := range grown {
		out[grown[i].field] = grown[i].JSON()
	}
	return out
}
