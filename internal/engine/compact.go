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
func (s *agents) compacts(id, fr int) bool {
	f, a := s.frame(id, fr), s.agent(id, fr)
	if a.Compaction == nil || s.state.isFailing() {
		return false
	}
	limit := s.compactLimit(id, fr)
	tokens := s.contextTokens(id, fr)
	if limit <= 0 || tokens < limit || !s.isAlone(f.Conv) {
		return false
	}
	msgs := s.state.Loop.Conv(f.Conv)
	if f.Tried > 0 && compact.Groups(msgs[min(f.Tried, len(msgs)):]) < compact.MinFresh {
		return false
	}
	left, fresh := compact.Split(msgs, compact.Options{Keep: a.Compaction.Groups(), MaxTail: int(min(limit, 1<<40)),
		Pin: a.Compaction.Pin})
	if fresh < compact.MinFresh {
		return false
	}
	s.askSummary(id, fr, &event.Compaction{Reason: event.CompactThreshold, Tokens: tokens, Left: left})
	return true
}

// overflowed requests a summary if a provider rejected the conversation of a call as too long, but
// not twice before the provider has answered. It reports whether it does.
func (s *agents) overflowed(key string, c *loop.Call, f Failure) bool {
	fr := s.frame(c.Step, c.Frame)
	a := s.agent(c.Step, c.Frame)
	if f.Code != "context_length_exceeded" || a.Compaction == nil || c.Compaction != nil || fr.Overflowed ||
		!s.isAlone(fr.Conv) {
		return false
	}
	msgs := s.state.Loop.Conv(fr.Conv)
	left, fresh := compact.Split(msgs, compact.Options{Keep: a.Compaction.Groups(), MaxTail: compact.Size(msgs)/4 + 1,
		Pin: a.Compaction.Pin})
	if fresh == 0 {
		return false
	}
	s.askSummary(c.Step, c.Frame, &event.Compaction{Reason: event.CompactOverflow,
		Tokens: s.contextTokens(c.Step, c.Frame), Left: left, Overflow: key})
	return true
}

// compactLimit returns the number of tokens at which the conversation of a frame is shortened; 0
// means that it is unknown.
func (s *agents) compactLimit(id, fr int) int64 {
	a := s.agent(id, fr)
	model, _ := s.state.Loop.Begins(&s.state, id, a.Agent, s.now)
	window := int64(0)
	for i := range s.state.Created.Prices {
		if p := &s.state.Created.Prices[i]; p.Model == model {
			window = p.Window
		}
	}
	return a.Compaction.Threshold(window)
}

// contextTokens returns the number of tokens in the next call of a frame: the provider's count for
// the last call, its answer and what was added since; it is estimated if the provider counted
// nothing.
func (s *agents) contextTokens(id, fr int) int64 {
	f := s.frame(id, fr)
	if f.Input <= 0 {
		return s.inputTokens(id, fr, nil)
	}
	msgs := s.state.Loop.Conv(f.Conv)
	return chat.AddTokens(f.Input, messageTokens(msgs[min(f.Seen, len(msgs)):]))
}

// isAlone reports whether no call that is in flight or will be repeated uses the conversation.
func (s *agents) isAlone(conv string) bool {
	return !s.state.Loop.Any(func(c *loop.Call) bool {
		st := s.graph.Step(c.Step)
		return c.Kind == loop.Model && c.State != loop.Failed && st.Loop.Agent != nil &&
			st.Loop.Agent.Frames[c.Frame].Conv == conv
	})
}

// askSummary makes the model call for a summary.
func (s *agents) askSummary(id, fr int, k *event.Compaction) {
	f, a := s.frame(id, fr), s.agent(id, fr)
	model, instead := a.Compaction.Model, (*event.FallbackFrom)(nil)
	if model == "" {
		model, instead = s.state.Loop.Begins(&s.state, id, a.Agent, s.now)
	}
	reserved, ok := s.budget.reserve(id, fr, model, nil)
	if !ok {
		return
	}
	s.emitStep(id, &ModelCalled{
		Call: s.nextCall(id, fr), Attempt: 1, Frame: fr, Agent: a.ID, Model: model, Instead: instead,
		Conversation: f.Conv, Length: len(s.state.Loop.Conv(f.Conv)),
		Reserved: reserved, Compaction: k,
	})
}

// summarized continues after the reply to a summary call.
func (s *agents) summarized(id, fr int, key string, k *event.Compaction, reply chat.Message, stop string) {
	f := s.frame(id, fr)
	if stop == event.StopRefusal || reply.Text.IsBlank() {
		s.unsummarized(id, fr, key, Failure{Code: CodeInvalidOutput, Message: "the model gave no summary",
			Node: s.graph.NodeID(id)})
		return
	}
	msgs := s.state.Loop.Conv(f.Conv)
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
	s.emitStep(id, &AgentCompacted{
		Call: key, Frame: fr, Conversation: f.Conv, Left: slices.Clone(k.Left), Before: len(msgs), After: len(after),
		Removed: hex.EncodeToString(h.Sum(nil)), Summary: hex.EncodeToString(sum[:]),
	})
	s.afterCompaction(id, fr)
}

// unsummarized continues with the whole conversation if there is no summary. Its next call shows
// whether it fits.
func (s *agents) unsummarized(id, fr int, key string, f Failure) {
	n := len(s.state.Loop.Conv(s.frame(id, fr).Conv))
	s.emitStep(id, &AgentCompacted{Call: key, Frame: fr, Conversation: s.frame(id, fr).Conv, Before: n, After: n,
		Error: &f})
	s.afterCompaction(id, fr)
}

func (s *agents) afterCompaction(id, fr int) {
	if s.state.isFailing() {
		s.steps.cancelStep(id, "the run failed")
		return
	}
	s.ask(id, fr)
}
