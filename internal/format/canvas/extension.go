package canvas

import (
	"strings"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/format/nodes"
	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// isExtension tells that the reference format has no nodes of that type.
func (n *node) isExtension() bool {
	return n.kind != typeApproval && nodes.Type(&n.def) != ""
}

// expressions settles whether the prompts of an agent hold expressions.
func (r *reader) expressions(n *node, data *source.Fields) {
	if p := &n.def.Agent.Prompt; p.Mode == workflow.PromptTemplate {
		var texts *nodes.Texts
		texts, p.Expressions = r.doc.Prompt(n.id, data.Get("userPrompt"))
		n.texts = append(n.texts, texts)
	}
	if at := data.Get("systemPrompt"); r.doc.Expressions && at != nil && isTemplate(n.agent.System) {
		n.agent.Template = true
		n.texts = append(n.texts, nodes.Template(n.id, at))
	}
}

// isTemplate tells whether a system prompt refers to something, or tries to.
func isTemplate(text string) bool {
	if !strings.Contains(text, "{{") {
		return false
	}
	t, problems := expr.ParseTemplate(text, expr.Options{Vars: []string{expr.VarInput}})
	return len(t.Refs())+len(problems) > 0
}
