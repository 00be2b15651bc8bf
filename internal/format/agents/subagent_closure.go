package agents

import (
	"slices"
	"strconv"
	"strings"

	"github.com/hocket-run/hocket/diag"
	"github.com/hocket-run/hocket/workflow"
)

// CodeUnknownAgent is the code of a reference from one agent to another that is not defined.
const CodeUnknownAgent = "unknown-agent"

// Close returns list extended, transitively, with the agents that its agents refer to as sub-agents
// or hand over to. find returns an agent by its id, or nil if there is none, which is an error at
// the position that at returns. Sub-agents get their tools: see [Subagent].
func Close(list []workflow.Agent, find func(id string) *workflow.Agent, at func(id string) diag.Span,
	diags *diag.List) []workflow.Agent {
	has := func(id string) bool {
		return slices.ContainsFunc(list, func(a workflow.Agent) bool { return a.ID == id })
	}
	for i := 0; i < len(list); i++ {
		known := func(id, what string) bool {
			if has(id) {
				return true
			}
			a := find(id)
			if a == nil {
				diags.Errorf(at(list[i].ID), "", CodeUnknownAgent, "%s: %s %q is not defined", where(list[i].ID), what,
					id).Name = id
				return false
			}
			list = append(list, *a)
			return true
		}
		list[i].Subagents = slices.DeleteFunc(slices.Clone(list[i].Subagents), func(s workflow.Subagent) bool {
			return !known(s.Agent, "the sub-agent")
		})
		list[i].Handoffs = slices.DeleteFunc(slices.Clone(list[i].Handoffs), func(id string) bool {
			return !known(id, "the hand-off target ")
		})
	}
	for i := range list {
		taken := map[string]bool{}
		for j, s := range list[i].Subagents {
			k := slices.IndexFunc(list, func(a workflow.Agent) bool { return a.ID == s.Agent })
			list[i].Subagents[j] = Subagent(s.Agent, list[k].Description, taken)
		}
	}
	return list
}

// Subagent returns the tool with which an agent delegates a task to another agent. taken holds the
// tool names that the agent already has.
func Subagent(name, description string, taken map[string]bool) workflow.Subagent {
	clean := strings.Map(func(c rune) rune {
		if c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' {
			return c
		}
		return '_'
	}, name)
	const limit = 60 // providers allow 64
	base := "transfer_task_" + clean
	tool := base[:min(len(base), limit)]
	for n := 2; taken[tool]; n++ {
		suffix := "_" + strconv.Itoa(n)
		tool = base[:min(len(base), limit-len(suffix))] + suffix
	}
	taken[tool] = true
	text := "Hand a task to the agent " + strconv.Quote(name) +
		" and get its result. Say in the input all that it must know."
	if description != "" {
		text += " What it does: " + description
	}
	return workflow.Subagent{Agent: name, Tool: tool, Description: text}
}
