package engine

import (
	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

// Where the notes of approvals apply. How approvals are requested and answered is decided in
// answers.go.
//
// The path to a step is how this execution was reached: the step whose output is its input, the
// step whose output is that one's input, and so on back to the input of the run. Concurrent
// branches are not on its path, but earlier passes of a loop are. A join has all paths that
// arrived; a parallel block, a map and a sub-flow have the paths inside them, once they have
// completed. Of all answered approvals on the path, the one that was answered last counts (ADR 46).
// Approvals of tool calls do not count: their notes are results of the calls.

// approvalAt returns the last answered approval on the path to a step, including the step itself,
// in the form of step.Approval; step 0 is the run's input, and negative steps are items.
func (s *state) approvalAt(step int) int {
	if step < 0 {
		step = s.graph.Step(s.graph.Scope(-step).Owner).From // an item is on the path of its map
		return s.approvalAt(step)
	}
	if step == 0 {
		return 0
	}
	return s.graph.Step(step).Approval
}

// noteAt returns the note of the approval that approvalAt returns, or "" if there is none.
func (s *state) noteAt(step int) string {
	return s.Waits.Note(s.approvalAt(step))
}

// lastApproval returns the approval that was answered last among those that an event adds to the
// path to its step, before the event is applied; 0 means none. It is followed only if a text of the
// workflow has the note.
func (s *state) lastApproval(ev *event.Event) (last int) {
	if !s.plan.root.Notes {
		return 0
	}
	add := func(step int) { last = s.Waits.Later(last, s.approvalAt(step)) }
	switch d := ev.Data.(type) {
	case *event.StepStarted:
		for _, id := range d.Tokens {
			t, _ := s.graph.Waiting(id)
			add(t.From)
		}
	case *event.EdgeTaken:
		if step, ok := s.graph.ItemLast(ev.Step, d); ok {
			add(step)
		}
	case *event.StepCompleted: // the items of a map were added when they ended
		if b := s.graph.Step(ev.Step).Block; b != nil && b.Items == nil {
			for _, id := range b.Scopes {
				if sc := s.graph.Scope(id); sc.Branch == 0 {
					add(sc.Last)
				} else {
					add(sc.Arrived)
				}
			}
		}
	case *event.WaitAnswered:
		if w := s.Waits.Get(d.Wait); w.OfNode() && w.Kind == workflow.WaitApproval {
			return w.Number
		}
	}
	return last
}
