package engine

import (
	"fmt"
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/waits"
	"github.com/hocket-run/hocket/internal/expr"
	"github.com/hocket-run/hocket/workflow"
)

// Hold reports that a tool call was not made because a person must decide first. The engine opens a
// wait for it (P8).
type Hold struct {
	// Kind is workflow.WaitApproval or workflow.WaitQuestion. Once approved, the call is requested
	// again with Binding as CallTool.Approved; if rejected, its result says so. The answer to a
	// question is the call's result. With Below, Kind may also be workflow.WaitSignal.
	Kind    string
	Prompt  string
	Options []string
	// Schema is the schema that the answer to a question must match; nil accepts anything.
	Schema event.Value
	// Arguments are the arguments that the tool would receive. Binding identifies this particular
	// action and is not empty (SEC12).
	Arguments event.Value
	Binding   string
	// Changed reports that the tool's definition differs from the one that the run has pinned
	// (SEC14).
	Changed bool
	// Below is set if the call started a child run that waits. Tool and Arguments then belong to
	// the call held in the child run, and Input is the input of the node that waits there. The call
	// is made again after any answer.
	Below *event.Below
	Tool  string
	Input event.Value
	// Signal is the name of the signal that the child run waits for, if Kind is
	// workflow.WaitSignal.
	Signal string
	// Roles are the roles that may answer the child run's wait.
	Roles []string
}

// handleHeld opens the wait of a call that needs a person.
func (m *machine) handleHeld(d ToolHeld) {
	m.pinned(d.Pins)
	key, c := m.state.openCall(d.ID, loop.Tool)
	if c == nil { // settled, see Activate
		return
	}
	step, attempt, h := c.Step, c.Attempt, d.Hold
	late, failing := c.State == loop.Cancelled, m.state.isFailing()
	if late || failing {
		m.emitStep(step, &event.ToolFailed{Call: key, Attempt: attempt, Error: event.Failure{Code: event.CodeCancelled,
			Message: "it needed the decision of a person and was not made"}, Late: late})
		if !late {
			m.cancelStep(step, "the run failed") // no question is asked any more (S0-46)
		}
		return
	}
	opened := &event.WaitOpened{
		Wait: fmt.Sprintf("w%s.%d", key, attempt), Kind: h.Kind, Prompt: event.Clean(h.Prompt),
		Options: cleanAll(h.Options), Call: key,
		Tool: c.Tool, Arguments: event.Compact(h.Arguments), Binding: h.Binding, Changed: h.Changed,
		Schema: event.Compact(h.Schema),
		Remind: m.state.remindAt(m.now, 0), Below: h.Below,
	}
	if h.Below != nil {
		opened.Tool, opened.Input = event.Clean(h.Tool), event.Compact(h.Input)
		opened.Signal, opened.Roles = event.Clean(h.Signal), cleanAll(h.Roles)
	}
	if h.Kind == workflow.WaitApproval {
		opened.Options = []string{workflow.PortApprove, workflow.PortReject}
	}
	m.emitStep(step, opened)
}

func cleanAll(texts []string) []string {
	var out []string
	for _, s := range texts {
		out = append(out, event.Clean(s))
	}
	return out
}

// continueHeld continues a held call after a person answered. An approved call needs nothing here:
// WaitAnswered has made it due.
func (m *machine) continueHeld(key string, ans *event.WaitAnswered) {
	c := m.state.Loop.Call(key)
	if c == nil || ans.Decision == workflow.PortApprove || m.state.Waits.Get(ans.Wait).Below != nil {
		return
	}
	step, fr, inAgent, name := c.Step, c.Frame, c.ToolID != "", c.Tool
	out := &event.ToolReturned{Call: key, Attempt: c.Attempt, Text: expr.Text(ans.Answer), Structured: ans.Answer}
	if ans.Decision != "" {
		out.Text, out.Structured, out.IsError = rejection(name, ans.Note), nil, true
	} else if len(ans.Answer) > 0 && ans.Answer[0] == '"' {
		out.Structured = nil // the text is complete
	}
	out.Shorten()
	m.emitStep(step, out)
	switch {
	case inAgent:
		m.turnAnswered(step, fr)
	case ans.Decision == "":
		m.completeStep(step, &event.StepCompleted{Given: true}, m.state.plan.out...)
	case len(m.graph.StepNode(step).Ports[workflow.PortReject]) > 0:
		m.completeStep(step, &event.StepCompleted{Same: true}, workflow.PortReject)
	default:
		// No retry policy applies: a person rejected the call.
		f := event.Failure{Code: event.CodeRejected, Message: out.Text, Node: m.graph.NodeID(step)}
		if !m.handledByProgram(step, "", &f, nil) {
			m.failForGood(step, f)
		}
	}
}

// rejection returns what an agent or a failure is told about a call that a person rejected (P8).
func rejection(tool, note string) string {
	text := fmt.Sprintf("A person rejected the call of tool %s; it was not made.", tool)
	if note = strings.TrimSpace(note); note != "" {
		text += " Reason: " + note
	}
	return text
}

// refused returns the message of an approval that was rejected.
func refused(title, note string) string {
	text := "A person rejected " + title + "."
	if note = strings.TrimSpace(note); note != "" {
		text += " Reason: " + note
	}
	return text
}

// askAbout asks a person how to proceed with a call whose outcome is unknown.
func (m *machine) askAbout(key string, c *loop.Call, why string) {
	m.emitStep(c.Step, &event.WaitOpened{
		Wait: fmt.Sprintf("w%s.%d", key, c.Attempt), Kind: workflow.WaitQuestion, Call: key,
		Options: []string{"retry", "skip", "fail"}, Remind: m.state.remindAt(m.now, 0),
		Prompt: fmt.Sprintf("The outcome of the call of tool %s with %s is unknown: %s. Retry it, skip it, or fail "+
			"the step?", c.Tool, loop.Brief(m.state.argumentsOf(c)), why),
	})
}

// answeredBudget continues a run that asked for a larger budget, or ends it.
func (m *machine) answeredBudget(w *waits.Wait, ans *event.WaitAnswered) {
	step, met := w.Step, *w.Limit
	if m.state.Status == event.StatusPaused {
		m.emit(0, "", &event.RunResumed{Reason: "answer"})
	}
	m.emitStep(step, ans)
	if ans.Limits == nil {
		m.emitStep(step, &met)
	}
}
