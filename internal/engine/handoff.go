package engine

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/workflow"
)

// A hand-off gives a frame to another agent: the conversation goes on, everything else is the new agent's. It happens when all other calls of the reply
// that asked for it have their results, so that a call always belongs to the agent that made it.

// handsOver tells whether a call of that tool hands the conversation over.
func (a *agent) handsOver(tool string) bool {
	return tool == workflow.HandoffTool && len(a.Handoffs) > 0 && a.subs[tool] == nil
}

// named tells whether a frame's replies carry the names of who spoke: the conversation is, or may become, that of several agents, and is shown to each
// of them as [renderShared] does.
func (f *frame) named(a *agent) bool {
	return f.Conv == sharedConv || f.Spent != nil || len(a.Handoffs) > 0
}

// handoffDef adds the tool by which an agent hands over.
func (f *flow) handoffDef(defs []chat.ToolDef, a *agent) []chat.ToolDef {
	if !a.handsOver(workflow.HandoffTool) {
		return defs
	}
	var text strings.Builder
	text.WriteString("Hand the conversation over to another agent, who goes on with it from here and sees what was said. Your turn ends with this call. The agents are:")
	for _, id := range a.Handoffs {
		text.WriteString("\n- " + id)
		if to := f.agents[id]; to != nil && to.Description != "" {
			text.WriteString(": " + to.Description)
		}
	}
	ids, _ := json.Marshal(a.Handoffs) // strings always encode
	return append(defs, chat.ToolDef{
		Name: workflow.HandoffTool, Description: text.String(),
		Parameters: json.RawMessage(`{"type":"object","properties":{"agent":{"type":"string","enum":` + string(ids) + `,"description":"The agent that goes on."}},"required":["agent"],"additionalProperties":false}`),
	})
}

// accepted gives the call of a reply that hands over, and to whom; false where none does. The first that names an agent of the list counts.
func (a *agent) accepted(calls []chat.ToolCall) (chat.ToolCall, string, bool) {
	for _, tc := range calls {
		if to := member(tc.Arguments, "agent"); a.handsOver(tc.Name) && slices.Contains(a.Handoffs, to) {
			return tc, to, true
		}
	}
	return chat.ToolCall{}, "", false
}

// askedToHand answers a call of the hand-off tool that hands nothing over. The one that does is answered by [AgentHanded].
func (r *Run) askedToHand(id, fr int, tc chat.ToolCall) {
	a := r.agent(id, fr)
	first, to, ok := a.accepted(r.lastReply(id, fr).ToolCalls)
	if ok && first.ID == tc.ID {
		return
	}
	text := fmt.Sprintf("The conversation can be handed over to: %s.", strings.Join(a.Handoffs, ", "))
	if ok && slices.Contains(a.Handoffs, member(tc.Arguments, "agent")) {
		text = fmt.Sprintf("The conversation is handed over to %s: one reply hands over once.", to)
	}
	r.emitStep(id, &ToolReturned{Frame: fr, ToolCallID: tc.ID, Text: text, IsError: true})
}

// handoff gives the call that hands a frame over, and to which agent, where all other calls of its turn have their results; false where there is none.
func (r *Run) handoff(id, fr int) (chat.ToolCall, string, bool) {
	f, a := r.frame(id, fr), r.agent(id, fr)
	open := slices.DeleteFunc(slices.Clone(f.Turn), func(t turnCall) bool { return t.Done })
	if len(open) != 1 || !a.handsOver(open[0].Name) || r.stepNode(id).Kind != workflow.KindAgent {
		return chat.ToolCall{}, "", false
	}
	tc, to, ok := a.accepted(r.lastReply(id, fr).ToolCalls)
	return tc, to, ok && tc.ID == open[0].ID
}

// handed gives the hand-off that is to be made; nil where there is none.
func (r *Run) handed(id, fr int) *AgentHanded {
	tc, to, ok := r.handoff(id, fr)
	if !ok {
		return nil
	}
	target, scope := r.flowOf(id).agents[to], r.step(id).Scope
	if !r.systemFits(target, scope) {
		r.meetSize(id)
		return nil
	}
	return &AgentHanded{Frame: fr, ToolCallID: tc.ID, From: r.frame(id, fr).Agent, Agent: to, System: r.expandSystem(target, scope)}
}

// applyAgentHanded gives a frame to another agent. Each agent has its own turns in a frame, counted over all the times that it has it, so that handing to
// and fro ends like everything else.
func (r *Run) applyAgentHanded(ev *Event, d *AgentHanded) {
	fr := r.frame(ev.Step, d.Frame)
	spent := maps.Clone(fr.Spent)
	if spent == nil {
		spent, fr.First = map[string]int{}, fr.System
	}
	spent[fr.Agent] = fr.Turns
	fr.Agent, fr.System, fr.Turns, fr.Spent = d.Agent, d.System, spent[d.Agent], spent
	fr.Model, fr.Repairs = 0, 0
	title := r.flowOf(ev.Step).agents[d.Agent].Title()
	r.answerTurn(ev.Step, d.Frame, turnCall{ID: d.ToolCallID, Text: "The conversation is handed over to " + title + "."})
}
