package loop

import (
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// HandsOver reports whether a call of that tool by an agent hands the conversation over.
func HandsOver(a *workflow.Agent, tool string) bool {
	return tool == workflow.HandoffTool && len(a.Handoffs) > 0 &&
		!slices.ContainsFunc(a.Subagents, func(s workflow.Subagent) bool { return s.Tool == tool })
}

// Accepted returns the call of a reply that hands over and the target agent, or false if no call
// does. The first call that names a listed agent counts.
func Accepted(a *workflow.Agent, calls []chat.ToolCall) (chat.ToolCall, string, bool) {
	for _, tc := range calls {
		if to := Member(tc.Arguments, "agent"); HandsOver(a, tc.Name) && slices.Contains(a.Handoffs, to) {
			return tc, to, true
		}
	}
	return chat.ToolCall{}, "", false
}

// Handoff returns the call that hands a frame over and the target agent, once all other calls of
// its turn have their results; false if there is none.
func (l *Loop) Handoff(w World, step, id int) (chat.ToolCall, string, bool) {
	f := frame(w, step, id)
	a := w.Agent(step, f.Agent)
	open := slices.DeleteFunc(slices.Clone(f.Turn), func(t TurnCall) bool { return t.Done })
	if len(open) != 1 || open[0].Guarded || !HandsOver(a, open[0].Name) || w.Node(step).Kind != workflow.KindAgent {
		return chat.ToolCall{}, "", false
	}
	tc, to, ok := Accepted(a, l.Reply(f.Conv).ToolCalls)
	return tc, to, ok && tc.ID == open[0].ID
}

// Member returns the string member of a JSON object with exactly that name; "" if there is none.
func Member(object json.RawMessage, name string) string {
	var members map[string]json.RawMessage
	var text string
	if json.Unmarshal(object, &members) != nil || json.Unmarshal(members[name], &text) != nil {
		return ""
	}
	return text
}
