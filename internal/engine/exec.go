package engine

import (
	"bytes"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
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
func (m *machine) exec(id int) {
	if st := m.graph.Step(id); st.Loop.Agent == nil || len(st.Loop.Agent.Frames[0].Turn) == 0 {
		done := &event.StepCompleted{Same: true}
		if n := m.graph.StepNode(id); st.From > 0 && len(n.Ports[workflow.PortOut]) == 0 {
			done.Goto = []string{m.graph.StepNode(st.From).ID}
		}
		m.completeStep(id, done, m.state.plan.out...)
		return
	}
	caller, rules := m.graph.StepNode(m.graph.Step(id).From), m.graph.FlowOf(id).Workflow.Rules
	for _, tc := range slices.Clone(m.frame(id, 0).Turn) {
		if !tc.Done && ownCall(caller, rules, tc.Name) {
			m.emitStep(id,
				&event.ToolReturned{Frame: 0, ToolCallID: tc.ID,
					Text: "not taken: tools were called in the same reply"})
		}
	}
	m.execNext(id)
}

func (m *machine) execNext(id int) {
	f := m.frame(id, 0)
	i := slices.IndexFunc(f.Turn, func(t loop.TurnCall) bool { return !t.Done })
	if i < 0 {
		m.execDone(id)
		return
	}
	if !m.mayCallTool(id, "") {
		return
	}
	m.emitStep(id, &event.ToolCalled{Call: m.nextCall(id, 0), Attempt: 1, Tool: f.Turn[i].Name,
		ToolCallID: f.Turn[i].ID})
}

// execDone routes after the tools (S3-4): by the tool that was executed last, or else along the
// only fallback edge, or else back to the caller.
func (m *machine) execDone(id int) {
	n, caller, rules := m.graph.StepNode(id), m.graph.StepNode(m.graph.Step(id).From), m.graph.FlowOf(id).Workflow.Rules
	var last chat.ToolCall
	for _, tc := range m.state.lastReply(id, 0).ToolCalls {
		if !ownCall(caller, rules, tc.Name) {
			last = tc
		}
	}
	done := &event.StepCompleted{}
	for _, msg := range m.state.Loop.Conv(loop.Shared) {
		if msg.Role == chat.RoleTool && msg.ToolCallID == last.ID {
			done.Output = expr.Quote(msg.Text.String())
		}
	}
	if out := m.graph.Step(id).ResultOutput(); done.Output != nil && bytes.Equal(out.Value(), done.Output) {
		done.Output, done.Given = nil, true
	}
	switch port := workflow.ToolPort(last.Name); {
	case len(n.Ports[port]) > 0:
		m.completeStep(id, done, port)
	case len(n.Ports[workflow.PortOut]) > 0:
		m.completeStep(id, done, m.state.plan.out...)
	default:
		done.Goto = []string{caller.ID}
		m.completeStep(id, done)
	}
}
