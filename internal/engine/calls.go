package engine

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/timer"
	"github.com/hocket-run/hocket/workflow"
)

// resumeDue retries calls and steps that are due, as far as there are slots (P14, P31).
func (m *machine) resumeDue() {
	if m.state.Loop.Due() == 0 || !m.state.startable() {
		return
	}
	for _, key := range m.state.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Due }) {
		if c := m.state.Loop.Call(key); c != nil && c.State == loop.Due && m.state.startable() &&
			m.mayReuseSlot(key, c) {
			m.repeatCall(key, c, c.Model, c.Instead)
		}
	}
	for _, id := range slices.Clone(m.graph.Running) {
		if m.graph.Step(id).Loop.Due && m.state.startable() && m.hasFreeSlot() {
			m.startStep(id, m.graph.StepNode(id))
		}
	}
}

// resumeWithheld makes the calls that waited for others to release reservations or a slot.
func (m *machine) resumeWithheld() {
	if !m.withheld || m.state.Limits.MaxConcurrency <= 0 && !m.state.Ledger.Bounds() {
		return
	}
	if m.state.Ending != nil || m.state.Status != event.StatusRunning || m.askedForBudget() {
		return
	}
	m.withheld = false // calls that still wait set it again
	m.callWithheld()
}

// callWithheld makes the calls that were withheld by a budget or for lack of a slot.
func (m *machine) callWithheld() {
	for _, key := range m.state.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Failed }) {
		if c := m.state.Loop.Call(key); c != nil && c.State == loop.Failed &&
			(m.mayReuseSlot(key, c) || m.hasSlot(c.Step)) {
			m.repeatCall(key, c, c.Model, c.Instead)
		}
	}
	for _, id := range slices.Clone(m.graph.Running) {
		if st := m.graph.Step(id); st.Status != stepRunning || st.Loop.Due || m.state.isAsleep(id) ||
			!m.hasSlot(id) {
			continue
		}
		switch n := m.graph.StepNode(id); n.Kind {
		case workflow.KindTool:
			if m.graph.Step(id).Loop.Calls == 0 {
				m.startStep(id, n)
			}
		case workflow.KindExec:
			if m.graph.Step(id).Loop.Calls == 0 && m.graph.Step(id).Loop.Agent != nil {
				m.execNext(id)
			}
		case workflow.KindAgent:
			m.resume(id)
		}
	}
}

// repeatCall makes the next attempt of a call. A model call uses model, which replaces the model in
// instead; if the attempt starts afresh, it uses the model that the agent starts with.
func (m *machine) repeatCall(key string, c *loop.Call, model string, instead *event.FallbackFrom) {
	switch c.Kind {
	case loop.Model:
		fr := m.frame(c.Step, c.Frame)
		if c.Afresh && c.Compaction == nil {
			model, instead = m.state.Loop.Begins(&m.state, c.Step, m.agent(c.Step, c.Frame).Agent, m.now)
		}
		reserved, ok := m.reserve(c.Step, c.Frame, model, nil)
		if !ok {
			return
		}
		m.emitStep(c.Step, &event.ModelCalled{
			Call: key, Attempt: c.Attempt + 1, Frame: c.Frame, Agent: fr.Agent, Model: model, Conversation: fr.Conv,
			Length: len(m.state.Loop.Conv(fr.Conv)), Reserved: reserved, Instead: instead, Compaction: c.Compaction,
		})
	case loop.Tool:
		if !m.mayCallTool(c.Step, key) {
			return
		}
		m.emitStep(c.Step, c.Again(key))
	default:
		m.emitStep(c.Step, &event.FuncCalled{Call: key, Attempt: c.Attempt + 1, Func: c.Tool})
	}
}

// settleLost settles a call of unknown outcome as decided by a person or its policy.
func (m *machine) settleLost(key, what string) {
	c := m.state.Loop.Call(key)
	step, fr, inAgent := c.Step, c.Frame, c.ToolID != ""
	switch what {
	case "skip":
		m.emitStep(step, &event.ToolReturned{Call: key, Attempt: c.Attempt,
			Text: "The outcome of this call is unknown; it was not repeated.", IsError: true})
	default:
		// No retry policy applies: a retry is what was decided against.
		f := event.Failure{Code: event.CodeOutcomeUnknown, Message: fmt.Sprintf("outcome of tool %s is unknown",
			c.Tool),
			Node: m.graph.NodeID(step)}
		if !m.handledByProgram(step, "", &f, nil) {
			m.failForGood(step, f)
		}
		return
	}
	if inAgent {
		m.turnAnswered(step, fr)
		return
	}
	m.completeStep(step, &event.StepCompleted{}, m.state.plan.out...)
}

// handleUnknown handles a call whose tool does not know the outcome, as the tool's policy says
// (P12). It returns false for an ordinary failure, which the caller must handle.
func (m *machine) handleUnknown(key string, c *loop.Call, d ToolResult) bool {
	if d.Failure == nil || d.Unknown == "" || c.State != loop.Open || m.state.plan.root.Workflow.Rules.UnknownFails {
		return false
	}
	if m.state.isFailing() || d.Unknown == "retry" && c.Unknown >= maxUnknown {
		return false
	}
	f := d.Failure.Clean()
	m.emitStep(c.Step, &event.ToolFailed{Call: key, Attempt: c.Attempt, Error: f, Unknown: true})
	switch d.Unknown {
	case "retry":
		if m.state.Ending == nil { // otherwise a reopening repeats it
			m.repeatCall(key, m.state.Loop.Call(key), "", nil)
		}
	case "skip", "fail":
		m.settleLost(key, d.Unknown)
	default:
		m.askAbout(key, m.state.Loop.Call(key), f.Message)
	}
	return true
}

// maxUnknown is how often a call to a tool that is declared idempotent is repeated automatically,
// with the same key, because no answer arrived.
const maxUnknown = 1

// retryDue retries a step after its retry timer. A call is retried as soon as there is a slot.
func (m *machine) retryDue(step int, k timer.Key) {
	if st := m.graph.Step(step); k.Call == "" && !st.Loop.Due && st.Status == stepRunning {
		m.startStep(step, m.graph.StepNode(step))
	}
}
