package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
)

// agents decides what follows in the agent loops of a run from a reply, the result of a tool call
// or the end of a sub-agent. It reads the state and the graph and creates events; the consequences
// of the end of a step and of the limits on calls are left to the run.
type agents struct {
	*recorder
	steps  agentSteps
	budget agentBudget
}

// agentSteps is how the graph handles the end of a step.
type agentSteps interface {
	complete(step int, d *StepCompleted, ports ...string)
	// failStep fails a step, which may be retried; failForGood fails it permanently.
	failStep(step int, f Failure)
	failForGood(step int, f Failure)
	cancelStep(step int, reason string)
	// endAll cancels everything else that runs in the scope of a step.
	endAll(step int)
	// unwind ends everything active inside a frame of a step.
	unwind(step, outer int, f Failure)
}

// agentBudget limits the calls of agent loops. A call that may not be made now is withheld, or its
// step has ended.
type agentBudget interface {
	hasSlot(step int) bool
	reserve(step, frame int, model string, added []chat.Message) (*Reserved, bool)
	// mayCallTool reports whether a tool call may be made. key is the key of a call that is
	// repeated, or empty.
	mayCallTool(step int, key string) bool
	// endBySize ends the run because of its size.
	endBySize(step int)
}

func (s *agents) frame(id, fr int) *loop.Frame { return &s.graph.Step(id).Loop.Agent.Frames[fr] }
func (s *agents) agent(id, fr int) *plan.Agent {
	return s.graph.FlowOf(id).Agents[s.frame(id, fr).Agent]
}

// nextCall returns the name of the next call of a frame.
func (s *agents) nextCall(id, fr int) string {
	return s.callID(id, fr, s.graph.Step(id).Loop.Numbered+1)
}

// isActive reports whether a frame continues: a call of its turn may have ended it, the step or
// this attempt of the step.
func (s *agents) isActive(id, fr int) bool {
	st := s.graph.Step(id)
	return st.Status == stepRunning && st.Loop.Agent != nil && !s.frame(id, fr).Done && !s.state.Loop.IsAsleep(id)
}

// inputTokens estimates the input of a frame's next call, from its bytes and from the input of its
// last call plus what was added since.
func (s *agents) inputTokens(id, fr int, added []chat.Message) int64 {
	f, a := s.frame(id, fr), s.agent(id, fr)
	msgs := s.state.Loop.Conv(f.Conv)
	size := len(s.system(id, fr))
	for _, d := range s.toolDefs(id, fr) {
		size += len(d.Name) + len(d.Description) + len(d.Parameters)
	}
	if a.Output != nil {
		size += len(a.Output.Schema)
	}
	est := tokensPerCall + int64(size/bytesPerToken) + messageTokens(msgs) + messageTokens(added)
	if f.Input > 0 {
		est = max(est, chat.AddTokens(f.Input, messageTokens(msgs[min(f.Seen, len(msgs)):])+messageTokens(added)))
	}
	return est
}

// outputBound returns the maximum number of tokens in an agent's answer, including reasoning.
func (s *agents) outputBound(id, fr int) int64 {
	a := s.agent(id, fr)
	most := int64(defaultOutput)
	if m := a.Params.MaxTokens; m != nil && *m > 0 {
		most = *m
	}
	if t := a.Params.ThinkingBudget; t != nil {
		most = chat.AddTokens(most, *t)
	}
	return most
}

func messageTokens(msgs []chat.Message) int64 {
	n := 0
	for i := range msgs {
		m := &msgs[i]
		size := int(m.Text.Len()) + len(m.Name) + len(m.ToolName) + len(m.Extra)
		for _, tc := range m.ToolCalls {
			size += len(tc.Name) + len(tc.Arguments) + len(tc.Extra)
		}
		n += size/bytesPerToken + tokensPerMessage
	}
	return int64(n)
}
