package schema

import (
	"encoding/json"
	"strconv"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// types is a set of JSON types. A number is either whole or a fraction, so that `integer` is a
// subset of `number`.
type types uint8

const (
	typeNull types = 1 << iota
	typeBoolean
	typeWhole
	typeFraction
	typeString
	typeArray
	typeObject

	anyType = 1<<7 - 1
)

var typeBits = map[string]types{
	"null": typeNull, "boolean": typeBoolean, "integer": typeWhole, "number": typeWhole | typeFraction,
	"string": typeString, "array": typeArray, "object": typeObject,
}

func (t types) names() []string {
	var out []string
	for _, name := range []string{"null", "boolean", "number", "integer", "string", "array", "object"} {
		if bits := typeBits[name]; t&bits == bits && (name != "integer" || t&typeFraction == 0) {
			out = append(out, name)
		}
	}
	return out
}

// maxPathSteps is the maximum length of the walk through $ref and alternatives; beyond it every
// type is possible.
const maxPathSteps = 10_000

// PathType returns the JSON types that the schema allows at a path below the root (keys, and list
// indexes as decimal strings), in a fixed order; `integer` is returned without `number` only if
// fractions are excluded. known is false if no part of the schema mentions the path, even if
// additional keys are allowed by default (S4-17): a reader of such a path relies on something that
// was not promised.
//
// A path under an explicit `additionalProperties: true` or an empty schema is known and may have
// every type. allowed is empty for a path that is known but can never have a value. Conditions
// between keys (if, not, dependencies) are ignored.
func (s *Schema) PathType(path []string) (allowed []string, known bool) {
	steps := 0
	t, known := pathType(s.root, path, &steps)
	if !known {
		return nil, false
	}
	return t.names(), true
}

// pathType combines the constraints of s itself, its allOf and $ref, and its alternatives.
func pathType(s *jsonschema.Schema, path []string, steps *int) (types, bool) {
	if *steps++; *steps > maxPathSteps {
		return anyType, true
	}
	t, known := keywordTypes(s, path, steps)
	also := func(sub *jsonschema.Schema) {
		if sub == nil {
			return
		}
		if st, ok := pathType(sub, path, steps); ok {
			t, known = t&st, true
		}
	}
	also(s.Ref)
	also(s.RecursiveRef)
	if s.DynamicRef != nil {
		also(s.DynamicRef.Ref)
	}
	for _, sub := range s.AllOf {
		also(sub)
	}
	for _, alternatives := range [][]*jsonschema.Schema{s.AnyOf, s.OneOf, {s.Then, s.Else}} {
		var union types
		said := false
		for _, sub := range alternatives {
			if sub == nil {
				union |= anyType
				continue
			}
			if st, ok := pathType(sub, path, steps); ok {
				union, said = union|st, true
			}
		}
		if said {
			t, known = t&union, true
		}
	}
	return t, known
}

// keywordTypes returns the constraint of the keywords of s itself; any type if there are none.
func keywordTypes(s *jsonschema.Schema, path []string, steps *int) (types, bool) {
	if s.Bool != nil {
		if *s.Bool {
			return anyType, true
		}
		return 0, len(path) == 0
	}
	if len(path) == 0 {
		return ownTypes(s), true
	}
	if isEmpty(s) {
		return anyType, true
	}
	known := false
	t := types(anyType)
	also := func(sub *jsonschema.Schema) {
		if st, ok := pathType(sub, path[1:], steps); ok {
			t, known = t&st, true
		}
	}
	key := path[0]
	for _, sub := range keySchemas(s, key) {
		also(sub)
	}
	if allowed, ok := s.AdditionalProperties.(bool); ok && allowed {
		known = true
	}
	if i, err := strconv.Atoi(key); err == nil && i >= 0 {
		if sub := itemSchema(s, i); sub != nil {
			also(sub)
		}
	}
	return t, known
}

// itemSchema returns the schema of item i of a list, or nil if there is none.
func itemSchema(s *jsonschema.Schema, i int) *jsonschema.Schema {
	if i < len(s.PrefixItems) {
		return s.PrefixItems[i]
	}
	if s.Items2020 != nil {
		return s.Items2020
	}
	switch items := s.Items.(type) { // drafts before 2020-12
	case *jsonschema.Schema:
		return items
	case []*jsonschema.Schema:
		if i < len(items) {
			return items[i]
		}
		sub, _ := s.AdditionalItems.(*jsonschema.Schema)
		return sub
	}
	return nil
}

// ownTypes returns the types allowed by type, enum and const together.
func ownTypes(s *jsonschema.Schema) types {
	t := types(anyType)
	if s.Types != nil {
		t = 0
		for _, name := range s.Types.ToStrings() {
			t |= typeBits[name]
		}
	}
	if s.Enum != nil {
		var of types
		for _, v := range s.Enum.Values {
			of |= typeOf(v)
		}
		t &= of
	}
	if s.Const != nil {
		t &= typeOf(*s.Const)
	}
	return t
}

func typeOf(v any) types {
	switch v := v.(type) {
	case nil:
		return typeNull
	case bool:
		return typeBoolean
	case string:
		return typeString
	case []any:
		return typeArray
	case map[string]any:
		return typeObject
	case json.Number:
		if _, err := v.Int64(); err == nil {
			return typeWhole
		}
	}
	return typeWhole | typeFraction // 1.0 is whole, too
}

// isEmpty reports whether a schema has no keywords and so allows everything.
func isEmpty(s *jsonschema.Schema) bool {
	return s.Types == nil && s.Enum == nil && s.Const == nil && s.Not == nil && s.If == nil && s.Properties == nil &&
		s.PatternProperties == nil &&
		s.AdditionalProperties == nil && s.Required == nil && s.PropertyNames == nil && s.Items == nil &&
		s.Items2020 == nil && s.PrefixItems == nil &&
		len(inPlace(s)) == 0
}
