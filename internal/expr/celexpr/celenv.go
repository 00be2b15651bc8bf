package celexpr

import (
	"errors"
	"math/bits"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/env"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
	"cel.dev/cel-go/parser"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/expr"
)

// The part of CEL's library that conditions can use. It is an allow list: additions in later CEL
// versions stay out until they are listed here, and so do times, time zones (which would be read
// from the machine) and protocol buffers.
var (
	stdFunctions = []string{
		operators.Conditional, operators.LogicalAnd, operators.LogicalOr, operators.LogicalNot,
		operators.NotStrictlyFalse,
		operators.Equals, operators.NotEquals, operators.Index, operators.Negate,
		overloads.Size, overloads.Contains, overloads.StartsWith, overloads.EndsWith, overloads.Matches,
		overloads.TypeConvertBool, overloads.TypeConvertInt, overloads.TypeConvertDouble, overloads.TypeConvertString,
	}
	stdMacros = []string{operators.All, operators.Exists, operators.ExistsOne, operators.Map, operators.Filter}
)

// maxRegexProgram is the maximum size of a pattern of matches(), which may come from a value, in
// instructions of Go's regexp.
const maxRegexProgram = 1000

// sharedVars is how many variables the environment that expressions share declares.
const sharedVars = 16

// sharedEnv is the environment of all expressions with a few variables of ordinary names. It is
// immutable. An environment of its own would take 30 KB of memory for each expression.
var sharedEnv, errShared = newCELEnv(sharedVars, expr.VariableName)

// celEnv returns the environment of an expression.
func celEnv(s *source) (*cel.Env, error) {
	n := len(s.Vars)
	if n <= sharedVars && (n == 0 || s.Name(n-1) == expr.VariableName(n-1)) {
		return sharedEnv, errShared
	}
	return newCELEnv(n, s.Name)
}

// newCELEnv returns an environment with vars variables.
func newCELEnv(vars int, name func(i int) string) (*cel.Env, error) {
	std := env.NewLibrarySubset().AddIncludedMacros(stdMacros...)
	for _, name := range stdFunctions {
		std.AddIncludedFunctions(env.NewFunction(name))
	}
	opts := []cel.EnvOption{
		cel.StdLib(cel.StdLibSubset(std)),
		cel.Macros(cel.GlobalMacro(operators.Has, 1, expandHas)),
		cel.ParserRecursionLimit(expr.MaxNesting),
		cel.ParserExpressionSizeLimit(4 * expr.MaxConditionBytes),
		cel.ExpressionNodeLimit(8 * expr.MaxConditionBytes),
		cel.ParserErrorRecoveryLimit(3),
		cel.RegexProgramSizeLimit(maxRegexProgram),
		cel.ASTValidators(cel.ValidateComprehensionNestingLimit(expr.MaxLoops), cel.ValidateRegexLiterals()),
	}
	for i := range vars {
		opts = append(opts, cel.Variable(name(i), cel.DynType))
	}
	return cel.NewCustomEnv(append(append(opts, functions()...), listFunctions()...)...)
}

// expandHas is CEL's has() extended to accept a bare reference, which is an identifier by the time
// CEL sees it.
func expandHas(h parser.ExprHelper, _ ast.Expr, args []ast.Expr) (ast.Expr, *common.Error) {
	switch arg := args[0]; {
	case arg.Kind() == ast.SelectKind && !arg.AsSelect().IsTestOnly():
		return h.NewPresenceTest(arg.AsSelect().Operand(), arg.AsSelect().FieldName()), nil
	case arg.Kind() == ast.IdentKind:
		return h.NewCall(fnPresent, arg), nil
	default:
		return nil, h.NewError(arg.ID(), "has() takes a reference or a field, such as has($steps.qa.output.note)")
	}
}

// functions declares the typed operators, each with one overload that accepts any type, and the two
// helpers for strings.
func functions() []cel.EnvOption {
	binary := func(name string, result *cel.Type, f func(a, b ref.Val) ref.Val) cel.EnvOption {
		return cel.Function(name, cel.Overload(name, []*cel.Type{cel.DynType, cel.DynType}, result,
			cel.BinaryBinding(f)))
	}
	ordered := func(name string, holds func(int) bool) cel.EnvOption {
		return binary(name, cel.BoolType, func(a, b ref.Val) ref.Val {
			n, err := compare(a, b)
			if err != nil {
				return types.WrapErr(err)
			}
			return types.Bool(holds(n))
		})
	}
	text := func(name string, f func(string) string) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("string_"+name, []*cel.Type{cel.StringType}, cel.StringType,
			cel.UnaryBinding(func(v ref.Val) ref.Val { return types.String(f(string(v.(types.String)))) })))
	}
	return []cel.EnvOption{
		binary(fnEqual, cel.BoolType, func(a, b ref.Val) ref.Val { return boolOrErr(equal(a, b)) }),
		binary(fnContains, cel.BoolType, func(a, b ref.Val) ref.Val { return boolOrErr(contained(a, b)) }),
		binary(fnBool, cel.BoolType, func(v, verb ref.Val) ref.Val {
			if kindOf(v) != expr.KindBool {
				return types.WrapErr(&typeError{verb: string(verb.(types.String)), left: kindOf(v)})
			}
			return v
		}),
		cel.Function(fnPresent, cel.Overload(fnPresent, []*cel.Type{cel.DynType}, cel.BoolType,
			cel.OverloadIsNonStrict(),
			cel.UnaryBinding(func(v ref.Val) ref.Val {
				err, failed := v.(*types.Err)
				var none *missingError
				if failed && !errors.As(err, &none) {
					return v
				}
				return types.Bool(!failed)
			}))),
		ordered("@less", func(n int) bool { return n < 0 }),
		ordered("@less_equals", func(n int) bool { return n <= 0 }),
		ordered("@greater", func(n int) bool { return n > 0 }),
		ordered("@greater_equals", func(n int) bool { return n >= 0 }),
		binary("@add", cel.DynType, add),
		binary("@subtract", cel.DynType, arithmetic("subtract", func(a, b ref.Val) ref.Val {
			return a.(traits.Subtractor).Subtract(b)
		})),
		binary("@multiply", cel.DynType, arithmetic("multiply", func(a, b ref.Val) ref.Val {
			return a.(traits.Multiplier).Multiply(b)
		})),
		binary("@divide", cel.DynType, arithmetic("divide", divide)),
		binary("@modulo", cel.DynType, arithmetic("divide", modulo)),
		text("trim", strings.TrimSpace),
		text("lowerAscii", lowerASCII),
		cel.Function("json", cel.MemberOverload("string_json", []*cel.Type{cel.StringType}, cel.DynType,
			cel.UnaryBinding(parseJSON))),
	}
}

// parseJSON returns the JSON contained in a string, fenced or not, as a path into an output finds
// it (S4-17).
func parseJSON(v ref.Val) ref.Val {
	raw, ok := chat.JSONIn(string(v.(types.String)))
	if !ok {
		return types.NewErr("json() needs a text that is JSON")
	}
	out, err := celValue(raw)
	if err != nil {
		return types.WrapErr(err)
	}
	return out
}

func boolOrErr(b bool, err error) ref.Val {
	if err != nil {
		return types.WrapErr(err)
	}
	return types.Bool(b)
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

// add concatenates strings and lists and adds numbers.
func add(a, b ref.Val) ref.Val {
	if k := kindOf(a); k == kindOf(b) && k&(expr.KindString|expr.KindList) != 0 {
		return a.(traits.Adder).Add(b)
	}
	return arithmetic("add", func(a, b ref.Val) ref.Val { return a.(traits.Adder).Add(b) })(a, b)
}

// arithmetic converts its operands to two numbers of one CEL type for op: JSON does not distinguish
// 1 from 1.0, and a model writes either.
func arithmetic(verb string, op func(a, b ref.Val) ref.Val) func(a, b ref.Val) ref.Val {
	return func(a, b ref.Val) ref.Val {
		ka, kb := kindOf(a), kindOf(b)
		if ka != expr.KindNumber || kb != expr.KindNumber {
			return types.WrapErr(&typeError{verb: verb, left: ka, right: kb})
		}
		if a.Type() != b.Type() {
			a, b = a.ConvertToType(types.DoubleType), b.ConvertToType(types.DoubleType)
		}
		return op(a, b)
	}
}

// divide returns a fraction if whole numbers leave a remainder, so that 1 / 2 and 1.0 / 2 agree.
func divide(a, b ref.Val) ref.Val {
	if rest := modulo(a, b); rest == types.IntZero || a.Type() == types.DoubleType {
		return a.(traits.Divider).Divide(b)
	}
	quotient := a.(traits.Divider).Divide(b)
	if types.IsError(quotient) {
		return quotient
	}
	return a.ConvertToType(types.DoubleType).(types.Double) / b.ConvertToType(types.DoubleType).(types.Double)
}

// modulo accepts whole numbers, however they are written: 4.0 % 2 is 0.
func modulo(a, b ref.Val) ref.Val {
	if a.Type() == types.DoubleType {
		x, y := a.(types.Double), b.(types.Double)
		i, j := types.Int(x), types.Int(y)
		if types.Double(i) != x || types.Double(j) != y {
			return types.NewErr("%% needs whole numbers")
		}
		a, b = i, j
	}
	return a.(traits.Modder).Modulo(b)
}

// costs adds the work of the functions of this package to CEL's own count; nil leaves the cost to
// CEL.
type costs struct{}

// CallCost implements cost.ActualCostEstimator.
func (costs) CallCost(function, _ string, args []ref.Val, result ref.Val) *uint64 {
	n := uint64(1)
	switch function {
	case fnEqual:
		n += min(walkCost(args[0]), walkCost(args[1]))
	case fnContains:
		n += walkCost(args[1])
	case "@less", "@less_equals", "@greater", "@greater_equals", "trim", "lowerAscii", "json", "sum", "min", "max":
		n += walkCost(args[0])
	case "sort":
		n += walkCost(args[0]) * uint64(bits.Len64(walkCost(args[0])))
	case "join", "split":
		n += walkCost(args[0]) + walkCost(result)
	case "@add":
		if kindOf(result) == expr.KindString {
			n += walkCost(result)
		}
	default:
		return nil
	}
	return &n
}
