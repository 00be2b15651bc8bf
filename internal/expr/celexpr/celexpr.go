// Package celexpr compiles the expressions of package expr by CEL.
//
// It refuses what package expr refuses, and to know more of documents than the references of one expression. It is apart from package expr so that programs which evaluate no expression, such as
// those that run graphs of Go functions alone, do not link CEL.
//
// A [Compiler] is a value that is handed to a parser: formats use the functions of this package, the engine gets it with the definition that it compiles. It keeps no state between calls,
// and programs are immutable, so that both are safe for concurrent use.
package celexpr

import (
	"encoding/json"

	"github.com/hocket-run/hocket/internal/expr"
)

// Compiler implements expr.Compiler.
type Compiler struct{}

// Compile implements expr.Compiler.
func (Compiler) Compile(s *expr.Source, opts expr.Options, test bool) (expr.Program, []expr.Problem) {
	p, problems := compile(s, opts, test)
	if p == nil {
		return nil, problems
	}
	return p, problems
}

// ParseCondition is expr.ParseCondition with the Compiler.
func ParseCondition(src string, opts expr.Options) (*expr.Condition, []expr.Problem) {
	opts.Compiler = Compiler{}
	return expr.ParseCondition(src, opts)
}

// ParseInterpolation is expr.ParseInterpolation with the Compiler.
func ParseInterpolation(src string, opts expr.Options) (*expr.Interpolation, []expr.Problem) {
	opts.Compiler = Compiler{}
	return expr.ParseInterpolation(src, opts)
}

// ParseValue is expr.ParseValue with the Compiler.
func ParseValue(raw json.RawMessage, opts expr.Options) (*expr.Value, []expr.Problem, error) {
	opts.Compiler = Compiler{}
	return expr.ParseValue(raw, opts)
}
