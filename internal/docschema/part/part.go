package part

import (
	"maps"
	"slices"
)

// Object is a part of a schema.
type Object = map[string]any

// KeySchema is the key under which JSON documents name their schema. It says nothing about the run.
const KeySchema = "$schema"

// With adds a description; "" adds none.
func With(s Object, doc string) Object {
	if doc != "" {
		s["description"] = doc
	}
	return s
}

// Typed is a value of one of some types, or null.
func Typed(doc string, types ...string) Object {
	return With(Object{"type": append(types, "null")}, doc)
}

// Word is a text.
func Word(doc string) Object { return Typed(doc, "string") }

// Scalar is a text that may be left unquoted.
func Scalar(doc string) Object { return Typed(doc, "string", "number", "boolean") }

// Flag is true or false.
func Flag(doc string) Object { return Typed(doc, "boolean") }

// Number is a number.
func Number(doc string) Object { return Typed(doc, "number") }

// Anything is any value.
func Anything(doc string) Object {
	return With(Object{}, doc)
}

// Whole is an integer with a minimum.
func Whole(doc string, least int) Object {
	s := Typed(doc, "integer")
	s["minimum"] = least
	return s
}

// OneOf is one of some texts, or null.
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

// Texts is a list of texts that may be left unquoted.
func Texts(doc string) Object {
	return List(doc, Object{"type": []string{"string", "number", "boolean"}})
}

// WordList is a list of texts.
func WordList(doc string) Object { return List(doc, Object{"type": "string"}) }

// MapOf is a map of names that people choose.
func MapOf(doc string, item Object) Object {
	s := Typed(doc, "object")
	s["additionalProperties"] = item
	return s
}

// Section is a map of known keys. required ones must be there and not be null, where their type says so.
func Section(doc string, properties Object, required ...string) Object {
	s := With(Object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}, doc)
	if len(required) > 0 {
		s["required"] = required
	}
	return s
}

// Entry is a section that must be a map.
func Entry(doc string, properties Object, required ...string) Object {
	s := Section(doc, properties, required...)
	s["type"] = "object"
	return s
}

// Needed takes null from the types of a value.
func Needed(s Object) Object {
	if types, ok := s["type"].([]string); ok {
		s["type"] = slices.DeleteFunc(slices.Clone(types), func(t string) bool { return t == "null" })
	}
	if values, ok := s["enum"].([]any); ok {
		s["enum"] = slices.DeleteFunc(slices.Clone(values), func(v any) bool { return v == nil })
	}
	return s
}

// ID is a text that must be there and not be empty.
func ID(doc string) Object {
	s := Needed(Scalar(doc))
	s["minLength"] = 1
	return s
}

// Either takes one of several forms.
func Either(doc string, forms ...Object) Object {
	all := make([]any, len(forms))
	for i, f := range forms {
		all[i] = f
	}
	return With(Object{"anyOf": all}, doc)
}

// Join puts maps of properties together; the last one wins.
func Join(all ...Object) Object {
	out := Object{}
	for _, m := range all {
		maps.Copy(out, m)
	}
	return out
}

// Idle are keys that are read and have no effect.
func Idle(doc string, names ...string) Object {
	out := Object{}
	for _, name := range names {
		out[name] = With(Object{"deprecated": true}, doc)
	}
	return out
}

// Kept are keys that editors and stores write for themselves.
func Kept(names ...string) Object {
	out := Object{}
	for _, name := range names {
		out[name] = Object{}
	}
	return out
}

// Ref names a definition of the schema.
func Ref(name string) Object { return Object{"$ref": "#/$defs/" + name} }

// Properties takes the keys of a part from its reader: those that mean something in their forms, those of editors as they are.
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

// Present says that a key must be there and not be null.
func Present(key string) Object {
	return Object{"required": []string{key}, "properties": Object{key: Object{"not": Object{"type": "null"}}}}
}

// KeyExpressions is the key of schemas that tells editors which expressions texts hold. Validators do not know it.
const KeyExpressions = "x-expressions"

// KeyWords is the key of the schema of a format that has the words of expressions, for editors.
const KeyWords = "x-words"

// The values of [KeyExpressions]. They hold for all texts in a value.
const (
	ExpressionValue     = "value"     // any, and the tokens, between {{ and }}
	ExpressionCondition = "condition" // the text is a condition
	ExpressionPrompt    = "prompt"    // tokens; as ExpressionValue where the document has inputs
	ExpressionTemplate  = "template"  // where the document has inputs, references between {{ and }}
	ExpressionTurn      = "turn"      // as ExpressionTemplate, with any expression
	ExpressionOutput    = "output"    // as ExpressionValue, when all has run: there is no token
	ExpressionInput     = "input"     // any of the input alone, between {{ and }}
)

// Expressions says which expressions the texts of a value hold.
func Expressions(s Object, kind string) Object {
	s[KeyExpressions] = kind
	return s
}
