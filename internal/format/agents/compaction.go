package agents

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Compaction reads the value of a key `compaction`: true, or a map of `at`, `keep`, `pin` and
// `model`. It returns nil if there is none.
func Compaction(n *source.Node, diags *diag.List) *workflow.Compaction {
	if n.IsNull() {
		return nil
	}
	if on, ok := n.Bool(); ok {
		if on {
			return &workflow.Compaction{}
		}
		return nil
	}
	f := n.Fields(diags)
	if f == nil {
		return nil
	}
	out := &workflow.Compaction{Pin: f.Strs("pin"), Model: f.Str("model")}
	if at, ok := f.Float("at"); ok {
		switch {
		case at > 0 && at <= 1:
			out.At = at
		case at >= workflow.MinCompactTokens && at == float64(int64(at)) && at < 1<<53:
			out.Tokens = int64(at)
		default:
			m := f.Get("at")
			diags.Errorf(m.Span, m.Path(), source.CodeWrongType,
				"at must be a part of the context window, above 0 and at most 1, or a number of tokens, %d or more",
				workflow.MinCompactTokens)
		}
	}
	if keep, ok := f.Int("keep"); ok {
		if keep < 1 || keep > workflow.MaxCompactKeep {
			m := f.Get("keep")
			diags.Errorf(m.Span, m.Path(), source.CodeWrongType, "keep must be a whole number from 1 to %d",
				workflow.MaxCompactKeep)
		} else {
			out.Keep = int(keep)
		}
	}
	f.Unknown(diag.Warning)
	return out
}

// CompactionOf returns the document form of a compaction; nil if there is none.
func CompactionOf(c *workflow.Compaction) any {
	if c == nil {
		return nil
	}
	if c.At == 0 && c.Tokens == 0 && c.Keep == 0 && len(c.Pin) == 0 && c.Model == "" {
		return true
	}
	out := map[string]any{}
	switch {
	case c.Tokens > 0:
		out["at"] = c.Tokens
	case c.At > 0:
		out["at"] = c.At
	}
	if c.Keep > 0 {
		out["keep"] = c.Keep
	}
	if len(c.Pin) > 0 {
		out["pin"] = c.Pin
	}
	if c.Model != "" {
		out["model"] = c.Model
	}
	return out
}
