package engine

// decisions are all the ways in which a run continues by itself, in the order in which they are
// tried. Each reads the state and creates the events for whatever can continue, none if nothing
// can. Their effect depends on the state alone: after a fold with all scopes awake, nothing is left
// to continue (TestActivation_Complete).
var decisions = [...]func(*Run){
	func(r *Run) { r.calls.resumeDue() },
	func(r *Run) { r.calls.resumeWithheld() },
	func(r *Run) { r.starter.startReady() },
	func(r *Run) { r.blocks.closeScopes() },
	func(r *Run) { r.starter.fireJoins() },
	func(r *Run) { r.lifecycle.settleUnsent() },
}

// advance decides until nothing more can continue, then pauses or ends the run. After each decision
// that created events, it starts over with the first decision.
func (r *Run) advance() {
	for i := 0; i < len(decisions); {
		before := r.state.Seq
		if decisions[i](r); r.state.Seq == before {
			i++
		} else {
			i = 0
		}
	}
	r.lifecycle.settleIdle()
}

// startable reports whether the run can start anything.
func (s *state) startable() bool {
	return s.Ending == nil && (s.Status == StatusRunning || s.Status == StatusPaused)
}
