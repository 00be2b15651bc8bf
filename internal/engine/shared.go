package engine

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// endTool is the tool by which an agent ends a conversation (S3-6).
const endTool = "end"

// endInstruction is appended to the system prompt of every agent that is offered endTool (S3-6, S3-22).
const endInstruction = "When the conversation is over and no further action is needed, end it: call the tool `end`, with your last words as its message."

// converses tells whether the agent of step id may end the run by endTool.
func (r *Run) converses(id int) bool {
	n := r.stepNode(id)
	return n.Agent != nil && n.Agent.Prompt.Mode == workflow.PromptShared && r.flowOf(id).Workflow.Rules.Conversational
}

// endNext is the value that ends a run where no edge says otherwise (S3-5).
const endNext = "END"

// ownCall tells whether a tool call of an agent node is one that the engine answers by routing.
func (r *Run) ownCall(n *plan.Node, rules workflow.Rules, tool string) bool {
	route := n.Agent.Routing
	return route != nil && route.Tool != "" && tool == route.Tool || rules.Conversational && tool == endTool
}

// repliedShared routes after a reply in a shared conversation. Tool calls win over `next` (S3-9).
func (r *Run) repliedShared(id, fr int, reply chat.Message) {
	n, rules := r.stepNode(id), r.flowOf(id).Workflow.Rules
	route := n.Agent.Routing
	next, text := "", reply.Text.String()
	own := false
	for _, tc := range reply.ToolCalls {
		if r.ownCall(n, rules, tc.Name) {
			continue
		}
		if len(n.Ports[workflow.PortCalls]) == 0 {
			r.giveUp(id, Failure{Code: CodeNoRoute, Message: fmt.Sprintf("agent node %q called tool %s, but no edge leads from it to a tool_executor node", n.Title(), tc.Name)})
			return
		}
		r.complete(id, &StepCompleted{Reply: true}, workflow.PortCalls)
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
		r.emitStep(id, &ToolReturned{Frame: fr, ToolCallID: tc.ID, Text: "routed to " + next})
	}
	chosen, content := loop.Routed(text)
	if route != nil && !own {
		next = chosen
	}
	said := expr.Quote(text)
	if content != nil {
		said = content
	}
	if next == endNext && expr.Text(said) == "" {
		said = expr.Quote(r.lastWords(id))
	}
	done := &StepCompleted{Output: said}
	if bytes.Equal(said, expr.Quote(reply.Text.String())) {
		done = &StepCompleted{Reply: true}
	}
	switch {
	case route != nil && slices.Contains(route.Values, next) && len(n.Ports[workflow.NextPort(next)]) > 0:
		r.complete(id, done, workflow.NextPort(next))
	case route != nil && slices.Contains(route.Calls, next) && len(n.Ports[workflow.PortCalls]) > 0:
		r.complete(id, done, workflow.PortCalls)
	case next == endNext:
		r.complete(id, done)
		r.endAll(id)
	case route == nil:
		r.complete(id, done, r.plan.out...)
	case route.Else != "" && len(n.Ports[route.Else]) > 0:
		r.complete(id, done, route.Else)
	case next != "" && len(route.Values)+len(route.Calls) > 0:
		r.giveUp(id, Failure{Code: CodeNoRoute, Message: fmt.Sprintf("no edge of %q for next %q", n.Title(), next)})
	default:
		r.complete(id, done)
	}
}

// lastWords is what an agent said last before step id (S3-22).
func (r *Run) lastWords(id int) string {
	for i := id - 1; i >= 1; i-- {
		if st := r.step(i); st.Status == stepCompleted && r.stepNode(i).Kind == workflow.KindAgent {
			if text := st.Output.Text().String(); text != "" {
				return text
			}
		}
	}
	return ""
}

// toolDefs gives the tools that the engine answers for a frame.
func (r *Run) toolDefs(id, fr int) []chat.ToolDef {
	f, a := r.flowOf(id), r.agent(id, fr)
	defs := toolDefs(f, a)
	n := r.stepNode(id)
	if n.Agent == nil || r.frame(id, fr).Parent >= 0 || n.Agent.Prompt.Mode != workflow.PromptShared {
		return handoffDef(f, defs, a)
	}
	if route := n.Agent.Routing; route != nil && route.Tool != "" && len(route.Values) > 0 {
		values, _ := json.Marshal(route.Values) // strings always encode
		defs = append(defs, chat.ToolDef{
			Name: route.Tool, Description: "Hand over to the agent or place named by next. Your turn ends with this call.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"next":{"type":"string","enum":` + string(values) + `},"content":{"type":"string","description":"What you want to say."}},"required":["next"]}`),
		})
	}
	if r.converses(id) {
		defs = append(defs, chat.ToolDef{
			Name: endTool, Description: "End the conversation. Call it when the task is finished.",
			Parameters: json.RawMessage(`{"type":"object","properties":{"message":{"type":"string","description":"A last message."}}}`),
		})
	}
	return defs
}

// offered names the tools that the engine answers for a frame, and for the agent whose calls an exec node carries out.
func (r *Run) offered(id, fr int) []string {
	if r.stepNode(id).Kind == workflow.KindExec {
		caller := r.stepNode(r.step(id).From)
		if caller.Agent == nil {
			return nil
		}
		var names []string
		if route := caller.Agent.Routing; route != nil && route.Tool != "" && len(route.Values) > 0 {
			names = append(names, route.Tool)
		}
		if r.flowOf(id).Workflow.Rules.Conversational {
			names = append(names, endTool)
		}
		return names
	}
	var names []string
	for _, d := range r.toolDefs(id, fr) {
		names = append(names, d.Name)
	}
	return names
}

// exec carries out the tool calls of the reply before it, one after another (S3-16). Without any, its input goes on as after tools: by the edge
// without condition, else back to who sent it (S3-4).
func (r *Run) exec(id int) {
	if st := r.step(id); st.Loop.Agent == nil || len(st.Loop.Agent.Frames[0].Turn) == 0 {
		done := &StepCompleted{Same: true}
		if n := r.stepNode(id); st.From > 0 && len(n.Ports[workflow.PortOut]) == 0 {
			done.Goto = []string{r.stepNode(st.From).ID}
		}
		r.complete(id, done, r.plan.out...)
		return
	}
	caller, rules := r.stepNode(r.step(id).From), r.flowOf(id).Workflow.Rules
	for _, tc := range slices.Clone(r.frame(id, 0).Turn) {
		if !tc.Done && r.ownCall(caller, rules, tc.Name) {
			r.emitStep(id, &ToolReturned{Frame: 0, ToolCallID: tc.ID, Text: "not taken: tools were called in the same reply"})
		}
	}
	r.execNext(id)
}

func (r *Run) execNext(id int) {
	f := r.frame(id, 0)
	i := slices.IndexFunc(f.Turn, func(t loop.TurnCall) bool { return !t.Done })
	if i < 0 {
		r.execDone(id)
		return
	}
	if !r.mayCallTool(id, "") {
		return
	}
	r.emitStep(id, &ToolCalled{Call: r.callID(id, 0, r.step(id).Loop.Numbered+1), Attempt: 1, Tool: f.Turn[i].Name, ToolCallID: f.Turn[i].ID})
}

// execDone routes after the tools (S3-4): by the tool that was executed last, else by the one fallback edge, else back to the caller.
func (r *Run) execDone(id int) {
	n, caller, rules := r.stepNode(id), r.stepNode(r.step(id).From), r.flowOf(id).Workflow.Rules
	var last chat.ToolCall
	for _, tc := range r.lastReply(id, 0).ToolCalls {
		if !r.ownCall(caller, rules, tc.Name) {
			last = tc
		}
	}
	done := &StepCompleted{}
	for _, m := range r.s.Loop.Conv(loop.Shared) {
		if m.Role == chat.RoleTool && m.ToolCallID == last.ID {
			done.Output = expr.Quote(m.Text.String())
		}
	}
	if out := r.graph.resultOutput(id); done.Output != nil && bytes.Equal(out.Value(), done.Output) {
		done.Output, done.Given = nil, true
	}
	switch port := workflow.ToolPort(last.Name); {
	case len(n.Ports[port]) > 0:
		r.complete(id, done, port)
	case len(n.Ports[workflow.PortOut]) > 0:
		r.complete(id, done, r.plan.out...)
	default:
		done.Goto = []string{caller.ID}
		r.complete(id, done)
	}
}

// trip names a transition with what went along, so that one that comes again and again is seen (S3-15); "" where nobody would be asked. Calls of
// tools count as part of what was said: agents that work say little.
func (r *Run) trip(id int, to string) string {
	handoff := r.plan.root.Workflow.Rules.Handoff
	if handoff == "" || to == handoff || id < 1 || r.stepScope(id).Flow != 0 || r.stepNode(id).Kind == workflow.KindWait {
		return ""
	}
	h := sha256.New()
	h.Write(r.value(id))
	if k := r.stepNode(id).Kind; r.plan.root.Workflow.Rules.SharedConversation && (k == workflow.KindAgent || k == workflow.KindExec) {
		for _, m := range slices.Backward(r.s.Loop.Conv(loop.Shared)) {
			if m.Role == chat.RoleAssistant {
				for _, tc := range m.ToolCalls {
					fmt.Fprintf(h, "\x00%s\x00%s", tc.Name, tc.Arguments)
				}
				break
			}
		}
	}
	return r.stepNode(id).ID + " " + to + " " + hex.EncodeToString(h.Sum(nil)[:8])
}

// maxTrips is how often the same transition may be taken.
const maxTrips = 2

// endAll cancels whatever else runs in the scope of step id, which ends it.
func (r *Run) endAll(id int) {
	r.cancelScope(r.step(id).Scope, "the workflow ended at "+r.stepNode(id).ID)
}
