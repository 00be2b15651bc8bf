package celexpr

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"math/bits"
	"slices"
	"strconv"
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"

	"github.com/hocket-run/hocket/internal/expr"
)

// Function is a function that expressions may call.
type Function struct {
	Name string `json:"name"`
	// Form is how the function is called: x is a value, and the text in the parentheses after it is
	// an example of arguments.
	Form string `json:"form"`
	// Of are the types that x may have, empty if any; Gives are the types of the result, empty if
	// any. They are JSON types.
	Of    []string `json:"of,omitempty"`
	Gives []string `json:"gives,omitempty"`
	Doc   string   `json:"doc"`
}

// Call returns the form with a value in place of x.
func (f Function) Call(x string) string {
	if rest, ok := strings.CutPrefix(f.Form, "x."); ok {
		return x + "." + rest
	}
	return strings.Replace(f.Form, "(x)", "("+x+")", 1)
}

// JSON types in the table of functions.
const (
	typeBool, typeText, typeNumber, typeList, typeObject = "boolean", "string", "number", "array", "object"
)

// Functions returns all functions, in the order of the documentation. The caller owns the slice.
func Functions() []Function {
	text, number, list, yes := []string{typeText}, []string{typeNumber}, []string{typeList}, []string{typeBool}
	keys := []string{typeList, typeObject}
	return []Function{
		{"size", "x.size()", []string{typeText, typeList, typeObject}, number,
			"how many characters, items or members it has"},
		{"contains", "x.contains('text')", text, yes, "whether the text contains another one"},
		{"startsWith", "x.startsWith('text')", text, yes, "whether the text begins with another one"},
		{"endsWith", "x.endsWith('text')", text, yes, "whether the text ends with another one"},
		{"matches", "x.matches('^text')", text, yes,
			"whether a regular expression (RE2) matches somewhere in the text"},
		{"trim", "x.trim()", text, text, "the text without blanks at both ends"},
		{"lowerAscii", "x.lowerAscii()", text, text, "the text with A to Z in lower case"},
		{"split", "x.split(',')", text, list, "the parts of the text between the places of another one"},
		{"json", "x.json()", text, nil, "the JSON value in the text, fenced or not"},
		{"bool", "bool(x)", nil, yes, "the value as true or false"},
		{"int", "int(x)", nil, number, "the value as a whole number"},
		{"double", "double(x)", nil, number, "the value as a number"},
		{"string", "string(x)", nil, text, "the value as a text"},
		{"round", "round(x)", number, number, "the nearest whole number; round(x, 2) keeps two digits"},
		{"has", "has(x)", nil, yes, "whether it has a value"},
		{"all", "x.all(i, i != null)", keys, yes, "whether a condition holds for all items i"},
		{"exists", "x.exists(i, i != null)", keys, yes, "whether it holds for at least one"},
		{"exists_one", "x.exists_one(i, i != null)", keys, yes, "whether it holds for exactly one"},
		{"map", "x.map(i, i)", keys, list, "the values of an expression for all items i"},
		{"filter", "x.filter(i, i != null)", keys, list, "the items for which a condition holds"},
		{"sum", "x.sum()", list, number, "the sum of the numbers; 0 of none"},
		{"min", "x.min()", list, nil, "the smallest number or text"},
		{"max", "x.max()", list, nil, "the largest number or text"},
		{"sort", "x.sort()", list, list, "the numbers or texts in order"},
		{"join", "x.join(', ')", list, text, "the texts with another one between them"},
	}
}

// functionNames returns the names of the functions for a hint.
func functionNames() string {
	var names []string
	for _, f := range Functions() {
		names = append(names, f.Name)
	}
	return strings.Join(names, ", ")
}

// Limits on the results of functions. They are checked in advance, since the cost of a call is
// counted only after it has been made.
const (
	maxJoined = 10 * expr.MaxCost // bytes produced by join, which cost MaxCost
	maxParts  = expr.MaxCost / 2  // parts produced by split
)

// maxDigits is the maximum number of digits that round keeps: a double has no more.
const maxDigits = 15

// listFunctions declares the functions that reduce a list to one value and those that return lists
// . A list with elements of an unsupported type is an error: nothing is silently left out.
func listFunctions() []cel.EnvOption {
	list := func(name string, result *cel.Type, f func(items []ref.Val) (ref.Val, error)) cel.EnvOption {
		return cel.Function(name, cel.MemberOverload("list_"+name, []*cel.Type{cel.ListType(cel.DynType)}, result,
			cel.UnaryBinding(func(v ref.Val) ref.Val {
				out, err := f(itemsOf(v))
				if err != nil {
					return types.WrapErr(fmt.Errorf("%s(): %w", name, err))
				}
				return out
			})))
	}
	return []cel.EnvOption{
		list("sum", cel.DynType, sum),
		list("min", cel.DynType, func(items []ref.Val) (ref.Val, error) { return minMax(items, -1) }),
		list("max", cel.DynType, func(items []ref.Val) (ref.Val, error) { return minMax(items, 1) }),
		list("sort", cel.ListType(cel.DynType), sorted),
		cel.Function("join", cel.MemberOverload("list_join", []*cel.Type{cel.ListType(cel.DynType), cel.StringType},
			cel.StringType, cel.BinaryBinding(join))),
		cel.Function("split", cel.MemberOverload("string_split", []*cel.Type{cel.StringType, cel.StringType},
			cel.ListType(cel.DynType), cel.BinaryBinding(split))),
		cel.Function("round",
			cel.Overload("round_whole", []*cel.Type{cel.DynType}, cel.DynType,
				cel.UnaryBinding(func(v ref.Val) ref.Val { return round(v, types.IntZero) })),
			cel.Overload("round_digits", []*cel.Type{cel.DynType, cel.IntType}, cel.DynType, cel.BinaryBinding(round))),
	}
}

func itemsOf(v ref.Val) []ref.Val {
	l := v.(traits.Lister)
	out := make([]ref.Val, 0, int(l.Size().(types.Int)))
	for i := range l.Size().(types.Int) {
		out = append(out, l.Get(i))
	}
	return out
}

// sum adds numbers; the sum of an empty list is 0.
func sum(items []ref.Val) (ref.Val, error) {
	var total ref.Val = types.IntZero
	for i, v := range items {
		if k := kindOf(v); k != expr.KindNumber {
			return nil, fmt.Errorf("item %d is %s, not a number", i, k)
		}
		total = add(total, v)
		if err, failed := total.(*types.Err); failed {
			return nil, err
		}
	}
	return total, nil
}

// minMax returns the first of the largest items if which is 1, the first of the smallest if -1.
func minMax(items []ref.Val, which int) (ref.Val, error) {
	if len(items) == 0 {
		return nil, errors.New("the list is empty")
	}
	best := items[0]
	for _, v := range items {
		n, err := compare(v, best)
		if err != nil {
			return nil, err
		}
		if n == which {
			best = v
		}
	}
	return best, nil
}

// sorted sorts numbers, or strings by their characters.
func sorted(items []ref.Val) (ref.Val, error) {
	if n := len(items); n*bits.Len(uint(n)) > expr.MaxCost {
		return nil, fmt.Errorf("the list has %d items, which are too many to be put in order", n)
	}
	var failed error
	slices.SortStableFunc(items, func(a, b ref.Val) int {
		n, err := compare(a, b)
		if failed == nil {
			failed = err
		}
		return n
	})
	if failed != nil {
		return nil, failed
	}
	return types.NewRefValList(types.DefaultTypeAdapter, items), nil
}

func join(v, between ref.Val) ref.Val {
	items := itemsOf(v)
	parts := make([]string, len(items))
	size := 0
	for i, item := range items {
		text, ok := item.(types.String)
		if !ok {
			return types.NewErr("join(): item %d is %s, not a string", i, kindOf(item))
		}
		parts[i] = string(text)
		if size += len(text) + len(between.(types.String)); size > maxJoined {
			return types.NewErr("join() would make more than %d bytes", maxJoined)
		}
	}
	return types.String(strings.Join(parts, string(between.(types.String))))
}

func split(v, at ref.Val) ref.Val {
	if at.(types.String) == "" {
		return types.NewErr("split() needs a text that is not empty")
	}
	if strings.Count(string(v.(types.String)), string(at.(types.String))) >= maxParts {
		return types.NewErr("split() would make more than %d parts", maxParts)
	}
	parts := strings.Split(string(v.(types.String)), string(at.(types.String)))
	items := make([]ref.Val, len(parts))
	for i, p := range parts {
		items[i] = types.String(p)
	}
	return types.NewRefValList(types.DefaultTypeAdapter, items)
}

// round returns the nearest number with that many digits after the decimal point, halves away from
// zero; without digits it returns a whole number if that fits 64 bits. It rounds the shortest
// decimal form of the number, which is the one that people wrote and see: 1.005 is less than that
// in binary.
func round(v, digits ref.Val) ref.Val {
	d := digits.(types.Int)
	switch {
	case kindOf(v) != expr.KindNumber:
		return types.NewErr("round() needs a number, not %s", kindOf(v))
	case d < 0 || d > maxDigits:
		return types.NewErr("round() keeps 0 to %d digits, not %d", maxDigits, d)
	case v.Type() != types.DoubleType:
		return v
	}
	f := float64(v.(types.Double))
	if exact, ok := new(big.Rat).SetString(strconv.FormatFloat(f, 'g', -1, 64)); ok {
		f, _ = strconv.ParseFloat(exact.FloatString(int(d)), 64) // halves away from zero
	}
	if f == 0 {
		f = 0 // not -0
	}
	if i := int64(f); d == 0 && math.Abs(f) < 1<<62 && float64(i) == f {
		return types.Int(i)
	}
	return types.Double(f)
}
