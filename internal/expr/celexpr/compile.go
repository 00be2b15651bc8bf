package celexpr

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"

	"github.com/hocket-run/hocket/internal/expr"
)

// source is an expression together with CEL's results for it.
type source struct{ *expr.Source }

// program is an expression that CEL evaluates. It is immutable.
type program struct {
	prog     cel.Program
	s        *source
	operands map[int64][2]string // names of operands in errors, by operator id; "" if an operand has no short name
	constant *bool
}

// compile checks the scanned text and plans it. If test, its result must be a boolean.
func compile(src *expr.Source, opts expr.Options, test bool) (*program, []expr.Problem) {
	s := &source{src}
	env, err := celEnv(s)
	if err != nil {
		return nil, []expr.Problem{expr.ErrorAt(0, len(s.Written), expr.CodeBadCondition, "", "%s", err)}
	}
	parsed, iss := env.Parse(s.Text)
	if iss.Err() != nil {
		return nil, s.issues(iss)
	}
	r := &rewriter{s: s, fac: ast.NewExprFactory(), info: parsed.NativeRep().SourceInfo(),
		operands: map[int64][2]string{}}
	r.nextID = ast.MaxID(parsed.NativeRep())
	root := parsed.NativeRep().Expr()
	constant := r.fold(root)
	r.walk(root)
	if len(r.problems) > 0 {
		return nil, r.problems
	}
	checked, iss := env.Check(parsed)
	if iss.Err() != nil {
		return nil, s.issues(iss)
	}
	if problems := r.static(checked.NativeRep(), opts, test); len(problems) > 0 {
		return nil, problems
	}
	prog, err := env.Program(checked, cel.CostLimit(expr.MaxCost), cel.CostTracking(costs{}),
		cel.EvalOptions(cel.OptOptimize))
	if err != nil {
		return nil, []expr.Problem{expr.ErrorAt(0, len(s.Written), expr.CodeBadCondition, "", "%s", err)}
	}
	return &program{prog: prog, s: s, operands: r.operands, constant: constant}, nil
}

// Test implements expr.Program.
func (p *program) Test(env expr.Env) (value bool, reason string) {
	out, reason := p.value(env)
	if reason != "" {
		return false, reason
	}
	switch v := out.(type) {
	case types.Bool:
		return bool(v), ""
	case types.String:
		if b, ok := expr.TextTruth(string(v)); ok {
			return b, ""
		}
		return false, "it gives " + expr.Describe(expr.Quote(string(v)))
	}
	return false, "it gives " + kindOf(out).String() + ", not a boolean"
}

// Value implements expr.Program.
func (p *program) Value(env expr.Env) (value json.RawMessage, reason string) {
	out, reason := p.value(env)
	if reason != "" {
		return nil, reason
	}
	value, err := toJSON(nil, out)
	if err != nil {
		return nil, err.Error()
	}
	return value, ""
}

// Constant implements expr.Program.
func (p *program) Constant() (value, ok bool) {
	if p.constant == nil {
		return false, false
	}
	return *p.constant, true
}

// value returns the result of the program, or the reason why there is none.
func (p *program) value(env expr.Env) (out ref.Val, reason string) {
	out, details, err := p.prog.Eval(&activation{env: env, s: p.s, values: make([]ref.Val, len(p.s.Vars))})
	if memo, ok := env.(*expr.Memo); ok && details != nil {
		if cost := details.ActualCost(); cost != nil && !memo.Spend(*cost) {
			return nil, fmt.Sprintf("the expressions of this value cost more than %d units to evaluate",
				expr.MaxValueCost)
		}
	}
	if err != nil {
		return nil, p.reason(err)
	}
	return out, ""
}

// reason describes an evaluation error in terms of the source.
func (p *program) reason(err error) string {
	if _, ok := errors.AsType[interpreter.EvalCancelledError](err); ok {
		return fmt.Sprintf("it costs more than %d units to evaluate", expr.MaxCost)
	}
	if none, ok := errors.AsType[*missingError](err); ok {
		return expr.Missing(none.ref)
	}
	if mismatch, ok := errors.AsType[*typeError](err); ok {
		var names [2]string
		if node, ok := errors.AsType[*types.Err](err); ok {
			names = p.operands[node.NodeID()]
		}
		return mismatch.text(names)
	}
	text := p.s.Unname(err.Error())
	if key, ok := strings.CutPrefix(text, "no such key: "); ok {
		return fmt.Sprintf("unknown field %q", key)
	}
	if strings.HasPrefix(text, "no such overload") {
		return "a function or an operator got a value of the wrong type (" + text + ")"
	}
	return text
}

// activation binds variables to references, which are resolved when first read.
type activation struct {
	env    expr.Env
	s      *source
	values []ref.Val
}

type missingError struct{ ref expr.Ref }

func (e *missingError) Error() string { return expr.Missing(e.ref) }

// ResolveName implements interpreter.Activation.
func (a *activation) ResolveName(name string) (any, bool) {
	i, ok := a.s.Index(name)
	if !ok {
		return nil, false
	}
	if a.values[i] == nil {
		a.values[i] = a.resolve(a.s.Vars[i])
	}
	return a.values[i], true
}

func (a *activation) resolve(r expr.Ref) ref.Val {
	if memo, ok := a.env.(*expr.Memo); ok {
		return memo.Derive(r, func() any { return a.read(r) }).(ref.Val)
	}
	return a.read(r)
}

// read converts the value of a reference.
func (a *activation) read(r expr.Ref) ref.Val {
	raw, ok := r.Resolve(a.env)
	if !ok {
		return types.WrapErr(&missingError{ref: r})
	}
	v, err := celValue(raw)
	if err != nil {
		return types.WrapErr(fmt.Errorf("%s: %w", r.Text, err))
	}
	return v
}

// Parent implements interpreter.Activation.
func (*activation) Parent() interpreter.Activation { return nil }

// offset returns the source offset of a rune offset into text.
func (s *source) offset(runes int) int {
	i := 0
	for ; runes > 0 && i < len(s.Text); runes-- {
		_, size := utf8.DecodeRuneInString(s.Text[i:])
		i += size
	}
	return s.At(i)
}

// issues converts CEL's errors into problems, with references restored in their messages and
// positions in the source.
func (s *source) issues(iss *cel.Issues) []expr.Problem {
	var out []expr.Problem
	for _, e := range iss.Errors() {
		message := s.Unname(strings.TrimSpace(e.Message))
		message, _, _ = strings.Cut(message, " expecting ") // a list of every possible token
		message = strings.ReplaceAll(message, "<EOF>", "the end")
		code := expr.CodeBadCondition
		if strings.Contains(message, "recursion") || strings.Contains(message, "nesting") {
			code = expr.CodeTooComplex
		}
		at := s.sourceOffset(e.Location)
		out = append(out, expr.ErrorAt(at, 0, code, s.hint(message), "%s", lowerFirst(message)))
		if len(out) == 5 {
			break // CEL repeats itself after the first syntax error
		}
	}
	return out
}

// sourceOffset returns the source offset of a CEL location: lines from 1, columns in runes from 0.
func (s *source) sourceOffset(loc common.Location) int {
	if loc.Line() < 1 {
		return 0
	}
	i := 0
	for range loc.Line() - 1 {
		n := strings.IndexByte(s.Text[i:], '\n')
		if n < 0 {
			break
		}
		i += n + 1
	}
	return s.offset(utf8.RuneCountInString(s.Text[:i]) + max(loc.Column(), 0))
}

func (s *source) hint(message string) string {
	switch {
	case strings.Contains(message, "undeclared reference"):
		if _, rest, ok := strings.Cut(message, "'"); ok &&
			strings.Contains(s.Text, strings.SplitN(rest, "'", 2)[0]+"(") {
			return "functions: " + functionNames()
		}
		return "a step's output is $steps.<id>.output; text is written in quotes"
	case !strings.HasPrefix(message, "Syntax error"):
		return ""
	case regexp.MustCompile(`(^|[^=!<>])=([^=]|$)`).MatchString(s.Text):
		return "equality is =="
	case regexp.MustCompile(`(?i)\b(and|or|not)\b`).MatchString(s.Text):
		return "write && for and, || for or, ! for not"
	}
	return ""
}

func lowerFirst(s string) string {
	if s == "" {
		return s
	}
	return strings.ToLower(s[:1]) + s[1:]
}

func (s *source) problemAt(r *rewriter, id int64, code, hint, format string, args ...any) expr.Problem {
	at := 0
	if rng, ok := r.info.GetOffsetRange(id); ok {
		at = s.offset(int(rng.Start))
	}
	return expr.ErrorAt(at, 0, code, hint, format, args...)
}

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
