package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/expr"
)

// argText is a string of a tool node's arguments: templates with the previous output between them.
type argText []*expr.Template

// compileArgs reads a tool node's arguments: JSON whose strings are templates, each by itself, so that an output can never change its shape.
func compileArgs(raw json.RawMessage, opts expr.Options) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber() // numbers stay as they are written
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, fmt.Errorf("arguments: %w", err)
	}
	return compileArg(v, opts)
}

func compileArg(v any, opts expr.Options) (out any, err error) {
	switch x := v.(type) {
	case string:
		text := argText{}
		for part := range strings.SplitSeq(x, previousOutput) {
			t, problems := expr.ParseTemplate(part, opts)
			if p := expr.Refusal(problems); p != nil {
				return nil, fmt.Errorf("arguments: %s", p.Message)
			}
			text = append(text, t)
		}
		return text, nil
	case []any:
		for i := range x {
			if x[i], err = compileArg(x[i], opts); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for _, k := range sortedKeys(x) {
			if x[k], err = compileArg(x[k], opts); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// expandArgs writes the arguments for a token.
func (r *Run) expandArgs(args any, t token) (Value, error) {
	return plainJSON(r.expandArg(args, t))
}

func (r *Run) expandArg(v any, t token) any {
	switch x := v.(type) {
	case argText:
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
