package engine

import (
	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
)

func (m *machine) frame(id, fr int) *loop.Frame { return &m.graph.Step(id).Loop.Agent.Frames[fr] }
func (m *machine) agent(id, fr int) *plan.Agent {
	return m.graph.FlowOf(id).Agents[m.frame(id, fr).Agent]
}

// nextCall returns the name of the next call of a frame.
func (m *machine) nextCall(id, fr int) string {
	return m.callID(id, fr, m.graph.Step(id).Loop.Numbered+1)
}

// isActive reports whether a frame continues: a call of its turn may have ended it, the step or
// this attempt of the step.
func (m *machine) isActive(id, fr int) bool {
	st := m.graph.Step(id)
	return st.Status == stepRunning && st.Loop.Agent != nil && !m.frame(id, fr).Done && !m.state.isAsleep(id)
}

// inputTokens estimates the input of a frame's next call, from its bytes and from the input of its
// last call plus what was added since.
func (m *machine) inputTokens(id, fr int, added []chat.Message) int64 {
	f, a := m.frame(id, fr), m.agent(id, fr)
	msgs := m.state.Loop.Conv(f.Conv)
	size := len(m.system(id, fr))
	for _, d := range m.toolDefs(id, fr) {
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
func (m *machine) outputBound(id, fr int) int64 {
	a := m.agent(id, fr)
	most := int64(defaultOutput)
	if limit := a.Params.MaxTokens; limit != nil && *limit > 0 {
		most = *limit
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
