package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// replied continues after a model's reply: with its tool calls or with its answer.
func (m *machine) replied(id, fr int) {
	f, a := m.frame(id, fr), m.agent(id, fr)
	last := m.state.lastReply(id, fr)
	if m.state.isFailing() && len(f.Turn) > 0 {
		m.cancelStep(id, "the run failed") // nothing new starts (S0-46)
		return
	}
	if n := m.graph.StepNode(id); n.Kind == workflow.KindAgent && f.Parent < 0 &&
		n.Agent.Prompt.Mode == workflow.PromptShared {
		m.repliedShared(id, fr, last)
		return
	}
	if len(f.Turn) == 0 {
		m.endFrame(id, fr, last)
		return
	}
	if text := f.Stuck(a.Agent, last); text != "" {
		m.emitStep(id, &event.LimitReached{Limit: event.CodeNoProgress, Max: int64(a.Repeats())})
		m.frameFailed(id, fr, event.Failure{Code: event.CodeNoProgress, Message: text}, m.failStep)
		return
	}
	m.continueTurn(id, fr)
}

// startTurn starts the tool calls of a reply whose turn has come, and finds out early about
// the others whether a person must decide.
func (m *machine) startTurn(id, fr int) {
	for _, tc := range m.state.lastReply(id, fr).ToolCalls {
		if !m.isActive(id, fr) {
			return
		}
		f := m.frame(id, fr)
		i := slices.IndexFunc(f.Turn, func(t loop.TurnCall) bool { return t.ID == tc.ID })
		if i < 0 || f.Turn[i].Done {
			continue
		}
		isTurn := m.state.Loop.IsTurn(&m.state, id, fr, tc.ID)
		key, c := m.state.Loop.TurnCall(id, fr, tc.ID)
		switch {
		case c != nil && c.State == loop.Queued && isTurn:
			if m.mayCallTool(id, key) {
				m.emitStep(id, c.Again(key))
			}
		case m.state.Loop.IsAtWork(&m.state, id, fr, tc.ID):
		case isTurn, f.Turn[i].Guarded, f.Turn[i].Asks && !loop.Delegates(m.agent(id, fr).Agent, tc.Name):
			m.callTool(id, fr, tc, !isTurn)
		}
	}
}

// concurrent returns the indexes of the tool calls of a reply that may be in flight together: those
// that the driver found, and those of sub-agents.
func (m *machine) concurrent(id, fr int, calls []chat.ToolCall, found []int) []int {
	if len(calls) < 2 {
		return nil
	}
	a := m.agent(id, fr)
	var out []int
	for i, tc := range calls {
		if loop.Asks(a.Agent, tc.Name) || a.ToolCalls == workflow.ToolCallsParallel || slices.Contains(found, i) {
			out = append(out, i)
		}
	}
	return out
}

// callTool starts one tool call of a reply: a sub-agent, a tool, or an immediate answer if the call
// is invalid. A sub-agent or a hand-off that the permissions must allow first is called like a
// tool. If checkOnly is set, the call's turn has not come, and it is only found out whether a
// person must decide about it.
func (m *machine) callTool(id, fr int, tc chat.ToolCall, checkOnly bool) {
	a := m.agent(id, fr)
	var args map[string]json.RawMessage
	if raw := tc.Arguments; len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		m.emitStep(id, &event.ToolReturned{Frame: fr, ToolCallID: tc.ID, IsError: true,
			Text: "The arguments of this call are not a JSON object. Call the tool again with a JSON object."})
		return
	}
	guarded := m.frame(id, fr).Guards(tc.ID)
	if loop.HandsOver(a.Agent, tc.Name) && (m.rejectsHandoff(id, fr, tc) || !guarded) {
		return
	}
	if !loop.Asks(a.Agent, tc.Name) || guarded {
		if !m.mayCallTool(id, "") {
			return
		}
		m.emitStep(id, &event.ToolCalled{Call: m.nextCall(id, fr), Attempt: 1, Frame: fr, Tool: tc.Name,
			ToolCallID: tc.ID,
			CheckOnly:  checkOnly})
		return
	}
	sub, input, ok := loop.Task(a.Agent, tc.Name, tc.Arguments)
	if !ok {
		m.emitStep(id, &event.ToolReturned{Frame: fr, ToolCallID: tc.ID, IsError: true,
			Text: "The call names none of the agents that take tasks: " + subagentNames(a.Agent) + "."})
		return
	}
	f := m.frame(id, fr)
	next := len(m.graph.Step(id).Loop.Agent.Frames)
	target, seen := m.graph.FlowOf(id).Agents[sub.Agent], m.state.envOf(id)
	seen.input = expr.Quote(input)
	if !seen.systemFits(target, seen) {
		m.endBySize(id)
		return
	}
	system, failed := expandSystem(target, seen)
	if failed != nil {
		m.frameFailed(id, fr, *failed, m.failStep)
		return
	}
	m.emitStep(id, &event.SubagentStarted{
		Frame: next, Parent: fr, ToolCallID: tc.ID, Call: loop.ConvID(id, next), ParentCall: f.Call, Agent: sub.Agent,
		Input: input, System: system, Depth: f.Depth + 1,
	})
	m.ask(id, next)
}

// subagentNames returns the ids of an agent's sub-agents as a list.
func subagentNames(a *workflow.Agent) string {
	var ids []string
	for _, s := range a.Subagents {
		ids = append(ids, s.Agent)
	}
	return strings.Join(ids, ", ")
}

// turnAnswered starts what a result was awaited for: further calls of the turn or, once each has
// its result, the next model call.
func (m *machine) turnAnswered(id, fr int) {
	if !m.isActive(id, fr) {
		return
	}
	waiting := len(m.frame(id, fr).Turn) > 0
	if m.graph.StepNode(id).Kind == workflow.KindExec {
		switch {
		case !waiting:
			m.execDone(id)
		case m.hasSlot(id):
			m.execNext(id)
		}
		return
	}
	if waiting && !m.state.isFailing() && m.hasSlot(id) {
		m.continueTurn(id, fr)
		return
	}
	m.endTurn(id, fr)
}

// continueTurn starts the calls of a turn whose turn has come, and ends the turn if none is left to
// wait for: the engine answers some calls itself.
func (m *machine) continueTurn(id, fr int) {
	m.startTurn(id, fr)
	if m.isActive(id, fr) {
		m.endTurn(id, fr)
	}
}

// endTurn hands the conversation over or makes the next model call, if the turn waits for no other
// result.
func (m *machine) endTurn(id, fr int) {
	next := m.pendingHandoff(id, fr)
	if !m.isActive(id, fr) { // the agent that takes over cannot begin
		return
	}
	if len(m.frame(id, fr).Turn) > 0 && next == nil {
		return
	}
	if m.state.isFailing() {
		m.cancelStep(id, "the run failed")
		return
	}
	if next != nil {
		m.emitStep(id, next)
	}
	m.ask(id, fr)
}

// resume makes the calls that the agent loops of a step would have made next.
func (m *machine) resume(id int) {
	for fr := 0; m.graph.Step(id).Loop.Agent != nil && fr < len(m.graph.Step(id).Loop.Agent.Frames); fr++ {
		m.resumeFrame(id, fr)
	}
}

func (m *machine) resumeFrame(id, fr int) {
	if !m.isActive(id, fr) {
		return
	}
	f := m.frame(id, fr)
	if len(f.Turn) == 0 && m.state.Loop.Any(func(c *loop.Call) bool { return c.Step == id && c.Frame == fr }) {
		return
	}
	if len(f.Turn) > 0 {
		m.continueTurn(id, fr)
		return
	}
	if f.Conv != loop.Shared && m.state.Loop.EndsWithReply(f.Conv) {
		m.replied(id, fr) // the request to correct that reply was withheld
		return
	}
	m.ask(id, fr)
}
