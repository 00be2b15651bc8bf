package celexpr

import (
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/hocket-run/hocket/internal/expr"
)

func kindOf(v ref.Val) expr.Kinds { return typeKinds(v.Type().(*types.Type)) }

func typeKinds(t *types.Type) expr.Kinds {
	if t == nil {
		return expr.KindAny
	}
	switch t.Kind() {
	case types.BoolKind:
		return expr.KindBool
	case types.StringKind:
		return expr.KindString
	case types.IntKind, types.UintKind, types.DoubleKind:
		return expr.KindNumber
	case types.NullTypeKind:
		return expr.KindNull
	case types.ListKind:
		return expr.KindList
	case types.MapKind:
		return expr.KindObject
	case types.DynKind, types.AnyKind, types.TypeParamKind, types.ErrorKind, types.UnknownKind:
		return expr.KindAny
	}
	return expr.KindOther
}
