package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// endTool is the tool with which an agent ends a conversation (S3-6).
const endTool = "end"

// endInstruction is appended to the system prompt of every agent that is offered endTool (S3-6,
// S3-22).
const endInstruction = "When the conversation is over and no further action is needed, end it: call the tool `end`, " +
	"with your last words as its message."

// mayEndConversation reports whether the agent of step id may end the run with endTool.
func (m *machine) mayEndConversation(id int) bool {
	n := m.graph.StepNode(id)
	return n.Agent != nil && n.Agent.Prompt.Mode == workflow.PromptShared &&
		m.graph.FlowOf(id).Workflow.Rules.Conversational
}

// endNext is the value that ends a run unless an edge says otherwise (S3-5).
const endNext = "END"

// repliedShared routes after a reply in a shared conversation. Tool calls take precedence over
// `next` (S3-9).
func (m *machine) repliedShared(id, fr int, reply chat.Message) {
	n, rules := m.graph.StepNode(id), m.graph.FlowOf(id).Workflow.Rules
	route := n.Agent.Routing
	next, text := "", reply.Text.String()
	own := false
	for _, tc := range reply.ToolCalls {
		if ownCall(n, rules, tc.Name) {
			continue
		}
		if len(n.Ports[workflow.PortCalls]) == 0 {
			m.failForGood(id,
				event.Failure{Code: event.CodeNoRoute,
					Message: fmt.Sprintf("agent node %q called tool %s, but no edge leads from it to a "+
						"tool_executor node", n.Title(), tc.Name)})
			return
		}
		m.completeStep(id, &event.StepCompleted{Reply: true}, workflow.PortCalls)
		return
	}
	for _, tc := range reply.ToolCalls {
		content := "content"
		next, own = loop.Member(tc.Arguments, "next"), true
		if tc.Name == endTool && rules.Conversational {
			next, content = endNext, "message"
		}
		if said := loop.Member(tc.Arguments, content); reply.Text.IsZero() && said != "" {
			text = said // of several calls the last one counts, as for next
		}
		m.emitStep(id, &event.ToolReturned{Frame: fr, ToolCallID: tc.ID, Text: "routed to " + next})
	}
	var content event.Value
	if route == nil || !route.ToolOnly {
		chosen, inside := loop.Routed(text)
		if content = inside; route != nil && !own {
			next = chosen
		}
	}
	if route != nil {
		next = workflow.Named(next, slices.Concat(route.Values, route.Calls)...)
	}
	said := expr.Quote(text)
	if content != nil {
		said = content
	}
	if next == endNext && expr.Text(said) == "" {
		said = expr.Quote(m.lastWords(id))
	}
	done := &event.StepCompleted{Output: said}
	if bytes.Equal(said, expr.Quote(reply.Text.String())) {
		done = &event.StepCompleted{Reply: true}
	}
	switch {
	case route != nil && slices.Contains(route.Values, next) && len(n.Ports[workflow.NextPort(next)]) > 0:
		m.completeStep(id, done, workflow.NextPort(next))
	case route != nil && slices.Contains(route.Calls, next) && len(n.Ports[workflow.PortCalls]) > 0:
		m.completeStep(id, done, workflow.PortCalls)
	case next == endNext:
		m.completeStep(id, done)
		m.endAll(id)
	case route == nil:
		m.completeStep(id, done, m.state.plan.out...)
	case route.Else != "" && len(n.Ports[route.Else]) > 0:
		m.completeStep(id, done, route.Else)
	case next != "" && len(route.Values)+len(route.Calls) > 0:
		m.failForGood(id,
			event.Failure{Code: event.CodeNoRoute, Message: fmt.Sprintf("no edge of %q for next %q", n.Title(), next)})
	default:
		m.completeStep(id, done)
	}
}

// lastWords returns the last non-empty output of an agent before step id (S3-22).
func (m *machine) lastWords(id int) string {
	for i := id - 1; i >= 1; i-- {
		if st := m.graph.Step(i); st.Status == event.Completed && m.graph.StepNode(i).Kind == workflow.KindAgent {
			if text := st.Output.Text().String(); text != "" {
				return text
			}
		}
	}
	return ""
}

// toolDefs returns the tools that the engine answers for a frame.
func (m *machine) toolDefs(id, fr int) []chat.ToolDef {
	f, a := m.graph.FlowOf(id), m.agent(id, fr)
	defs := toolDefs(f, a)
	n := m.graph.StepNode(id)
	if n.Agent == nil || m.frame(id, fr).Parent >= 0 || n.Agent.Prompt.Mode != workflow.PromptShared {
		return handoffDef(f, defs, a)
	}
	if route := n.Agent.Routing; route != nil && route.Tool != "" && len(route.Values) > 0 {
		values, _ := json.Marshal(route.Values) // strings always encode
		defs = append(defs, chat.ToolDef{
			Name:        route.Tool,
			Description: "Hand over to the agent or place named by next. Your turn ends with this call.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"next":{"type":"string","enum":` + string(
				values) + `},"content":{"type":"string","description":"What you want to say."}},"required":["next"]}`),
		})
	}
	if m.mayEndConversation(id) {
		defs = append(defs, chat.ToolDef{
			Name: endTool, Description: "End the conversation. Call it when the task is finished.",
			Parameters: json.RawMessage(
				`{"type":"object","properties":{"message":{"type":"string","description":"A last message."}}}`),
		})
	}
	return defs
}

// engineToolNames returns the names of the tools that the engine answers for a frame, and for the
// agent whose calls an exec node carries out.
func (m *machine) engineToolNames(id, fr int) []string {
	if m.graph.StepNode(id).Kind == workflow.KindExec {
		caller := m.graph.StepNode(m.graph.Step(id).From)
		if caller.Agent == nil {
			return nil
		}
		var names []string
		if route := caller.Agent.Routing; route != nil && route.Tool != "" && len(route.Values) > 0 {
			names = append(names, route.Tool)
		}
		if m.graph.FlowOf(id).Workflow.Rules.Conversational {
			names = append(names, endTool)
		}
		return names
	}
	var names []string
	for _, d := range m.toolDefs(id, fr) {
		names = append(names, d.Name)
	}
	return names
}
