package inputs

import (
	"github.com/hocket-run/hocket/internal/docschema/part"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/expr/celexpr"
	"github.com/hocket-run/hocket/workflow"
)

// Words returns the words of expressions, for editors: [part.KeyWords] of the schema of a format
// that has expressions.
func Words() part.Object {
	w := expr.WordsOf(workflow.DefaultItem, workflow.DefaultItem+"_index")
	return part.Object{"fields": w.Fields, "variables": w.Variables, "tokens": w.Tokens,
		"functions": celexpr.Functions()}
}
