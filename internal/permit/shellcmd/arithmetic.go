package shellcmd

import (
	"slices"

	"mvdan.cc/sh/v3/syntax"
)

// numericVariables returns the variables that a script sets, and sets to numbers only: arithmetic
// evaluates the text of any other variable, which can contain commands. It returns nil if the
// script may set or unset variables and functions unseen.
func numericVariables(file *syntax.File) map[string]bool {
	out := map[string]bool{}
	set := func(name string, number bool) {
		before, known := out[name]
		out[name] = number && (before || !known) && isLocalVariable(name)
	}
	unseen := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.Assign:
			if n.Name != nil {
				set(n.Name.Value, n.Array == nil && n.Index == nil && n.Value != nil && isNumeric(n.Value))
			}
		case *syntax.WordIter:
			number := len(n.Items) > 0
			for _, w := range n.Items {
				number = number && isNumeric(w)
			}
			set(n.Name.Value, number)
		case *syntax.BinaryArithm:
			if name, ok := n.X.(*syntax.Word); ok && isAssignment(n.Op) {
				set(name.Lit(), true)
			}
		case *syntax.UnaryArithm:
			if name, ok := n.X.(*syntax.Word); ok && (n.Op == syntax.Inc || n.Op == syntax.Dec) {
				set(name.Lit(), true)
			}
		case *syntax.CallExpr:
			if len(n.Args) == 0 {
				break
			}
			switch n.Args[0].Lit() {
			case "read", "export", "readonly", "local", "declare", "typeset":
				for _, w := range n.Args[1:] {
					set(w.Lit(), false)
				}
			}
			unseen = unseen || slices.ContainsFunc(n.Args, func(w *syntax.Word) bool {
				return slices.Contains([]string{"eval", "trap", "unset"}, w.Lit())
			}) || n.Args[0].Lit() == ""
		}
		return true
	})
	if unseen {
		return nil
	}
	return out
}

func isAssignment(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// isNumeric reports whether a word is a number whatever happens.
func isNumeric(w *syntax.Word) bool {
	if lit := w.Lit(); lit != "" {
		return isNumber(lit)
	}
	if len(w.Parts) != 1 {
		return false
	}
	switch p := w.Parts[0].(type) {
	case *syntax.ArithmExp:
		return true
	case *syntax.ParamExp:
		return p.Length && p.Index == nil || p.Param != nil && p.Exp == nil && p.Slice == nil && p.Repl == nil &&
			p.Index == nil && !p.Excl && (p.Param.Value == "#" || p.Param.Value == "?" || p.Param.Value == "$")
	}
	return false
}

// arithmetic checks an arithmetic expression: variables whose text is not a number are evaluated.
func (r *reader) arithmetic(e syntax.ArithmExpr) {
	switch e := e.(type) {
	case nil:
	case *syntax.BinaryArithm:
		r.arithmetic(e.X)
		r.arithmetic(e.Y)
	case *syntax.UnaryArithm:
		r.arithmetic(e.X)
	case *syntax.ParenArithm:
		r.arithmetic(e.X)
	case *syntax.Word:
		if e == nil || isNumeric(e) {
			return
		}
		name := e.Lit()
		if name == "" && len(e.Parts) == 1 {
			if p, ok := e.Parts[0].(*syntax.ParamExp); ok && p.Param != nil && p.Exp == nil && p.Slice == nil &&
				p.Repl == nil && p.Index == nil && !p.Excl {
				name = p.Param.Value
			}
		}
		if !r.numbers[name] && name != "@" && name != "*" { // as in "${list[@]}", where they are no names
			r.unknown()
		}
	default:
		r.unknown()
	}
}

// compared checks a comparison of [[ ]], which evaluates its operands if it compares numbers.
func (r *reader) compared(t *syntax.BinaryTest) {
	switch t.Op {
	case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
		for _, e := range []syntax.TestExpr{t.X, t.Y} {
			if w, ok := e.(*syntax.Word); ok {
				r.arithmetic(w)
			} else {
				r.unknown()
			}
		}
	}
}
