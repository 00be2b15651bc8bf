package engine

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// replied continues after a model's reply: with its tool calls or with its answer.
func (s *agents) replied(id, fr int) {
	f, a := s.frame(id, fr), s.agent(id, fr)
	last := s.state.lastReply(id, fr)
	if s.state.isFailing() && len(f.Turn) > 0 {
		s.steps.cancelStep(id, "the run failed") // nothing new starts (S0-46)
		return
	}
	if n := s.graph.StepNode(id); n.Kind == workflow.KindAgent && f.Parent < 0 &&
		n.Agent.Prompt.Mode == workflow.PromptShared {
		s.repliedShared(id, fr, last)
		return
	}
	if len(f.Turn) == 0 {
		s.endFrame(id, fr, last)
		return
	}
	if text := f.Stuck(a.Agent, last); text != "" {
		s.emitStep(id, &LimitReached{Limit: CodeNoProgress, Max: int64(a.Repeats())})
		s.frameFailed(id, fr, Failure{Code: CodeNoProgress, Message: text}, s.steps.failStep)
		return
	}
	s.continueTurn(id, fr)
}

// startTurn starts the tool calls of a reply whose turn has come, and finds out early about
// the others whether a person must decide.
func (s *agents) startTurn(id, fr int) {
	for _, tc := range s.state.lastReply(id, fr).ToolCalls {
		if !s.isActive(id, fr) {
			return
		}
		f := s.frame(id, fr)
		i := slices.IndexFunc(f.Turn, func(t loop.TurnCall) bool { return t.ID == tc.ID })
		if i < 0 || f.Turn[i].Done {
			continue
		}
		isTurn := s.state.Loop.IsTurn(&s.state, id, fr, tc.ID)
		key, c := s.state.Loop.TurnCall(id, fr, tc.ID)
		switch {
		case c != nil && c.State == loop.Queued && isTurn:
			if s.budget.mayCallTool(id, key) {
				s.emitStep(id, c.Again(key))
			}
		case s.state.Loop.IsAtWork(&s.state, id, fr, tc.ID):
		case isTurn, f.Turn[i].Guarded, f.Turn[i].Asks && !loop.Delegates(s.agent(id, fr).Agent, tc.Name):
			s.callTool(id, fr, tc, !isTurn)
		}
	}
}

// concurrent returns the indexes of the tool calls of a reply that may be in flight together: those
// that the driver found, and those of sub-agents.
func (s *agents) concurrent(id, fr int, calls []chat.ToolCall, found []int) []int {
	if len(calls) < 2 {
		return nil
	}
	a := s.agent(id, fr)
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
func (s *agents) callTool(id, fr int, tc chat.ToolCall, checkOnly bool) {
	a := s.agent(id, fr)
	var args map[string]json.RawMessage
	if raw := tc.Arguments; len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		s.emitStep(id, &ToolReturned{Frame: fr, ToolCallID: tc.ID, IsError: true,
			Text: "The arguments of this call are not a JSON object. Call the tool again with a JSON object."})
		return
	}
	guarded := s.frame(id, fr).Guards(tc.ID)
	if loop.HandsOver(a.Agent, tc.Name) && (s.rejectsHandoff(id, fr, tc) || !guarded) {
		return
	}
	if !loop.Asks(a.Agent, tc.Name) || guarded {
		if !s.budget.mayCallTool(id, "") {
			return
		}
		s.emitStep(id, &ToolCalled{Call: s.nextCall(id, fr), Attempt: 1, Frame: fr, Tool: tc.Name, ToolCallID: tc.ID,
			CheckOnly: checkOnly})
		return
	}
	sub, input, ok := loop.Task(a.Agent, tc.Name, tc.Arguments)
	if !ok {
		s.emitStep(id, &ToolReturned{Frame: fr, ToolCallID: tc.ID, IsError: true,
			Text: "The call names none of the agents that take tasks: " + subagentNames(a.Agent) + "."})
		return
	}
	f := s.frame(id, fr)
	next := len(s.graph.Step(id).Loop.Agent.Frames)
	target, seen := s.graph.FlowOf(id).Agents[sub.Agent], viewer{&s.state}.envOf(id)
	seen.input = expr.Quote(input)
	if !seen.systemFits(target, seen) {
		s.budget.endBySize(id)
		return
	}
	system, failed := expandSystem(target, seen)
	if failed != nil {
		s.frameFailed(id, fr, *failed, s.steps.failStep)
		return
	}
	s.emitStep(id, &SubagentStarted{
		Frame: next, Parent: fr, ToolCallID: tc.ID, Call: loop.ConvID(id, next), ParentCall: f.Call, Agent: sub.Agent,
		Input: input, System: system, Depth: f.Depth + 1,
	})
	s.ask(id, next)
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
func (s *agents) turnAnswered(id, fr int) {
	if !s.isActive(id, fr) {
		return
	}
	waiting := len(s.frame(id, fr).Turn) > 0
	if s.graph.StepNode(id).Kind == workflow.KindExec {
		switch {
		case !waiting:
			s.execDone(id)
		case s.budget.hasSlot(id):
			s.execNext(id)
		}
		return
	}
	if waiting && !s.state.isFailing() && s.budget.hasSlot(id) {
		s.continueTurn(id, fr)
		return
	}
	s.endTurn(id, fr)
}

// continueTurn starts the calls of a turn whose turn has come, and ends the turn if none is left to
// wait for: the engine answers some calls itself.
func (s *agents) continueTurn(id, fr int) {
	s.startTurn(id, fr)
	if s.isActive(id, fr) {
		s.endTurn(id, fr)
	}
}

// endTurn hands the conversation over or makes the next model call, if the turn waits for no other
// result.
func (s *agents) endTurn(id, fr int) {
	next := s.pendingHandoff(id, fr)
	if !s.isActive(id, fr) { // the agent that takes over cannot begin
		return
	}
	if len(s.frame(id, fr).Turn) > 0 && next == nil {
		return
	}
	if s.state.isFailing() {
		s.steps.cancelStep(id, "the run failed")
		return
	}
	if next != nil {
		s.emitStep(id, next)
	}
	s.ask(id, fr)
}

// resume makes the calls that the agent loops of a step would have made next.
func (s *agents) resume(id int) {
	for fr := 0; s.graph.Step(id).Loop.Agent != nil && fr < len(s.graph.Step(id).Loop.Agent.Frames); fr++ {
		s.resumeFrame(id, fr)
	}
}

func (s *agents) resumeFrame(id, fr int) {
	if !s.isActive(id, fr) {
		return
	}
	f := s.frame(id, fr)
	if len(f.Turn) == 0 && s.state.Loop.Any(func(c *loop.Call) bool { return c.Step == id && c.Frame == fr }) {
		return
	}
	if len(f.Turn) > 0 {
		s.continueTurn(id, fr)
		return
	}
	if f.Conv != loop.Shared && s.state.Loop.EndsWithReply(f.Conv) {
		s.replied(id, fr) // the request to correct that reply was withheld
		return
	}
	s.ask(id, fr)
}
