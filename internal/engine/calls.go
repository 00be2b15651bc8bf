package engine

import (
	"fmt"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/workflow"
)

// calls decides what follows from the results of calls, and repeats calls: after a delay, when
// others have released budget or slots, or when a person has answered. It reads the state and
// changes it only through events.
type calls struct {
	*recorder
	budgets  *budgets
	commands *commander
	steps    callsSteps
	agents   callsAgents
	starter  interface{ startStep(step int, n *plan.Node) }
	people   callsPeople
}

// callsPeople asks people.
type callsPeople interface {
	// askAbout asks about a call whose outcome is unknown.
	askAbout(key string, c *loop.Call, why string)
	// ask asks the question of a function, which has changed the state.
	ask(step int, question *SignalRaised, update map[string]Value)
}

// callsSteps ends steps.
type callsSteps interface {
	complete(step int, d *StepCompleted, ports ...string)
	failStep(step int, f Failure)
	failForGood(step int, f Failure)
	cancelStep(step int, reason string)
	unwind(step, outer int, f Failure)
}

// callsAgents continues agent loops.
type callsAgents interface {
	frame(step, id int) *loop.Frame
	agent(step, frame int) *plan.Agent
	replied(step, frame int)
	compactions
	turnAnswered(step, frame int)
	concurrent(step, frame int, calls []chat.ToolCall, found []int) []int
	frameFailed(step, frame int, f Failure, end func(int, Failure))
	execNext(step int)
	resume(step int)
}

// compactions shorten conversations.
type compactions interface {
	overflowed(key string, c *loop.Call, f Failure) bool
	summarized(step, frame int, key string, k *event.Compaction, reply chat.Message, stop string)
	unsummarized(step, frame int, key string, f Failure)
}

// resumeDue retries calls and steps that are due, as far as there are slots (P14, P31).
func (s *calls) resumeDue() {
	if s.state.Loop.Due() == 0 || !s.state.startable() {
		return
	}
	for _, key := range s.state.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Due }) {
		if c := s.state.Loop.Call(key); c != nil && c.State == loop.Due && s.state.startable() &&
			s.budgets.mayReuseSlot(key, c) {
			s.repeatCall(key, c, c.Model, c.Instead)
		}
	}
	for _, id := range slices.Clone(s.graph.Running) {
		if s.graph.Step(id).Loop.Due && s.state.startable() && s.budgets.hasFreeSlot() {
			s.starter.startStep(id, s.graph.StepNode(id))
		}
	}
}

// resumeWithheld makes the calls that waited for others to release reservations or a slot.
func (s *calls) resumeWithheld() {
	if !s.budgets.withheld || s.state.Limits.MaxConcurrency <= 0 && !s.state.Ledger.Bounds() {
		return
	}
	if s.state.Ending != nil || s.state.Status != StatusRunning || s.budgets.askedForBudget() {
		return
	}
	s.budgets.withheld = false // calls that still wait set it again
	s.callWithheld()
}

// callWithheld makes the calls that were withheld by a budget or for lack of a slot.
func (s *calls) callWithheld() {
	for _, key := range s.state.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Failed }) {
		if c := s.state.Loop.Call(key); c != nil && c.State == loop.Failed &&
			(s.budgets.mayReuseSlot(key, c) || s.budgets.hasSlot(c.Step)) {
			s.repeatCall(key, c, c.Model, c.Instead)
		}
	}
	for _, id := range slices.Clone(s.graph.Running) {
		if st := s.graph.Step(id); st.Status != stepRunning || st.Loop.Due || s.state.Loop.IsAsleep(id) ||
			!s.budgets.hasSlot(id) {
			continue
		}
		switch n := s.graph.StepNode(id); n.Kind {
		case workflow.KindTool:
			if s.graph.Step(id).Loop.Calls == 0 {
				s.starter.startStep(id, n)
			}
		case workflow.KindExec:
			if s.graph.Step(id).Loop.Calls == 0 && s.graph.Step(id).Loop.Agent != nil {
				s.agents.execNext(id)
			}
		case workflow.KindAgent:
			s.agents.resume(id)
		}
	}
}

// repeatCall makes the next attempt of a call. A model call uses model, which replaces the model in
// instead; if the attempt starts afresh, it uses the model that the agent starts with.
func (s *calls) repeatCall(key string, c *loop.Call, model string, instead *event.FallbackFrom) {
	switch c.Kind {
	case loop.Model:
		fr := s.agents.frame(c.Step, c.Frame)
		if c.Afresh && c.Compaction == nil {
			model, instead = s.state.Loop.Begins(&s.state, c.Step, s.agents.agent(c.Step, c.Frame).Agent, s.now)
		}
		reserved, ok := s.budgets.reserve(c.Step, c.Frame, model, nil)
		if !ok {
			return
		}
		s.emitStep(c.Step, &ModelCalled{
			Call: key, Attempt: c.Attempt + 1, Frame: c.Frame, Agent: fr.Agent, Model: model, Conversation: fr.Conv,
			Length: len(s.state.Loop.Conv(fr.Conv)), Reserved: reserved, Instead: instead, Compaction: c.Compaction,
		})
	case loop.Tool:
		if !s.budgets.mayCallTool(c.Step, key) {
			return
		}
		s.emitStep(c.Step, c.Again(key))
	default:
		s.emitStep(c.Step, &FuncCalled{Call: key, Attempt: c.Attempt + 1, Func: c.Tool})
	}
}

// settleLost settles a call of unknown outcome as decided by a person or its policy.
func (s *calls) settleLost(key, what string) {
	c := s.state.Loop.Call(key)
	step, fr, inAgent := c.Step, c.Frame, c.ToolID != ""
	switch what {
	case "skip":
		s.emitStep(step, &ToolReturned{Call: key, Attempt: c.Attempt,
			Text: "The outcome of this call is unknown; it was not repeated.", IsError: true})
	default:
		// No retry policy applies: a retry is what was decided against.
		f := Failure{Code: CodeOutcomeUnknown, Message: fmt.Sprintf("outcome of tool %s is unknown", c.Tool),
			Node: s.graph.NodeID(step)}
		if !s.handledByProgram(step, "", &f, nil) {
			s.steps.failForGood(step, f)
		}
		return
	}
	if inAgent {
		s.agents.turnAnswered(step, fr)
		return
	}
	s.steps.complete(step, &StepCompleted{}, s.state.plan.out...)
}

// handleUnknown handles a call whose tool does not know the outcome, as the tool's policy says
// (P12). It returns false for an ordinary failure, which the caller must handle.
func (s *calls) handleUnknown(key string, c *loop.Call, d ToolResult) bool {
	if d.Failure == nil || d.Unknown == "" || c.State != loop.Open || s.state.plan.root.Workflow.Rules.UnknownFails {
		return false
	}
	if s.state.isFailing() || d.Unknown == "retry" && c.Unknown >= maxUnknown {
		return false
	}
	f := d.Failure.Clean()
	s.emitStep(c.Step, &ToolFailed{Call: key, Attempt: c.Attempt, Error: f, Unknown: true})
	switch d.Unknown {
	case "retry":
		if s.state.Ending == nil { // otherwise a reopening repeats it
			s.repeatCall(key, s.state.Loop.Call(key), "", nil)
		}
	case "skip", "fail":
		s.settleLost(key, d.Unknown)
	default:
		s.people.askAbout(key, s.state.Loop.Call(key), f.Message)
	}
	return true
}

// maxUnknown is how often a call to a tool that is declared idempotent is repeated automatically,
// with the same key, because no answer arrived.
const maxUnknown = 1

// timerDue retries a call or a step after its retry timer, if there is a slot.
func (s *calls) timerDue(id string, t loop.Timer) {
	if s.now.Before(t.At) {
		s.commands.add(&StartTimer{ID: id, After: t.Seq, At: t.At})
		return
	}
	s.emitStep(t.Step, &TimerFired{Timer: id})
	if st := s.graph.Step(t.Step); id == loop.StepTimer(t.Step) && !st.Loop.Due && st.Status == stepRunning {
		s.starter.startStep(t.Step, s.graph.StepNode(t.Step))
	}
}
