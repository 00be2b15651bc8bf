package engine

import (
	"strings"

	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/prompt"
	"github.com/hocket-run/hocket/internal/expr"
)

// toolArguments makes the arguments of a tool node.
func (s viewer) toolArguments(n *plan.Node, t graph.Token, d *StepStarted) *Failure {
	input := s.graph.Value(t.From)
	switch {
	case n.Tool.ArgsFunc != "":
		v, err := s.plan.askValue(n.Tool.ArgsFunc, func(h Host) (Value, error) { return h.Value(n.Tool.ArgsFunc, s.before(n, t)) })
		if err != nil {
			return &Failure{Code: CodeFunc, Message: err.Error()}
		}
		d.Input = v
	case n.Args != nil:
		if s.argSize(n.Args, t, prompt.MaxBytes) > prompt.MaxBytes {
			return &Failure{Code: CodeValueTooLarge, Message: "arguments: " + prompt.ErrTooLarge.Error()}
		}
		out, err := plainJSON(s.expandArg(n.Args, t))
		if err != nil {
			return &Failure{Code: CodeTool, Message: "arguments: " + err.Error()}
		}
		d.Input = out
	case len(input) > 0 && input[0] != '{':
		d.Input = expr.Object([]expr.Member{{Name: "input", Value: expr.Quote(expr.Text(input))}})
	}
	return nil
}

// expandArg makes an argument for a token.
func (s viewer) expandArg(v any, t graph.Token) any {
	switch x := v.(type) {
	case plan.ArgText:
		parts := make([]string, len(x))
		for i, p := range x {
			parts[i] = p.Expand(env{viewer: s, scope: t.Scope})
		}
		if len(parts) == 1 {
			return parts[0]
		}
		return strings.Join(parts, expr.Text(s.graph.Value(t.From)))
	case []any:
		out := make([]any, len(x))
		for i := range x {
			out[i] = s.expandArg(x[i], t)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(x))
		for k := range x {
			out[k] = s.expandArg(x[k], t)
		}
		return out
	}
	return v
}

// argSize measures what expandArg would make, up to most.
func (s viewer) argSize(v any, t graph.Token, most int64) int64 {
	var n int64
	switch x := v.(type) {
	case plan.ArgText:
		given, _ := s.graph.OutputText(t.From)
		n = int64(len(x)-1) * given.Len()
		for _, p := range x {
			if n <= most {
				n += p.Size(env{viewer: s, scope: t.Scope}, most-n)
			}
		}
	case []any:
		for _, e := range x {
			if n <= most {
				n += s.argSize(e, t, most-n)
			}
		}
	case map[string]any:
		for _, k := range sortedKeys(x) {
			if n <= most {
				n += s.argSize(x[k], t, most-n)
			}
		}
	}
	return n
}
