package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/workflow"
)

// A hand-off passes a frame to another agent: the conversation continues, and everything else is
// the new agent's. It happens once all other calls of the reply that requested it have their
// results, so a call always belongs to the agent that made it.

// handoffDef appends the tool with which an agent hands over.
func handoffDef(f *plan.Flow, defs []chat.ToolDef, a *plan.Agent) []chat.ToolDef {
	if !loop.HandsOver(a.Agent, workflow.HandoffTool) {
		return defs
	}
	var text strings.Builder
	text.WriteString("Hand the conversation over to another agent, who continues it from here and sees all of its " +
		"messages. Your turn ends with this call. The agents are:")
	for _, id := range a.Handoffs {
		text.WriteString("\n- " + id)
		if to := f.Agents[id]; to != nil && to.Description != "" {
			text.WriteString(": " + to.Description)
		}
	}
	ids, _ := json.Marshal(a.Handoffs) // strings always encode
	return append(defs, chat.ToolDef{
		Name: workflow.HandoffTool, Description: text.String(),
		Parameters: json.RawMessage(`{"type":"object","properties":{"agent":{"type":"string","enum":` + string(ids) +
			`,"description":"The agent that goes on."}},"required":["agent"],"additionalProperties":false}`),
	})
}

// rejectsHandoff reports whether a call of the hand-off tool does not hand over, and if so answers
// it. The call that does is answered by [event.AgentHanded].
func (m *machine) rejectsHandoff(id, fr int, tc chat.ToolCall) bool {
	a := m.agent(id, fr)
	first, to, ok := loop.Accepted(a.Agent, m.state.lastReply(id, fr).ToolCalls)
	if ok && first.ID == tc.ID {
		return false
	}
	text := fmt.Sprintf("The conversation can be handed over to: %s.", strings.Join(a.Handoffs, ", "))
	if ok && slices.Contains(a.Handoffs, loop.Member(tc.Arguments, "agent")) {
		text = fmt.Sprintf("The conversation is handed over to %s: one reply hands over once.", to)
	}
	m.emitStep(id, &event.ToolReturned{Frame: fr, ToolCallID: tc.ID, Text: text, IsError: true})
	return true
}

// Delegating returns the calls of a reply with which an agent starts sub-agents or hands over, as
// the engine reads them.
func Delegating(a *workflow.Agent, reply chat.Message) []chat.ToolCall {
	return slices.DeleteFunc(event.CleanMessage(reply).ToolCalls, func(tc chat.ToolCall) bool {
		return !loop.Delegates(a, tc.Name)
	})
}

// pendingHandoff returns the pending hand-off, or nil if there is none.
func (m *machine) pendingHandoff(id, fr int) *event.AgentHanded {
	tc, to, ok := m.state.Loop.Handoff(&m.state, id, fr)
	if !ok {
		return nil
	}
	target, seen := m.graph.FlowOf(id).Agents[to], m.state.envOf(id)
	if !seen.systemFits(target, seen) {
		m.endBySize(id)
		return nil
	}
	system, failed := expandSystem(target, seen)
	if failed != nil {
		m.frameFailed(id, fr, *failed, m.failStep)
		return nil
	}
	return &event.AgentHanded{Frame: fr, ToolCallID: tc.ID, From: m.frame(id, fr).Agent, Agent: to, System: system}
}
