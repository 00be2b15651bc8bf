package engine

import (
	"bytes"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// ownCall reports whether the engine answers a tool call of an agent node itself, by routing.
func ownCall(n *plan.Node, rules workflow.Rules, tool string) bool {
	route := n.Agent.Routing
	return route != nil && route.Tool != "" && tool == route.Tool || rules.Conversational && tool == endTool
}

// exec executes the tool calls of the preceding reply, one after another (S3-16). If there are
// none, the step's input continues as it would after tools: along the edge without a condition, or
// else back to the sender (S3-4).
func (s *agents) exec(id int) {
	if st := s.graph.Step(id); st.Loop.Agent == nil || len(st.Loop.Agent.Frames[0].Turn) == 0 {
		done := &StepCompleted{Same: true}
		if n := s.graph.StepNode(id); st.From > 0 && len(n.Ports[workflow.PortOut]) == 0 {
			done.Goto = []string{s.graph.StepNode(st.From).ID}
		}
		s.steps.complete(id, done, s.state.plan.out...)
		return
	}
	caller, rules := s.graph.StepNode(s.graph.Step(id).From), s.graph.FlowOf(id).Workflow.Rules
	for _, tc := range slices.Clone(s.frame(id, 0).Turn) {
		if !tc.Done && ownCall(caller, rules, tc.Name) {
			s.emitStep(id,
				&ToolReturned{Frame: 0, ToolCallID: tc.ID, Text: "not taken: tools were called in the same reply"})
		}
	}
	s.execNext(id)
}

func (s *agents) execNext(id int) {
	f := s.frame(id, 0)
	i := slices.IndexFunc(f.Turn, func(t loop.TurnCall) bool { return !t.Done })
	if i < 0 {
		s.execDone(id)
		return
	}
	if !s.budget.mayCallTool(id, "") {
		return
	}
	s.emitStep(id, &ToolCalled{Call: s.nextCall(id, 0), Attempt: 1, Tool: f.Turn[i].Name, ToolCallID: f.Turn[i].ID})
}

// execDone routes after the tools (S3-4): by the tool that was executed last, or else along the
// only fallback edge, or else back to the caller.
func (s *agents) execDone(id int) {
	n, caller, rules := s.graph.StepNode(id), s.graph.StepNode(s.graph.Step(id).From), s.graph.FlowOf(id).Workflow.Rules
	var last chat.ToolCall
	for _, tc := range s.state.lastReply(id, 0).ToolCalls {
		if !ownCall(caller, rules, tc.Name) {
			last = tc
		}
	}
	done := &StepCompleted{}
	for _, m := range s.state.Loop.Conv(loop.Shared) {
		if m.Role == chat.RoleTool && m.ToolCallID == last.ID {
			done.Output = expr.Quote(m.Text.String())
		}
	}
	if out := s.graph.Step(id).ResultOutput(); done.Output != nil && bytes.Equal(out.Value(), done.Output) {
		done.Output, done.Given = nil, true
	}
	switch port := workflow.ToolPort(last.Name); {
	case len(n.Ports[port]) > 0:
		s.steps.complete(id, done, port)
	case len(n.Ports[workflow.PortOut]) > 0:
		s.steps.complete(id, done, s.state.plan.out...)
	default:
		done.Goto = []string{caller.ID}
		s.steps.complete(id, done)
	}
}
