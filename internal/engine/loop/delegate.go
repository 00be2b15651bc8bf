package loop

import (
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Delegates reports whether a call of that tool by an agent starts a sub-agent or hands the
// conversation over.
func Delegates(a *workflow.Agent, tool string) bool {
	return slices.Contains(a.Delegates(), tool)
}

// Asks reports whether a call of that tool by an agent starts a sub-agent.
func Asks(a *workflow.Agent, tool string) bool { return Delegates(a, tool) && !HandsOver(a, tool) }

// Task returns the sub-agent that a call for which [Asks] is true starts, with its task; false if
// the agent has no such sub-agent.
func Task(a *workflow.Agent, tool string, arguments json.RawMessage) (workflow.Subagent, string, bool) {
	var args map[string]json.RawMessage
	_ = json.Unmarshal(arguments, &args) // without arguments the task is empty
	for _, s := range a.Subagents {
		if s.Tool == tool {
			return s, expr.Text(args["input"]), true
		}
	}
	for _, s := range a.Subagents {
		if tool != workflow.TransferTool || s.Agent != Member(arguments, "agent") {
			continue
		}
		task := expr.Text(args["task"])
		if want := Member(arguments, "expected_output"); want != "" {
			task += "\n\nExpected output: " + want
		}
		return s, task, true
	}
	return workflow.Subagent{}, "", false
}

// OtherName returns a call that starts a sub-agent under its other name: the sub-agent's own tool
// for [workflow.TransferTool], and the reverse. "" means that it has none. Permissions of either
// name apply to both.
func OtherName(a *workflow.Agent, tool string, arguments json.RawMessage) (string, json.RawMessage) {
	s, task, ok := Task(a, tool, arguments)
	if !ok {
		return "", nil
	}
	name, args := s.Tool, map[string]string{"input": task}
	if tool == s.Tool {
		name, args = workflow.TransferTool, map[string]string{"agent": s.Agent, "task": task}
	}
	out, _ := json.Marshal(args) //nolint:errchkjson // texts cannot fail
	return name, out
}
