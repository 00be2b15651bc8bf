package engine

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

// approvalsBelow makes a parallel block or sub-flow that completes inherit the approvals inside it.
func (s *state) approvalsBelow(id int) {
	st := s.graph.Step(id)
	if st.Block == nil {
		return
	}
	if st.Block.Items != nil {
		return // each item was handled when it ended
	}
	for _, id := range st.Block.Scopes {
		sc := s.graph.Scope(id)
		last := sc.Arrived // the step that arrived from a branch
		if sc.Branch == 0 {
			last = sc.Last
		}
		st.Approve(s.Waits.Later(st.Approval, s.approvalAt(last)))
	}
}
