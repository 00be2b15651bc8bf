package expr

import (
	"strings"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
)

// kinds is a set of JSON types; CEL's three kinds of number are one.
type kinds uint8

const (
	kindBool kinds = 1 << iota
	kindString
	kindNumber
	kindNull
	kindList
	kindObject
	kindOther

	kindAny = 1<<7 - 1
)

var kindWords = []string{"a boolean", "a string", "a number", "null", "a list", "an object", "a value that is not JSON"}

// String names the set for a message: "a string or null".
func (k kinds) String() string {
	var words []string
	for i, w := range kindWords {
		if k&(1<<i) != 0 {
			words = append(words, w)
		}
	}
	return strings.Join(words, " or ")
}

func kindOf(v ref.Val) kinds { return typeKinds(v.Type().(*types.Type)) }

func typeKinds(t *types.Type) kinds {
	if t == nil {
		return kindAny
	}
	switch t.Kind() {
	case types.BoolKind:
		return kindBool
	case types.StringKind:
		return kindString
	case types.IntKind, types.UintKind, types.DoubleKind:
		return kindNumber
	case types.NullTypeKind:
		return kindNull
	case types.ListKind:
		return kindList
	case types.MapKind:
		return kindObject
	case types.DynKind, types.AnyKind, types.TypeParamKind, types.ErrorKind, types.UnknownKind:
		return kindAny
	}
	return kindOther
}

// refKinds gives what a reference may hold: what its field implies, or what the document declares of an output.
func refKinds(r Ref, opts Options) kinds {
	switch {
	case r.Field == FieldAgent, r.Field == FieldOrder && len(r.Path) > 0:
		return kindString
	case r.Field == FieldOrder:
		return kindList
	case r.Field == FieldEntry, r.Field == FieldOutputs && len(r.Path) == 0:
		return kindObject
	case r.Field != FieldOutput || opts.Types == nil:
		return kindAny
	}
	var k kinds
	for _, t := range opts.Types(r) {
		switch t {
		case "boolean":
			k |= kindBool
		case "string":
			k |= kindString
		case "number", "integer":
			k |= kindNumber
		case "null":
			k |= kindNull
		case "array":
			k |= kindList
		case "object":
			k |= kindObject
		default:
			return kindAny
		}
	}
	if k == 0 {
		return kindAny
	}
	return k
}
