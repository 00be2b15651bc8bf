package engine

import (
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/workflow"
)

// Limits.MaxBytes limits the size of a run (SEC17). Data from outside is counted when it has
// arrived; data that the run itself would produce, which may be larger than all of its inputs, is
// measured in advance. A run can therefore exceed its limit only by the results that were in flight
// when it was reached, and by one prompt of prior outputs, which is at most as large as what was
// counted before. Runs without a recorded limit count nothing.

// eventBytes is what an event counts toward MaxBytes in addition to its data: many small events
// also make a large run.
const eventBytes = 256

// eventSize returns what an applied event counts against MaxBytes. An output derived from other
// steps counts when it is built.
func (s *state) eventSize(ev *event.Event) int64 {
	n := int64(eventBytes)
	if d, ok := ev.Data.(event.Sized); ok {
		n += int64(d.Size())
	}
	if d, ok := ev.Data.(*event.StepCompleted); ok && !d.Same && !d.Reply && !d.JSON && !d.Given && d.Output == nil {
		n += s.graph.Step(ev.Step).Output.Size()
	}
	if d, ok := ev.Data.(*event.StepFailed); ok && d.Output == nil && d.Error.Code == event.CodeItemsFailed {
		n += s.graph.Step(ev.Step).Output.Size()
	}
	return n
}

// bytesLeft returns how many more bytes the run may use, or false if there is no limit.
func (s *state) bytesLeft() (int64, bool) {
	most := s.Limits.MaxBytes
	return most - s.Bytes, most > 0
}

// roomFor reports whether there is room for the step of a token and for the texts that it would
// expand.
func (s *state) roomFor(n *plan.Node, t graph.Token) bool {
	left, bounded := s.bytesLeft()
	switch {
	case !bounded:
		return true
	case left <= 0:
		return false
	}
	switch n.Kind {
	case workflow.KindAgent:
		if !s.systemFits(s.graph.FlowIn(t.Scope).Agents[n.Agent.Agent], s.envBefore(t)) {
			return false
		}
		if p := n.Agent.Prompt; p.Mode == "" || p.Mode == workflow.PromptTemplate {
			return int64(strings.Count(p.Text, plan.ApprovalNote))*int64(len(s.noteAt(t.From))) <= left
		}
	case workflow.KindTool:
		return n.Value == nil || n.Value.Size(s.envBefore(t), left) <= left
	}
	return true
}

// systemFits reports whether there is room for the system prompt of an agent.
func (s *state) systemFits(a *plan.Agent, seen viewEnv) bool {
	left, bounded := s.bytesLeft()
	return !bounded || a == nil || a.SystemTemplate == nil || a.SystemTemplate.Size(seen, left) <= left
}

// checkSize returns nil if there is room for an output composed of others, or else a failure that
// names the limit.
func (s *state) checkSize(bytes int64) *event.Failure {
	left, bounded := s.bytesLeft()
	if !bounded || bytes <= left {
		return nil
	}
	f := s.limitFailure(&event.LimitReached{Limit: event.CodeMaxBytes, Max: s.Limits.MaxBytes}, "")
	return &f
}
