package engine

import (
	"strings"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/workflow"
)

// Limits.MaxBytes bounds the size of a run (SEC17). What the world gives is counted when it has come; what the run itself would make, which may be larger than all that went
// into it, is measured before. So a run goes beyond its bound by the results that were out when it was met, and by one prompt of prior outputs, which is at most what was
// counted before. Runs whose record says no bound count nothing.

// eventBytes is what an event counts beside what it holds: many small events are a large run, too.
const eventBytes = 256

// weight is what an event that was applied counts against MaxBytes. An output that follows from other steps counts where it is made.
func (s *state) weight(ev *Event) int64 {
	n := int64(eventBytes)
	if d, ok := ev.Data.(event.Sized); ok {
		n += int64(d.Size())
	}
	if d, ok := ev.Data.(*StepCompleted); ok && !d.Same && !d.Reply && !d.JSON && !d.Given && d.Output == nil {
		n += s.graph.Step(ev.Step).Output.Size()
	}
	if d, ok := ev.Data.(*StepFailed); ok && d.Output == nil && d.Error.Code == CodeItemsFailed {
		n += s.graph.Step(ev.Step).Output.Size()
	}
	return n
}

// left is how many bytes the run may still have; false where nothing bounds it.
func (s *state) left() (int64, bool) {
	most := s.Limits.MaxBytes
	return most - s.Bytes, most > 0
}

// roomFor tells whether there is room for the step of a token and for what its texts would become.
func (s viewer) roomFor(n *plan.Node, t graph.Token) bool {
	left, bounded := s.left()
	switch {
	case !bounded:
		return true
	case left <= 0:
		return false
	}
	switch n.Kind {
	case workflow.KindAgent:
		if !s.systemFits(s.graph.FlowIn(t.Scope).Agents[n.Agent.Agent], t.Scope) {
			return false
		}
		if p := n.Agent.Prompt; p.Mode == "" || p.Mode == workflow.PromptTemplate {
			return int64(strings.Count(p.Text, approvalNote))*int64(len(s.noteAt(t.From))) <= left
		}
	case workflow.KindTool:
		return n.Value == nil || n.Value.Size(s.ahead(t), left) <= left
	}
	return true
}

// systemFits tells whether there is room for the system prompt of an agent.
func (s viewer) systemFits(a *plan.Agent, scope int) bool {
	left, bounded := s.left()
	return !bounded || a == nil || a.SystemTemplate == nil || a.SystemTemplate.Size(env{viewer: s, scope: scope}, left) <= left
}

// fitting tells whether there is room for an output that is made of others; the failure names the bound.
func (s *state) fitting(bytes int64) *Failure {
	left, bounded := s.left()
	if !bounded || bytes <= left {
		return nil
	}
	f := s.limitFailure(&LimitReached{Limit: CodeMaxBytes, Max: s.Limits.MaxBytes}, "")
	return &f
}
