package engine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// ask makes the next model call of a frame, with messages that the engine adds first.
func (r *Run) ask(id, fr int, added ...chat.Message) {
	f, a := r.frame(id, fr), r.agent(id, fr)
	if f.Turns >= a.Turns() {
		r.emitStep(id, &LimitReached{Limit: CodeMaxTurns, Max: int64(a.Turns())})
		r.frameFailed(id, fr, Failure{Code: CodeMaxTurns, Message: fmt.Sprintf("agent %s did not finish within %d turns", a.Title(), a.Turns())}, r.failStep)
		return
	}
	if !r.hasSlot(id) { // a person's answer was its last result: others have its slot (P31)
		return
	}
	reserved, ok := r.reserve(id, fr, f.ModelOf(a.Agent), added)
	if !ok {
		return
	}
	r.emitStep(id, &ModelCalled{
		Call: r.callID(id, fr, r.step(id).Loop.Numbered+1), Attempt: 1, Frame: fr, Agent: a.ID, Model: f.ModelOf(a.Agent),
		Conversation: f.Conv, Length: len(r.s.Loop.Conv(f.Conv)) + len(added), Added: added, Reserved: reserved,
	})
}

// system is the system prompt of a frame.
func (r *Run) system(id, fr int) string {
	f, a := r.frame(id, fr), r.agent(id, fr)
	system := a.System
	if f.System != "" || a.SystemTemplate != nil { // a template may expand to nothing (S4-15)
		system = f.System
	}
	parts := slices.Concat([]string{system}, r.facts(a))
	if f.Parent < 0 && r.converses(id) {
		parts = append(parts, endInstruction)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// facts gives what an agent is told of the world, as it was when the run began.
func (r *Run) facts(a *plan.Agent) []string {
	var out []string
	add := func(wanted bool, name string) {
		if text := r.s.Created.Facts[name]; wanted && text != "" {
			out = append(out, text)
		}
	}
	add(a.AddDate, FactDate)
	add(a.AddEnvironment, FactEnvironment)
	for _, file := range a.PromptFiles {
		add(true, FactFile+file)
	}
	return out
}

// expandSystem gives the system prompt of an agent where its templates make it differ from the definition's.
func (r *Run) expandSystem(a *plan.Agent, scope int) string {
	if a.SystemTemplate == nil {
		return ""
	}
	return a.SystemTemplate.Expand(env{r: r, scope: scope})
}

// replied goes on after a model's reply: with its tool calls, or with its answer.
func (r *Run) replied(id, fr int) {
	f, a := r.frame(id, fr), r.agent(id, fr)
	last := r.lastReply(id, fr)
	if r.s.Ending != nil && !r.s.Ending.Limit && len(f.Turn) > 0 {
		r.cancelStep(id, "the run failed") // nothing new starts (S0-46)
		return
	}
	if n := r.stepNode(id); n.Kind == workflow.KindAgent && f.Parent < 0 && n.Agent.Prompt.Mode == workflow.PromptShared {
		r.repliedShared(id, fr, last)
		return
	}
	if len(f.Turn) == 0 {
		r.answered(id, fr, last)
		return
	}
	if text := f.Stuck(a.Agent, last); text != "" {
		r.emitStep(id, &LimitReached{Limit: CodeNoProgress, Max: int64(a.Repeats())})
		r.frameFailed(id, fr, Failure{Code: CodeNoProgress, Message: text}, r.failStep)
		return
	}
	for _, tc := range last.ToolCalls {
		r.callTool(id, fr, tc)
		if r.step(id).Status != stepRunning {
			return
		}
	}
	r.turnAnswered(id, fr)
}

// loop.Tool begins one tool call of a reply: a sub-agent, a tool, or an answer at once where the call makes no sense.
func (r *Run) callTool(id, fr int, tc chat.ToolCall) {
	a := r.agent(id, fr)
	var args map[string]json.RawMessage
	if raw := tc.Arguments; len(raw) > 0 && json.Unmarshal(raw, &args) != nil {
		r.emitStep(id, &ToolReturned{Frame: fr, ToolCallID: tc.ID, IsError: true, Text: "The arguments of this call are not a JSON object. Call the tool again with a JSON object."})
		return
	}
	if loop.HandsOver(a.Agent, tc.Name) {
		r.askedToHand(id, fr, tc)
		return
	}
	sub, ok := a.Subs[tc.Name]
	if !ok {
		if !r.mayCallTool(id, "") {
			return
		}
		r.emitStep(id, &ToolCalled{Call: r.callID(id, fr, r.step(id).Loop.Numbered+1), Attempt: 1, Frame: fr, Tool: tc.Name, ToolCallID: tc.ID})
		return
	}
	input := expr.Text(args["input"])
	f := r.frame(id, fr)
	next := len(r.step(id).Loop.Agent.Frames)
	target := r.flowOf(id).Agents[sub.Agent]
	if !r.systemFits(target, r.step(id).Scope) {
		r.meetSize(id)
		return
	}
	r.emitStep(id, &SubagentStarted{
		Frame: next, Parent: fr, ToolCallID: tc.ID, Call: loop.ConvID(id, next), ParentCall: f.Call, Agent: sub.Agent, Input: input,
		System: r.expandSystem(target, r.step(id).Scope), Depth: f.Depth + 1,
	})
	r.ask(id, next)
}

// turnAnswered makes the next model call once every tool call of the turn has its result.
func (r *Run) turnAnswered(id, fr int) {
	if r.step(id).Status != stepRunning || r.frame(id, fr).Done {
		return
	}
	waiting := len(r.frame(id, fr).Turn) > 0
	next := r.handed(id, fr)
	switch exec := r.stepNode(id).Kind == workflow.KindExec; {
	case exec && waiting:
		if r.hasSlot(id) {
			r.execNext(id)
		}
		return
	case exec:
		r.execDone(id)
		return
	case waiting && next == nil:
		return
	}
	if r.s.Ending != nil && !r.s.Ending.Limit {
		r.cancelStep(id, "the run failed")
		return
	}
	if next != nil {
		r.emitStep(id, next)
	}
	r.ask(id, fr)
}

// lastReply is the last assistant message of a frame.
func (r *Run) lastReply(id, fr int) chat.Message {
	return r.s.Loop.Reply(r.frame(id, fr).Conv)
}

// answered ends a frame with its answer, or asks the model to mend it (P25).
func (r *Run) answered(id, fr int, reply chat.Message) {
	a := r.agent(id, fr)
	out, reason := finalOutput(a, reply.Text.String())
	if reason != "" {
		if r.frame(id, fr).Repairs < a.Output.RepairLimit() && (r.s.Ending == nil || r.s.Ending.Limit) {
			r.ask(id, fr, chat.Message{Role: chat.RoleUser, Text: chat.NewText("Your reply does not fit what was asked for: " + reason + "\nReply again with only the corrected JSON.")})
			return
		}
		r.frameFailed(id, fr, Failure{Code: CodeInvalidOutput, Message: fmt.Sprintf("reply of agent %s does not match its schema: %s", a.Title(), reason)}, r.failStep)
		return
	}
	done := StepCompleted{Output: out}
	if string(r.replyText(id, fr).Value()) == string(out) {
		done.Output, done.Reply = nil, true
	} else if v, ok := JSONOf(reply.Text.String()); ok && bytes.Equal(v, out) {
		done.Output, done.JSON = nil, true
	}
	if f := r.frame(id, fr); f.Parent >= 0 {
		parent := f.Parent
		r.emitStep(id, &SubagentCompleted{Frame: fr, Call: f.Call, Output: done.Output, Reply: done.Reply, JSON: done.JSON})
		r.turnAnswered(id, parent)
		return
	}
	r.complete(id, &done, r.plan.out...)
}

// finalOutput makes an agent's output of a reply's text. reason tells why the text does not fit the agent's schema, "" where it does.
func finalOutput(a *plan.Agent, text string) (out Value, reason string) {
	if a.Schema != nil {
		v, ok := chat.JSONIn(text)
		if !ok {
			return nil, "it is not JSON."
		}
		if vs := a.Schema.Validate(v); len(vs) > 0 {
			return nil, schema.Describe(vs)
		}
		return event.Compact(v), ""
	}
	if a.Trim {
		text = strings.TrimSpace(text)
	}
	if text == "" {
		text = a.EmptyText
	}
	return expr.Quote(text), ""
}

// frameFailed fails an agent loop: a sub-agent's failure is its parent's (S0-56), and so on outward, up to a parent whose model reads it as the
// call's result. Where there is none, end fails the step.
func (r *Run) frameFailed(id, fr int, f Failure, end func(int, Failure)) {
	if r.step(id).Status != stepRunning {
		return
	}
	for {
		parent := r.frame(id, fr).Parent
		if parent < 0 {
			end(id, f)
			return
		}
		if r.agent(id, parent).SubagentFailure == workflow.SubagentReports {
			r.unwind(id, fr, f)
			r.emitStep(id, &SubagentFailed{Frame: fr, Call: r.frame(id, fr).Call, Error: f})
			r.turnAnswered(id, parent)
			return
		}
		fr = parent
	}
}

// unwind ends what is at work inside frame outer of a step, the whole step where outer is negative: calls are cancelled, questions about calls are
// closed, and every sub-agent inside is told, innermost first (S0-54).
func (r *Run) unwind(id, outer int, f Failure) {
	within := func(fr int) bool { return outer < 0 || r.step(id).Loop.Agent.Inside(fr, outer) }
	r.closeWaits(func(w *waits.Wait) bool {
		if w.Step != id {
			return false
		}
		c := r.s.Loop.Call(w.Call)
		return outer < 0 || c != nil && within(c.Frame)
	}, "cancelled")
	r.cancelCalls(func(c *loop.Call) bool { return c.Step == id && within(c.Frame) })
	if r.step(id).Loop.Agent == nil {
		return
	}
	for i := range slices.Backward(r.step(id).Loop.Agent.Frames) {
		if fr := r.frame(id, i); fr.Parent >= 0 && !fr.Done && i != outer && within(i) {
			r.emitStep(id, &SubagentFailed{Frame: i, Call: fr.Call, Error: f})
		}
	}
}

// modelFailed tries a fallback model, then the step's retry policy (D11), then gives up.
func (r *Run) modelFailed(key string, c *loop.Call, f Failure) {
	id, fr := c.Step, c.Frame
	fa, a := r.frame(id, fr), r.agent(id, fr)
	if slices.Contains([]string{"rate_limit", "overloaded", "timeout", "quota_exceeded", "context_length_exceeded"}, f.Code) && (r.s.Ending == nil || r.s.Ending.Limit) {
		if next, ok := fa.Fallback(a.Agent); ok {
			r.again(key, c, next)
			return
		}
	}
	if f.Node == "" {
		f.Node = r.nodeID(id)
	}
	if !r.handledByProgram(id, key, &f, nil) {
		if delay, ok := r.retry(id, f, nil); ok {
			r.retryCall(id, key, delay, f)
			return
		}
		r.frameFailed(id, fr, f, r.giveUp)
	}
}
