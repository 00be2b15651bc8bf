package engine

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// endTool is the tool by which an agent ends a conversation (S3-6).
const endTool = "end"

// endNext is the value that ends a run where no edge says otherwise (S3-5).
const endNext = "END"

// repliedShared routes after a reply in a shared conversation. Tool calls win over `next` (S3-9).
func (r *Run) repliedShared(id, fr int, reply chat.Message) {
	n, rules := r.stepNode(id), r.flowOf(id).w.Rules
	route := n.Agent.Routing
	if route == nil {
		route = &workflow.Routing{}
	}
	var tools, own []chat.ToolCall
	for _, tc := range reply.ToolCalls {
		if (route.Tool != "" && tc.Name == route.Tool) || (rules.Conversational && tc.Name == endTool) {
			own = append(own, tc)
		} else {
			tools = append(tools, tc)
		}
	}
	if len(tools) > 0 {
		if len(n.ports[workflow.PortCalls]) == 0 {
			r.giveUp(id, Failure{Code: CodeNoRoute, Message: fmt.Sprintf("agent node %q called tool %s, but no edge leads from it to a tool_executor node", n.Title(), tools[0].Name)})
			return
		}
		r.complete(id, &StepCompleted{Reply: true}, workflow.PortCalls)
		return
	}
	next, text := "", reply.Text
	for _, tc := range own {
		var args struct {
			Next    string `json:"next"`
			Content string `json:"content"`
			Message string `json:"message"`
		}
		_ = json.Unmarshal(tc.Arguments, &args) // what is missing stays empty
		next = args.Next
		if tc.Name == endTool {
			next, args.Content = endNext, args.Message
		}
		if text == "" {
			text = args.Content
		}
		r.emitStep(id, &ToolReturned{Frame: fr, ToolCallID: tc.ID, Text: "routed to " + next})
	}
	if len(own) == 0 {
		next = nextOf(text)
	}
	done := &StepCompleted{Output: expr.Quote(text)}
	if text == reply.Text {
		done = &StepCompleted{Reply: true}
	}
	switch {
	case next != "" && len(n.ports[next]) > 0:
		r.complete(id, done, next)
	case next == endNext:
		r.complete(id, done)
		r.endAll(id)
	case route.Else != "" && len(n.ports[route.Else]) > 0:
		r.complete(id, done, route.Else)
	case next != "":
		r.giveUp(id, Failure{Code: CodeNoRoute, Message: fmt.Sprintf("no edge of %q for next %q", n.Title(), next)})
	default:
		r.complete(id, done)
	}
}

// nextOf reads `next` of a reply that is a JSON object (S3-10).
func nextOf(text string) string {
	v, ok := schema.ExtractJSON(text)
	if !ok {
		return ""
	}
	var reply struct {
		Next string `json:"next"`
	}
	if json.Unmarshal(v, &reply) != nil {
		return ""
	}
	return reply.Next
}

// renderShared shows the shared conversation to one agent (D30): its own messages as they are, those of others as text under their names.
func renderShared(msgs []chat.Message, a *agent) []chat.Message {
	out := make([]chat.Message, 0, len(msgs)+1)
	mine := false
	for _, m := range msgs {
		switch m.Role {
		case chat.RoleAssistant:
			mine = m.Name == a.Title()
			if mine {
				m.Name = ""
				out = append(out, m)
				continue
			}
			var text strings.Builder
			text.WriteString(m.Name + ": " + m.Text)
			for _, tc := range m.ToolCalls {
				fmt.Fprintf(&text, "\n[calls %s %s]", tc.Name, compact(tc.Arguments))
			}
			out = append(out, chat.Message{Role: chat.RoleUser, Text: text.String()})
		case chat.RoleTool:
			if mine {
				out = append(out, m)
				continue
			}
			out = append(out, chat.Message{Role: chat.RoleUser, Text: "[" + m.ToolName + " returned] " + m.Text})
		default:
			out = append(out, m)
		}
	}
	if len(out) > 0 && out[len(out)-1].Role == chat.RoleAssistant {
		out = append(out, chat.Message{Role: chat.RoleUser, Text: "Go on."})
	}
	return out
}

// toolDefs gives the tools that the engine answers for a frame.
func (r *Run) toolDefs(id, fr int) []chat.ToolDef {
	f, a := r.flowOf(id), r.agent(id, fr)
	defs := f.toolDefs(a)
	n := r.stepNode(id)
	if n.Agent == nil || r.frame(id, fr).Parent >= 0 || n.Agent.Prompt.Mode != workflow.PromptShared {
		return defs
	}
	if route := n.Agent.Routing; route != nil && route.Tool != "" {
		values, _ := json.Marshal(route.Values) // strings always encode
		defs = append(defs, chat.ToolDef{
			Name: route.Tool, Description: "Hand over to the agent or place named by next. Your turn ends with this call.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"next":{"type":"string","enum":` + string(values) + `},"content":{"type":"string","description":"What you want to say."}},"required":["next"]}`),
		})
	}
	if f.w.Rules.Conversational {
		defs = append(defs, chat.ToolDef{
			Name: endTool, Description: "End the conversation. Call it when the task is finished.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"A last message."}}}`),
		})
	}
	return defs
}

// exec carries out the tool calls of the reply before it, one after another (S3-16).
func (r *Run) exec(id int) {
	caller := r.stepNode(r.step(id).From)
	route := caller.Agent.Routing
	rules := r.flowOf(id).w.Rules
	for _, tc := range r.lastReply(id, 0).ToolCalls {
		if (route != nil && route.Tool != "" && tc.Name == route.Tool) || (rules.Conversational && tc.Name == endTool) {
			r.emitStep(id, &ToolReturned{Frame: 0, ToolCallID: tc.ID, Text: "not taken: tools were called in the same reply"})
		}
	}
	r.execNext(id)
}

func (r *Run) execNext(id int) {
	f := r.frame(id, 0)
	i := slices.IndexFunc(f.Turn, func(t turnCall) bool { return !t.Done })
	if i < 0 {
		return
	}
	r.emitStep(id, &ToolCalled{Call: callID(id, 0, r.step(id).Calls+1), Attempt: 1, Tool: f.Turn[i].Name, ToolCallID: f.Turn[i].ID})
}

// execDone routes after the tools (S3-4): by the last tool's name, else by the one fallback edge, else back to the caller.
func (r *Run) execDone(id int) {
	n := r.stepNode(id)
	msgs := r.s.Convs[sharedConv]
	last := msgs[len(msgs)-1]
	done := &StepCompleted{Output: expr.Quote(last.Text)}
	switch port := "tool:" + last.ToolName; {
	case len(n.ports[port]) > 0:
		r.complete(id, done, port)
	case len(n.ports[workflow.PortOut]) > 0:
		r.complete(id, done, workflow.PortOut)
	default:
		done.Goto = []string{r.stepNode(r.step(id).From).ID}
		r.complete(id, done)
	}
}

// endAll cancels whatever else runs in the scope of step id, which ends it.
func (r *Run) endAll(id int) {
	r.cancelScope(r.step(id).Scope, "the workflow ended at "+r.stepNode(id).ID)
}
