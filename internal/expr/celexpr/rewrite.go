package celexpr

import (
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"github.com/hocket-run/hocket/internal/expr"
)

// Names of the functions that replace CEL's operators. Because of the @, a source cannot call them.
const (
	fnEqual    = "@equal"
	fnContains = "@contained"
	fnBool     = "@bool"
	fnPresent  = "@present"
)

// typed maps CEL's operators to the functions that replace them and to the verb used in their
// errors.
var typed = map[string]struct{ fn, verb string }{
	operators.Equals:        {fnEqual, "compare"},
	operators.NotEquals:     {fnEqual, "compare"},
	operators.In:            {fnContains, "look up"},
	operators.Less:          {"@less", "order"},
	operators.LessEquals:    {"@less_equals", "order"},
	operators.Greater:       {"@greater", "order"},
	operators.GreaterEquals: {"@greater_equals", "order"},
	operators.Add:           {"@add", "add"},
	operators.Subtract:      {"@subtract", "subtract"},
	operators.Multiply:      {"@multiply", "multiply"},
	operators.Divide:        {"@divide", "divide"},
	operators.Modulo:        {"@modulo", "divide"},
}

// rewriter replaces CEL's operators in a parsed tree, macros already expanded, with the typed
// operators of this package. The order of evaluation is kept.
//
//	a == b       @equal(a, b)                       a literal null on either side: left as it is
//	a != b       !@equal(a, b)
//	a && b       @bool(a) ? @bool(b) : false        CEL's own && would swallow an error of a when b is false
//	a || b       @bool(a) ? true : @bool(b)
//	!a, a ? …    !@bool(a), @bool(a) ? …
//	a < b, a+b   @less(a, b), @add(a, b) and so on
type rewriter struct {
	s        *source
	fac      ast.ExprFactory
	info     *ast.SourceInfo
	nextID   int64
	operands map[int64][2]string
	checks   []check
	problems []expr.Problem
}

// check is a rewritten operator whose operand types are checked once CEL has inferred them.
type check struct {
	id          int64
	fn, verb    string
	left, right ast.Expr // right is nil for @bool
}

func (r *rewriter) walk(root ast.Expr) {
	ast.PostOrderVisit(root, ast.NewExprVisitor(func(e ast.Expr) {
		switch e.Kind() {
		case ast.MapKind, ast.StructKind:
			r.problems = append(r.problems, r.s.problemAt(r, e.ID(), expr.CodeBadCondition, "",
				"object literals are not supported in conditions"))
		case ast.CallKind:
			r.call(e)
		}
	}))
}

func (r *rewriter) call(e ast.Expr) {
	args := e.AsCall().Args()
	switch name := e.AsCall().FunctionName(); name {
	case operators.LogicalAnd:
		r.replace(e, operators.Conditional, r.boolean(args[0], "&&"), r.boolean(args[1], "&&"),
			r.literal(e, types.False))
	case operators.LogicalOr:
		r.replace(e, operators.Conditional, r.boolean(args[0], "||"), r.literal(e, types.True),
			r.boolean(args[1], "||"))
	case operators.LogicalNot:
		r.replace(e, name, r.boolean(args[0], "!"))
	case operators.Conditional:
		r.replace(e, name, r.boolean(args[0], "?"), args[1], args[2])
	case operators.NotEquals:
		if isNull(args[0]) || isNull(args[1]) {
			return
		}
		same := r.fac.NewCall(r.newID(e), fnEqual, args[0], args[1])
		r.note(same.ID(), name, args)
		r.replace(e, operators.LogicalNot, same)
	default:
		t, ok := typed[name]
		if !ok || len(args) != 2 || (name == operators.Equals && (isNull(args[0]) || isNull(args[1]))) {
			return
		}
		r.note(e.ID(), name, args)
		r.replace(e, t.fn, args...)
	}
}

func (r *rewriter) note(id int64, name string, args []ast.Expr) {
	t := typed[name]
	r.operands[id] = [2]string{r.nameOf(args[0]), r.nameOf(args[1])}
	r.checks = append(r.checks, check{id: id, fn: t.fn, verb: t.verb, left: args[0], right: args[1]})
}

// boolean wraps an operand that must be a boolean.
func (r *rewriter) boolean(e ast.Expr, verb string) ast.Expr {
	if e.Kind() == ast.LiteralKind && e.AsLiteral().Type() == types.BoolType {
		return e
	}
	call := r.fac.NewCall(r.newID(e), fnBool, e, r.literal(e, types.String(verb)))
	r.operands[call.ID()] = [2]string{r.nameOf(e)}
	r.checks = append(r.checks, check{id: e.ID(), fn: fnBool, verb: verb, left: e})
	return call
}

func (r *rewriter) replace(e ast.Expr, fn string, args ...ast.Expr) {
	e.SetKindCase(r.fac.NewCall(e.ID(), fn, args...))
}

func (r *rewriter) literal(at ast.Expr, v ref.Val) ast.Expr {
	return r.fac.NewLiteral(r.newID(at), v)
}

// newID returns a new id with the position of at.
func (r *rewriter) newID(at ast.Expr) int64 {
	r.nextID++
	if rng, ok := r.info.GetOffsetRange(at.ID()); ok {
		r.info.SetOffsetRange(r.nextID, rng)
	}
	return r.nextID
}

// nameOf returns the name of an operand in an error: a reference's text or a literal; "" for
// anything longer.
func (r *rewriter) nameOf(e ast.Expr) string {
	switch e.Kind() {
	case ast.IdentKind:
		if i, ok := r.s.Index(e.AsIdent()); ok {
			return r.s.Vars[i].Text
		}
		return e.AsIdent()
	case ast.LiteralKind:
		switch v := e.AsLiteral().(type) {
		case types.String:
			return expr.Describe(expr.Quote(string(v)))
		case types.Bool, types.Int, types.Uint, types.Double:
			return v.ConvertToType(types.StringType).Value().(string)
		}
	}
	return ""
}

// static finds operands that can never match, based on CEL's inference and on the types that the
// document declares for references (P25: at load if types are declared).
func (r *rewriter) static(tree *ast.AST, opts expr.Options, test bool) []expr.Problem {
	kindsOf := func(e ast.Expr) expr.Kinds {
		if e.Kind() == ast.IdentKind {
			if i, ok := r.s.Index(e.AsIdent()); ok {
				return expr.RefKinds(r.s.Vars[i], opts)
			}
		}
		return typeKinds(tree.GetType(e.ID()))
	}
	var problems []expr.Problem
	for _, c := range r.checks {
		left := kindsOf(c.left)
		err := &typeError{verb: c.verb, left: left}
		if c.right != nil {
			err.right = kindsOf(c.right)
		}
		if c.impossible(left, err.right) {
			problems = append(problems, r.s.problemAt(r, c.id, expr.CodeTypeMismatch, "", "%s",
				err.text(r.operandsOf(c))))
		}
	}
	root := tree.Expr()
	if k := kindsOf(root); test && len(problems) == 0 && k&(expr.KindBool|expr.KindString) == 0 {
		problems = append(problems, r.s.problemAt(r, root.ID(), expr.CodeNotBoolean, "compare it with a value",
			"the result of the condition is %s, not a boolean", k))
	}
	return problems
}

func (r *rewriter) operandsOf(c check) [2]string {
	names := [2]string{r.nameOf(c.left)}
	if c.right != nil {
		names[1] = r.nameOf(c.right)
	}
	return names
}

// impossible reports whether no value of these types can be accepted by the operator.
func (c check) impossible(left, right expr.Kinds) bool {
	both := left & right
	switch c.fn {
	case fnBool:
		return left&expr.KindBool == 0
	case fnEqual:
		return both == 0
	case fnContains:
		return right&(expr.KindList|expr.KindObject) == 0
	case "@less", "@less_equals", "@greater", "@greater_equals":
		return both&(expr.KindNumber|expr.KindString|expr.KindBool) == 0
	case "@add":
		return both&(expr.KindNumber|expr.KindString|expr.KindList) == 0
	}
	return both&expr.KindNumber == 0
}

// fold returns the value that the tree always has (unless it fails), or nil if the value depends on
// inputs. It runs before the rewriting.
func (r *rewriter) fold(e ast.Expr) *bool {
	yes, no := true, false
	if e.Kind() == ast.LiteralKind {
		if b, ok := e.AsLiteral().(types.Bool); ok {
			v := bool(b)
			return &v
		}
		return nil
	}
	if e.Kind() != ast.CallKind || len(e.AsCall().Args()) == 0 {
		return nil
	}
	args := e.AsCall().Args()
	a := r.fold(args[0])
	switch name := e.AsCall().FunctionName(); name {
	case operators.LogicalNot:
		switch {
		case a == nil:
			return nil
		case *a:
			return &no
		}
		return &yes
	case operators.LogicalAnd, operators.LogicalOr:
		b, wins := r.fold(args[1]), name == operators.LogicalOr
		switch {
		case a != nil && *a == wins, b != nil && *b == wins:
			return &wins
		case a != nil && b != nil:
			return a // both have the value that does not decide the outcome
		}
	case operators.Conditional:
		then, other := r.fold(args[1]), r.fold(args[2])
		switch {
		case a != nil && *a:
			return then
		case a != nil:
			return other
		case then != nil && other != nil && *then == *other:
			return then
		}
	case operators.Equals, operators.NotEquals:
		same := r.foldEqual(args[0], args[1])
		if same != nil && name == operators.NotEquals {
			v := !*same
			return &v
		}
		return same
	}
	return nil
}

// foldEqual compares two literals, or one reference with itself.
func (r *rewriter) foldEqual(a, b ast.Expr) *bool {
	switch {
	case a.Kind() == ast.LiteralKind && b.Kind() == ast.LiteralKind:
		if same, err := equal(a.AsLiteral(), b.AsLiteral()); err == nil {
			return &same
		}
	case a.Kind() == ast.IdentKind && b.Kind() == ast.IdentKind && a.AsIdent() == b.AsIdent():
		yes := true
		return &yes
	}
	return nil
}

func isNull(e ast.Expr) bool {
	return e.Kind() == ast.LiteralKind && e.AsLiteral() == types.NullValue
}
