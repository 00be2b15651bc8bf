package canvas

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// subagents checks the sub-agent links (S0-50, messages as in S0-51) and converts them to tools. A
// link that violates a rule is left out, so that the others are still checked.
func (r *reader) subagents() {
	disabled := map[string]bool{}
	for _, l := range r.asks {
		from, to := r.nodes[l.edge.From], r.nodes[l.edge.To]
		fault := func(code, format string, args ...any) *diag.Diagnostic {
			return r.diags.Errorf(l.at.Span, l.at.Path(), code, format, args...)
		}
		if from == nil || from.kind != typeAgent {
			fault(codeSubagentSource, "Subagent source %q must be an agent node.", l.edge.From)
		} else if !from.mayAsk && !disabled[from.id] {
			disabled[from.id] = true
			fault(codeSubagentDisabled, "Agent %q uses subagent links but Subagents tool is disabled.",
				from.id).Hint = "set subagents to true in its tools"
		}
		if to == nil || to.kind != typeAgent {
			fault(codeSubagentTarget, "Subagent target %q must be an agent node.", l.edge.To)
		}
		if l.target != "" && l.target != handleInput {
			fault(codeSubagentHandle, "Subagent link %q -> %q must connect to input handle.", l.edge.From, l.edge.To)
		}
		if l.edge.From == l.edge.To {
			if from != nil && from.kind == typeAgent {
				fault(codeSubagentSelf, "Agent %q cannot be a subagent of itself.", l.edge.From)
			}
			continue
		}
		if from == nil || from.agent == nil || to == nil || to.agent == nil {
			continue
		}
		switch to.parent {
		case "":
			to.parent = from.id
			from.agent.Subagents = append(from.agent.Subagents, workflow.Subagent{Agent: to.id})
		case from.id:
			r.diags.Warnf(l.at.Span, l.at.Path(), codeDuplicateLink, "the subagent link %q -> %q is a duplicate",
				from.id, to.id)
		default:
			fault(codeSubagentParents, "Agent %q cannot belong to more than one parent subagent.", to.id)
		}
	}
	r.subagentCycles()
	r.dropSubagentConnections()
	for _, n := range r.order {
		if n.agent != nil {
			r.subagentTools(n)
		}
	}
}

// dropSubagentConnections removes connections that touch sub-agents, which no run may follow, and
// those that were kept only for this check.
func (r *reader) dropSubagentConnections() {
	r.links = slices.DeleteFunc(r.links, func(l link) bool {
		bad := false
		for _, id := range slices.Compact([]string{l.edge.From, l.edge.To}) {
			if n := r.nodes[id]; n != nil && n.parent != "" {
				r.diags.Errorf(l.at.Span, l.at.Path(), codeSubagentExecution,
					"Agent %q is configured as subagent and cannot participate in workflow execution edges.", id)
				bad = true
			}
		}
		to := r.nodes[l.edge.To]
		return bad || to == nil || to.def.Kind == ""
	})
}

// subagentCycles reports each cycle once, from its first node in the document. An agent has at most
// one parent, so cycles do not share agents.
func (r *reader) subagentCycles() {
	done := map[string]bool{}
	for _, n := range r.order {
		var path []string
		at := n
		for at != nil && !done[at.id] {
			done[at.id] = true
			path = append(path, at.id)
			at = r.nodes[at.parent]
		}
		if at == nil || !slices.Contains(path, at.id) {
			continue
		}
		// path goes from agents to their parents; a cycle is reported from parents to their
		// sub-agents.
		ring := slices.Clone(path[slices.Index(path, at.id):])
		slices.Reverse(ring)
		first := 0
		for i, id := range ring {
			if r.nodes[id].index < r.nodes[ring[first]].index {
				first = i
			}
		}
		ring = append(ring[first:], ring[:first]...)
		ring = append(ring, ring[0])
		span, path2 := r.nodes[ring[0]].at.Span, r.nodes[ring[0]].at.Path()
		r.diags.Errorf(span, path2, codeSubagentCycle, "Subagent cycle detected: %s", strings.Join(ring, " -> "))
	}
}

// subagentTools names and describes the tools that represent the agent's sub-agents (S0-53, S0-55).
func (r *reader) subagentTools(n *node) {
	taken := map[string]bool{}
	for i := range n.agent.Subagents {
		s := &n.agent.Subagents[i]
		to := r.nodes[s.Agent]
		s.Tool = toolName(to.agent.Name, to.id)
		for k := 2; taken[s.Tool]; k++ {
			s.Tool = fmt.Sprintf("%s_%d", toolName(to.agent.Name, to.id), k)
		}
		taken[s.Tool] = true
		s.Description = r.describe(to)
	}
}

// Limits on a tool's name: the length that providers allow, minus room for a number after it, and
// the part that an id may take.
const (
	maxToolName   = 60
	maxToolNameID = 40
)

// toolName returns `subagent_<slug of the name>_<node id>` in lower case, using only the characters
// that providers allow. If the name is too long, the slug is truncated at its end and the id at its
// start, since ids differ at their ends.
func toolName(name, id string) string {
	const prefix = "subagent_"
	id = plain(id, false)
	id = id[max(0, len(id)-maxToolNameID):]
	slug := strings.Trim(plain(name, true), "_")
	if most := maxToolName - len(prefix) - 1 - len(id); len(slug) > most {
		slug = strings.TrimRight(slug[:most], "_")
	}
	if slug == "" {
		slug = "agent"
	}
	return prefix + slug + "_" + id
}

// plain lower-cases s and replaces everything but letters and digits with `_`; if single, a run of
// them with one `_`.
func plain(s string, single bool) string {
	var b strings.Builder
	for _, c := range strings.ToLower(s) {
		switch {
		case c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' && !single:
			b.WriteRune(c)
		case !single || !strings.HasSuffix(b.String(), "_"):
			b.WriteByte('_')
		}
	}
	return b.String()
}

// maxPromptRunes is the maximum length of a prompt in a description, in runes.
const maxPromptRunes = 400

// describe returns the description of a sub-agent for a model: its prompt, tools and sub-agents
// (S0-55).
func (r *reader) describe(n *node) string {
	text := fmt.Sprintf("Delegates a task to the agent %q.", n.agent.Name)
	if prompt := strings.TrimSpace(n.agent.System); prompt != DefaultSystem && prompt != "" {
		if runes := []rune(prompt); len(runes) > maxPromptRunes {
			prompt = string(runes[:maxPromptRunes]) + "…"
		}
		text += " Its instructions: " + prompt
	}
	if len(n.agent.Tools) > 0 {
		text += "\nIts tools: " + strings.Join(n.agent.Tools, ", ") + "."
	}
	var names []string
	for _, s := range n.agent.Subagents {
		names = append(names, r.nodes[s.Agent].agent.Name)
	}
	if len(names) > 0 {
		text += "\nIts sub-agents: " + strings.Join(names, ", ") + "."
	}
	return text
}
