package canvas

import (
	"strings"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// isExtension reports whether the type of the node is not part of the reference format.
func (n *node) isExtension() bool {
	return n.kind != typeApproval && nodes.Type(&n.def) != ""
}

// expressions determines whether the prompts of an agent contain expressions.
func (r *reader) expressions(n *node, data *source.Fields) {
	if p := &n.def.Agent.Prompt; p.Mode == workflow.PromptTemplate {
		var texts *nodes.Texts
		texts, p.Expressions = r.doc.Prompt(n.id, data.Get("userPrompt"))
		n.texts = append(n.texts, texts)
	}
	switch at := data.Get("systemPrompt"); {
	case !r.doc.Expressions:
		texts, _ := r.doc.Prompt(n.id, at)
		n.texts = append(n.texts, texts)
	case at != nil && isTemplate(n.agent.System):
		n.agent.Template = true
		n.texts = append(n.texts, nodes.Template(n.id, at))
	}
}

// isTemplate reports whether a system prompt contains a reference, or an attempt at one.
func isTemplate(text string) bool {
	if !strings.Contains(text, "{{") {
		return false
	}
	t, problems := expr.ParseTemplate(text, expr.Options{Vars: []string{expr.VarInput}})
	return len(t.Refs())+len(problems) > 0
}
