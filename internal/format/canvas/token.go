package canvas

import (
	"regexp"
	"strings"

	"github.com/hocket-run/hocket/internal/format/source"
	"github.com/hocket-run/hocket/workflow"
)

// Tokens that are replaced in prompts, exactly as spelled here (S0-11, ADR 46).
const (
	tokenOutput = "{{PREVIOUS_OUTPUT}}" //nolint:gosec // no credential
	tokenNote   = "{{APPROVAL_NOTE}}"
)

// braced matches text that may have been meant as a token.
var braced = regexp.MustCompile(`\{\{[ \t]*([A-Za-z_ -]{4,40}?)[ \t]*\}\}`)

// hasTokens reports whether a text has a token.
func hasTokens(text string) bool {
	return strings.Contains(text, tokenOutput) || strings.Contains(text, tokenNote)
}

// notReplaced warns of text in a prompt that looks like a token but is sent to the model unchanged.
func (r *reader) notReplaced(v *source.Node) {
	if v == nil || v.Kind != source.String {
		return
	}
	seen := map[string]bool{tokenOutput: true, tokenNote: true}
	for _, m := range braced.FindAllStringSubmatch(v.Text, -1) {
		if seen[m[0]] {
			continue
		}
		seen[m[0]] = true
		name := strings.NewReplacer(" ", "_", "-", "_").Replace(strings.ToUpper(m[1]))
		for _, token := range []string{tokenOutput, tokenNote} {
			if want := strings.Trim(token, "{}"); name == want || r.similar(name, want) != "" {
				r.diags.Warnf(v.Span, v.Path(), codeNotReplaced, "%q is sent as it is", m[0]).Hint = "write " + token +
					", without spaces and in capitals"
				break
			}
		}
	}
}

// notes warns of prompts that use the note of an approval if no approval leads to the node.
func (r *reader) notes() {
	before := map[string][]string{}
	for _, l := range r.links {
		before[l.edge.To] = append(before[l.edge.To], l.edge.From)
	}
	for _, n := range r.order {
		if n.def.Agent == nil || n.parent != "" {
			continue
		}
		key := "userPrompt"
		if strings.Contains(n.agent.System, tokenNote) {
			key = "systemPrompt"
		} else if !strings.Contains(n.def.Agent.Prompt.Text, tokenNote) {
			continue
		}
		seen, todo, found := map[string]bool{}, before[n.id], false
		for len(todo) > 0 && !found {
			id := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			if from := r.nodes[id]; from != nil && !seen[id] {
				seen[id], found = true, from.def.Kind == workflow.KindWait
				todo = append(todo, before[id]...)
			}
		}
		if v := n.at.Get("data").Get(key); !found && v != nil {
			r.diags.Warnf(v.Span, v.Path(), codeNoApproval, "%s is always empty here: no approval leads to this node",
				tokenNote)
		}
	}
}
