package engine

// What the notes of approvals reach; how approvals are asked and answered is decided in people.go.
//
// The path to a step is how this execution was reached: the step whose output it was given, the step whose output that one was given, and so on to the input of the run.
// Branches that run beside it are not on its path, earlier passes of a loop are. A join has all paths that arrived; a parallel block, a map and a sub-flow have those inside them,
// once they have completed. Of all approvals on the path that were answered, the one answered last counts (ADR 46). Approvals of tool calls are none: their notes
// are results of the calls.

// approvalAt is the last answered approval on the path to a step, the step itself included, as step.Approval has it; step 0 is the run's input, and below are items.
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

// noteAt is the note of that approval; "" where there is none.
func (s *state) noteAt(step int) string {
	return s.Waits.Note(s.approvalAt(step))
}

// approvalsBelow takes over what was answered inside of a parallel block or sub-flow that completes.
func (s *state) approvalsBelow(id int) {
	st := s.graph.Step(id)
	if st.Block == nil {
		return
	}
	if st.Block.Items != nil {
		return // each item was looked at when it ended
	}
	for _, id := range st.Block.Scopes {
		sc := s.graph.Scope(id)
		last := sc.Arrived // of a branch
		if sc.Branch == 0 {
			last = sc.Last
		}
		st.Approve(s.Waits.Later(st.Approval, s.approvalAt(last)))
	}
}
