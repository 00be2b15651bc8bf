package engine

import (
	"encoding/json"
	"slices"

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
	for _, tc := range last.ToolCalls {
		if s.isActive(id, fr) {
			s.callTool(id, fr, tc)
		}
	}
	s.turnAnswered(id, fr)
}

// callTool starts one tool call of a reply: a sub-agent, a tool, or an immediate answer if the call
// is invalid.
func (s *agents) callTool(id, fr int, tc chat.ToolCall) {
	a := s.agent(id, fr)
	var args map[string]json.RawMessage
	if raw := tc.Arguments; len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		s.emitStep(id, &ToolReturned{Frame: fr, ToolCallID: tc.ID, IsError: true,
			Text: "The arguments of this call are not a JSON object. Call the tool again with a JSON object."})
		return
	}
	if loop.HandsOver(a.Agent, tc.Name) {
		s.rejectHandoff(id, fr, tc)
		return
	}
	sub, ok := a.Subs[tc.Name]
	if !ok {
		if !s.budget.mayCallTool(id, "") {
			return
		}
		s.emitStep(id, &ToolCalled{Call: s.nextCall(id, fr), Attempt: 1, Frame: fr, Tool: tc.Name, ToolCallID: tc.ID})
		return
	}
	input := expr.Text(args["input"])
	f := s.frame(id, fr)
	next := len(s.graph.Step(id).Loop.Agent.Frames)
	target := s.graph.FlowOf(id).Agents[sub.Agent]
	if !(viewer{&s.state}).systemFits(target, s.graph.Step(id).Scope) {
		s.budget.endBySize(id)
		return
	}
	s.emitStep(id, &SubagentStarted{
		Frame: next, Parent: fr, ToolCallID: tc.ID, Call: loop.ConvID(id, next), ParentCall: f.Call, Agent: sub.Agent,
		Input:  input,
		System: viewer{&s.state}.expandSystem(target, s.graph.Step(id).Scope), Depth: f.Depth + 1,
	})
	s.ask(id, next)
}

// turnAnswered makes the next model call once every tool call of the turn has its result.
func (s *agents) turnAnswered(id, fr int) {
	if !s.isActive(id, fr) {
		return
	}
	waiting := len(s.frame(id, fr).Turn) > 0
	next := s.pendingHandoff(id, fr)
	switch exec := s.graph.StepNode(id).Kind == workflow.KindExec; {
	case exec && waiting:
		if s.budget.hasSlot(id) {
			s.execNext(id)
		}
		return
	case exec:
		s.execDone(id)
		return
	case waiting && next == nil:
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
		s.resumeTurn(id, fr)
		return
	}
	if f.Conv != loop.Shared && s.state.Loop.EndsWithReply(f.Conv) {
		s.replied(id, fr) // the request to correct that reply was withheld
		return
	}
	s.ask(id, fr)
}

// resumeTurn makes the tool calls of a turn that were not started.
func (s *agents) resumeTurn(id, fr int) {
	for _, t := range slices.Clone(s.frame(id, fr).Turn) {
		if t.Done || !s.isActive(id, fr) || s.state.Loop.IsAtWork(&s.state, id, fr, t.ID) {
			continue
		}
		for _, tc := range s.state.lastReply(id, fr).ToolCalls {
			if tc.ID == t.ID {
				s.callTool(id, fr, tc)
			}
		}
	}
	s.turnAnswered(id, fr)
}
