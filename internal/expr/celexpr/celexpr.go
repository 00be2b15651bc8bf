// Package celexpr compiles the expressions of package expr with CEL.
//
// It has the same restrictions as package expr, and knows nothing of documents beyond the
// references of one expression. It is separate from package expr so that programs that evaluate no
// expression, such as those that only run graphs of Go functions, do not link CEL.
//
// A [Compiler] is a value that is passed to a parser: formats use the functions of this package,
// the engine receives it with the definition that it compiles. It keeps no state between calls, and
// programs are immutable, so both are safe for concurrent use.
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
