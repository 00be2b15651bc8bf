package engine

import (
	"strings"

	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
)

// expandArgs writes the arguments for a token.
func (r *Run) expandArgs(args any, t graph.Token) (Value, error) {
	return plainJSON(r.expandArg(args, t))
}

func (r *Run) expandArg(v any, t graph.Token) any {
	switch x := v.(type) {
	case plan.ArgText:
		parts := make([]string, len(x))
		for i, p := range x {
			parts[i] = p.Expand(env{r: r, scope: t.Scope})
		}
		if len(parts) == 1 {
			return parts[0]
		}
		return strings.Join(parts, expr.Text(r.value(t.From)))
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = r.expandArg(x[i], t)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = r.expandArg(x[k], t)
		}
		return out
	}
	return v
}
