package engine

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/internal/schema"
	"github.com/hocket-run/hocket/workflow"
)

// ask makes the next model call of a frame, with messages that the engine adds first.
func (m *machine) ask(id, fr int, added ...chat.Message) {
	f, a := m.frame(id, fr), m.agent(id, fr)
	if f.Turns >= a.Turns() {
		m.emitStep(id, &event.LimitReached{Limit: event.CodeMaxTurns, Max: int64(a.Turns())})
		m.frameFailed(id, fr, event.Failure{Code: event.CodeMaxTurns,
			Message: fmt.Sprintf("agent %s did not finish within %d turns", a.Title(), a.Turns())}, m.failStep)
		return
	}
	if !m.hasSlot(id) { // its last result was a person's answer: other steps have its slot (P31)
		return
	}
	if len(added) == 0 && m.compacts(id, fr) {
		return
	}
	model, instead := m.state.Loop.Begins(&m.state, id, a.Agent, m.now)
	reserved, ok := m.reserve(id, fr, model, added)
	if !ok {
		return
	}
	m.emitStep(id, &event.ModelCalled{
		Call: m.nextCall(id, fr), Attempt: 1, Frame: fr, Agent: a.ID, Model: model, Instead: instead,
		Conversation: f.Conv, Length: len(m.state.Loop.Conv(f.Conv)) + len(added), Added: added, Reserved: reserved,
	})
}

// system returns the system prompt of a frame.
func (m *machine) system(id, fr int) string {
	f, a := m.frame(id, fr), m.agent(id, fr)
	system := a.System
	if f.System != "" || a.SystemTemplate != nil { // a template may expand to "" (S4-15)
		system = f.System
	}
	parts := slices.Concat([]string{system}, m.facts(a))
	if f.Parent < 0 && m.mayEndConversation(id) {
		parts = append(parts, endInstruction)
	}
	return strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), "\n\n")
}

// facts returns the facts about the environment for an agent, as of the start of the run.
func (m *machine) facts(a *plan.Agent) []string {
	var out []string
	add := func(wanted bool, name string) {
		if text := m.state.Created.Facts[name]; wanted && text != "" {
			out = append(out, text)
		}
	}
	add(a.AddDate, event.FactDate)
	add(a.AddEnvironment, event.FactEnvironment)
	for _, file := range a.PromptFiles {
		add(true, event.FactFile+file)
	}
	return out
}

// endFrame ends a frame with its answer, or asks the model to correct it (P25).
func (m *machine) endFrame(id, fr int, reply chat.Message) {
	a := m.agent(id, fr)
	out, reason := finalOutput(a, reply.Text.String())
	if reason != "" {
		if m.frame(id, fr).Repairs < a.Output.RepairLimit() && !m.state.isFailing() {
			m.ask(id, fr,
				chat.Message{Role: chat.RoleUser, Text: chat.NewText("Your reply does not fit what was asked for: " +
					reason + "\nReply again with only the corrected JSON.")})
			return
		}
		m.frameFailed(id, fr,
			event.Failure{Code: event.CodeInvalidOutput,
				Message: fmt.Sprintf("reply of agent %s does not match its schema: %s",
					a.Title(), reason)}, m.failStep)
		return
	}
	done := event.StepCompleted{Output: out}
	if string(m.state.replyText(id, fr).Value()) == string(out) {
		done.Output, done.Reply = nil, true
	} else if v, ok := event.JSONOf(reply.Text.String()); ok && bytes.Equal(v, out) {
		done.Output, done.JSON = nil, true
	}
	if f := m.frame(id, fr); f.Parent >= 0 {
		parent := f.Parent
		m.emitStep(id, &event.SubagentCompleted{Frame: fr, Call: f.Call, Output: done.Output, Reply: done.Reply,
			JSON: done.JSON})
		m.turnAnswered(id, parent)
		return
	}
	m.completeStep(id, &done, m.state.plan.out...)
}

// finalOutput converts the text of a reply into the agent's output. reason is why the text does not
// match the agent's schema, or "" if it does.
func finalOutput(a *plan.Agent, text string) (out event.Value, reason string) {
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

// frameFailed fails an agent loop: a sub-agent's failure becomes its parent's (S0-56), and so on
// outward, up to a parent whose model receives it as the result of the call. If there is none, end
// fails the step.
func (m *machine) frameFailed(id, fr int, f event.Failure, end func(int, event.Failure)) {
	if m.graph.Step(id).Status != stepRunning {
		return
	}
	for {
		parent := m.frame(id, fr).Parent
		if parent < 0 {
			end(id, f)
			return
		}
		if m.agent(id, parent).SubagentFailure == workflow.SubagentReports {
			m.unwind(id, fr, f)
			m.emitStep(id, &event.SubagentFailed{Frame: fr, Call: m.frame(id, fr).Call, Error: f})
			m.turnAnswered(id, parent)
			return
		}
		fr = parent
	}
}

// failInside fails every active sub-agent of a step inside frame outer, or in the whole step if
// outer is negative, innermost first.
func (m *machine) failInside(id, outer int, f event.Failure) {
	a := m.graph.Step(id).Loop.Agent
	if a == nil {
		return
	}
	for i := range slices.Backward(a.Frames) {
		if fr := m.frame(id, i); fr.Parent >= 0 && !fr.Done && i != outer && (outer < 0 || a.Inside(i, outer)) {
			m.emitStep(id, &event.SubagentFailed{Frame: i, Call: fr.Call, Error: f})
		}
	}
}
