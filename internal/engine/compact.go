package engine

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/compact"
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/loop"
)

// compacts requests a summary of a part of a frame's conversation before its next call if the
// conversation has reached the agent's threshold. It reports whether it does; the call is made
// afterwards.
func (m *machine) compacts(id, fr int) bool {
	f, a := m.frame(id, fr), m.agent(id, fr)
	if a.Compaction == nil || m.state.isFailing() {
		return false
	}
	limit := m.compactLimit(id, fr)
	tokens := m.contextTokens(id, fr)
	if limit <= 0 || tokens < limit || !m.isAlone(f.Conv) {
		return false
	}
	msgs := m.state.Loop.Conv(f.Conv)
	if f.Tried > 0 && compact.Groups(msgs[min(f.Tried, len(msgs)):]) < compact.MinFresh {
		return false
	}
	left, fresh := compact.Split(msgs, compact.Options{Keep: a.Compaction.Groups(), MaxTail: int(min(limit, 1<<40)),
		Pin: a.Compaction.Pin})
	if fresh < compact.MinFresh {
		return false
	}
	m.askSummary(id, fr, &event.Compaction{Reason: event.CompactThreshold, Tokens: tokens, Left: left})
	return true
}

// overflowed requests a summary if a provider rejected the conversation of a call as too long, but
// not twice before the provider has answered. It reports whether it does.
func (m *machine) overflowed(key string, c *loop.Call, f event.Failure) bool {
	fr := m.frame(c.Step, c.Frame)
	a := m.agent(c.Step, c.Frame)
	if f.Code != "context_length_exceeded" || a.Compaction == nil || c.Compaction != nil || fr.Overflowed ||
		!m.isAlone(fr.Conv) {
		return false
	}
	msgs := m.state.Loop.Conv(fr.Conv)
	left, fresh := compact.Split(msgs, compact.Options{Keep: a.Compaction.Groups(), MaxTail: compact.Size(msgs)/4 + 1,
		Pin: a.Compaction.Pin})
	if fresh == 0 {
		return false
	}
	m.askSummary(c.Step, c.Frame, &event.Compaction{Reason: event.CompactOverflow,
		Tokens: m.contextTokens(c.Step, c.Frame), Left: left, Overflow: key})
	return true
}

// compactLimit returns the number of tokens at which the conversation of a frame is shortened; 0
// means that it is unknown.
func (m *machine) compactLimit(id, fr int) int64 {
	a := m.agent(id, fr)
	model, _ := m.state.Loop.Begins(&m.state, id, a.Agent, m.now)
	window := int64(0)
	for i := range m.state.Created.Prices {
		if p := &m.state.Created.Prices[i]; p.Model == model {
			window = p.Window
		}
	}
	return a.Compaction.Threshold(window)
}

// contextTokens returns the number of tokens in the next call of a frame: the provider's count for
// the last call, its answer and what was added since; it is estimated if the provider counted
// nothing.
func (m *machine) contextTokens(id, fr int) int64 {
	f := m.frame(id, fr)
	if f.Input <= 0 {
		return m.inputTokens(id, fr, nil)
	}
	msgs := m.state.Loop.Conv(f.Conv)
	return chat.AddTokens(f.Input, messageTokens(msgs[min(f.Seen, len(msgs)):]))
}

// isAlone reports whether no call that is in flight or will be repeated uses the conversation.
func (m *machine) isAlone(conv string) bool {
	return !m.state.Loop.Any(func(c *loop.Call) bool {
		st := m.graph.Step(c.Step)
		return c.Kind == loop.Model && c.State != loop.Failed && st.Loop.Agent != nil &&
			st.Loop.Agent.Frames[c.Frame].Conv == conv
	})
}

// askSummary makes the model call for a summary.
func (m *machine) askSummary(id, fr int, k *event.Compaction) {
	f, a := m.frame(id, fr), m.agent(id, fr)
	model, instead := a.Compaction.Model, (*event.FallbackFrom)(nil)
	if model == "" {
		model, instead = m.state.Loop.Begins(&m.state, id, a.Agent, m.now)
	}
	reserved, ok := m.reserve(id, fr, model, nil)
	if !ok {
		return
	}
	m.emitStep(id, &event.ModelCalled{
		Call: m.nextCall(id, fr), Attempt: 1, Frame: fr, Agent: a.ID, Model: model, Instead: instead,
		Conversation: f.Conv, Length: len(m.state.Loop.Conv(f.Conv)),
		Reserved: reserved, Compaction: k,
	})
}

// summarized continues after the reply to a summary call.
func (m *machine) summarized(id, fr int, key string, k *event.Compaction, reply chat.Message, stop string) {
	f := m.frame(id, fr)
	if stop == event.StopRefusal || reply.Text.IsBlank() {
		m.unsummarized(id, fr, key, event.Failure{Code: event.CodeInvalidOutput, Message: "the model gave no summary",
			Node: m.graph.NodeID(id)})
		return
	}
	msgs := m.state.Loop.Conv(f.Conv)
	h := sha256.New()
	for _, r := range k.Left {
		for i := r.From; i < r.To; i++ {
			if b, err := json.Marshal(&msgs[i]); err == nil {
				h.Write(b)
			}
		}
	}
	after := compact.Replace(msgs, k.Left, compact.Summary(""))
	sum := sha256.Sum256([]byte(reply.Text.String()))
	m.emitStep(id, &event.AgentCompacted{
		Call: key, Frame: fr, Conversation: f.Conv, Left: slices.Clone(k.Left), Before: len(msgs), After: len(after),
		Removed: hex.EncodeToString(h.Sum(nil)), Summary: hex.EncodeToString(sum[:]),
	})
	m.afterCompaction(id, fr)
}

// unsummarized continues with the whole conversation if there is no summary. Its next call shows
// whether it fits.
func (m *machine) unsummarized(id, fr int, key string, f event.Failure) {
	n := len(m.state.Loop.Conv(m.frame(id, fr).Conv))
	m.emitStep(id, &event.AgentCompacted{Call: key, Frame: fr, Conversation: m.frame(id, fr).Conv, Before: n, After: n,
		Error: &f})
	m.afterCompaction(id, fr)
}

func (m *machine) afterCompaction(id, fr int) {
	if m.state.isFailing() {
		m.cancelStep(id, "the run failed")
		return
	}
	m.ask(id, fr)
}
