package expr

import "strings"

// Kinds is a set of JSON types; CEL's three kinds of number are one.
type Kinds uint8

// The JSON types; KindOther is none of them, and KindAny is all of them.
const (
	KindBool Kinds = 1 << iota
	KindString
	KindNumber
	KindNull
	KindList
	KindObject
	KindOther

	KindAny = 1<<7 - 1
)

var kindWords = []string{"a boolean", "a string", "a number", "null", "a list", "an object", "a value that is not JSON"}

// String describes the set for a message: "a string or null".
func (k Kinds) String() string {
	var words []string
	for i, w := range kindWords {
		if k&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, " or ")
}

// RefKinds returns the types that the value of a reference may have: those that its field implies,
// or those that the document declares for an output.
func RefKinds(r Ref, opts Options) Kinds {
	switch {
	case r.Field == FieldAgent, r.Field == FieldOrder && len(r.Path) > 0:
		return KindString
	case r.Field == FieldOrder:
		return KindList
	case r.Field == FieldEntry, r.Field == FieldOutputs && len(r.Path) == 0:
		return KindObject
	case r.Field != FieldOutput || opts.Types == nil:
		return KindAny
	}
	var k Kinds
	for _, t := range opts.Types(r) {
		switch t {
		case "boolean":
			k |= KindBool
		case "string":
			k |= KindString
		case "number", "integer":
			k |= KindNumber
		case "null":
			k |= KindNull
		case "array":
			k |= KindList
		case "object":
			k |= KindObject
		default:
			return KindAny
		}
	}
	if k == 0 {
		return KindAny
	}
	return k
}
