package agents

import (
	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/internal/permit"
	"github.com/hocket-run/hocket/workflow"
)

// CodeBadPermission is the code of an invalid rule about tool calls.
const CodeBadPermission = "bad-permission"

// Permissions reads the value of a key `permissions`: a map of `allow`, `ask`, `deny`, `edit`
// (lists of patterns) and `default`, or a list of such maps, which all apply. Problems are added to
// diags, each at its pattern; null means none.
func Permissions(n *source.Node, diags *diag.List) []workflow.Permissions {
	if n.IsNull() {
		return nil
	}
	maps := []*source.Node{n}
	if n.Kind == source.List {
		maps = n.Items
	}
	var out []workflow.Permissions
	for _, m := range maps {
		f := m.Fields(diags)
		if f == nil {
			diags.Errorf(m.Span, m.Path(), source.CodeWrongType,
				"permissions must be a map of allow, ask and deny, found %s", m.Kind)
			continue
		}
		p := workflow.Permissions{Allow: f.Strs("allow"), Ask: f.Strs("ask"), Deny: f.Strs("deny"),
			Edit: f.Strs("edit"), Default: f.Str("default")}
		f.Unknown(diag.Error) // a misspelled key would forbid nothing
		for _, problem := range permit.Rules(p).Problems() {
			at := m.Get(problem.List)
			if at != nil && at.Kind == source.List && problem.Index < len(at.Items) {
				at = at.Items[problem.Index]
			}
			if at == nil {
				at = m
			}
			diags.Errorf(at.Span, at.Path(), CodeBadPermission, "%s",
				problem.Text).Hint = "patterns are `tool`, `toolset/*` and `tool:argument=glob`"
		}
		if !permit.Rules(p).IsZero() {
			out = append(out, p)
		}
	}
	return out
}
