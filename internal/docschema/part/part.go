package part

import (
	"maps"
	"slices"
)

// Object is a part of a schema.
type Object = map[string]any

// KeySchema is the key under which JSON documents name their schema. It has no effect on the run.
const KeySchema = "$schema"

// With adds a description to s; "" adds none.
func With(s Object, doc string) Object {
	if doc != "" {
		s["description"] = doc
	}
	return s
}

// Typed is a value of one of the given types, or null.
func Typed(doc string, types ...string) Object {
	return With(Object{"type": append(types, "null")}, doc)
}

// Word is a string.
func Word(doc string) Object { return Typed(doc, "string") }

// Scalar is a string that may be left unquoted.
func Scalar(doc string) Object { return Typed(doc, "string", "number", "boolean") }

// Flag is a boolean.
func Flag(doc string) Object { return Typed(doc, "boolean") }

// Number is a number.
func Number(doc string) Object { return Typed(doc, "number") }

// Anything is any value.
func Anything(doc string) Object {
	return With(Object{}, doc)
}

// Whole is an integer with the minimum least.
func Whole(doc string, least int) Object {
	s := Typed(doc, "integer")
	s["minimum"] = least
	return s
}

// OneOf is one of the given strings, or null.
func OneOf(doc string, values ...string) Object {
	all := make([]any, 0, len(values)+1)
	for _, v := range values {
		all = append(all, v)
	}
	return With(Object{"enum": append(all, nil)}, doc)
}

// List is a list of items.
func List(doc string, item Object) Object {
	s := Typed(doc, "array")
	s["items"] = item
	return s
}

// Texts is a list of strings that may be left unquoted.
func Texts(doc string) Object {
	return List(doc, Object{"type": []string{"string", "number", "boolean"}})
}

// WordList is a list of strings.
func WordList(doc string) Object { return List(doc, Object{"type": "string"}) }

// MapOf is a map with arbitrary keys, chosen by users.
func MapOf(doc string, item Object) Object {
	s := Typed(doc, "object")
	s["additionalProperties"] = item
	return s
}

// Section is a map of known keys. The required keys must be present, and must not be null if their
// type excludes it.
func Section(doc string, properties Object, required ...string) Object {
	s := With(Object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}, doc)
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// Entry is a section that must be a map, not null.
func Entry(doc string, properties Object, required ...string) Object {
	s := Section(doc, properties, required...)
	s["type"] = "object"
	return s
}

// Needed removes null from the types of a value.
func Needed(s Object) Object {
	if types, ok := s["type"].([]string); ok {
		s["type"] = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	}
	if values, ok := s["enum"].([]any); ok {
		s["enum"] = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
	}
	return s
}

// ID is a required, non-empty string.
func ID(doc string) Object {
	s := Needed(Scalar(doc))
	s["minLength"] = 1
	return s
}

// Either accepts any of the given forms.
func Either(doc string, forms ...Object) Object {
	all := make([]any, len(forms))
	for i, f := range forms {
		all[i] = f
	}
	return With(Object{"anyOf": all}, doc)
}

// Join merges maps of properties; later ones take precedence.
func Join(all ...Object) Object {
	out := Object{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// Idle returns keys that are read but have no effect.
func Idle(doc string, names ...string) Object {
	out := Object{}
	for _, name := range names {
		out[name] = With(Object{"deprecated": true}, doc)
	}
	return out
}

// Kept returns keys that editors and stores write for themselves.
func Kept(names ...string) Object {
	out := Object{}
	for _, name := range names {
		out[name] = Object{}
	}
	return out
}

// Ref refers to a definition of the schema.
func Ref(name string) Object { return Object{"$ref": "#/$defs/" + name} }

// Properties returns the keys of a part as its reader knows them: the keys in works with their
// forms, and the keys of editors in keep unrestricted.
func Properties(works, keep []string, forms Object) Object {
	out := Kept(keep...)
	for _, key := range works {
		out[key] = Object{}
		if form, ok := forms[key]; ok {
			out[key] = form
		}
	}
	return out
}

// Present requires a key to be present and not null.
func Present(key string) Object {
	return Object{"required": []string{key}, "properties": Object{key: Object{"not": Object{"type": "null"}}}}
}

// KeyExpressions is the schema key that tells editors which expressions strings contain. Validators
// do not know it.
const KeyExpressions = "x-expressions"

// KeyWords is the key, in the schema of a format, that lists the words of expressions for editors.
const KeyWords = "x-words"

// The values of [KeyExpressions]. They apply to all strings in a value.
const (
	ExpressionValue     = "value"     // any expression or token, between {{ and }}
	ExpressionCondition = "condition" // the string is a condition
	ExpressionPrompt    = "prompt"    // tokens; with inputs, as ExpressionValue
	ExpressionTemplate  = "template"  // tokens; with inputs, references between {{ and }} too
	ExpressionTurn      = "turn"      // with inputs, any expression of them between {{ and }}
	ExpressionOutput    = "output"    // as ExpressionValue after the last step: no tokens
	ExpressionInput     = "input"     // any expression of the input only, between {{ and }}
)

// Expressions records which expressions the strings of a value contain.
func Expressions(s Object, kind string) Object {
	s[KeyExpressions] = kind
	return s
}
