package engine

// decisions are all ways in which a run goes on by itself, in the order in which they are tried. Each looks at the state and makes the events of what can go on, none where nothing can.
// What they do follows from the state alone: the state after a fold, with all scopes awake, leaves nothing to go on with (TestNothingIsLeft).
var decisions = [...]func(*Run){
	func(r *Run) { r.calls.resumeDue() },
	func(r *Run) { r.calls.resumeWithheld() },
	func(r *Run) { r.starter.startReady() },
	func(r *Run) { r.blocks.closeScopes() },
	func(r *Run) { r.starter.fireJoins() },
	func(r *Run) { r.lifecycle.settleUnsent() },
}

// advance decides until nothing more can go on, then pauses or ends the run. After each decision that made events the first one is tried again.
func (r *Run) advance() {
	for i := 0; i < len(decisions); {
		before := r.state.Seq
		if decisions[i](r); r.state.Seq == before {
			i++
		} else {
			i = 0
		}
	}
	r.lifecycle.rest()
}

// startable tells whether the run starts anything at all.
func (s *state) startable() bool {
	return s.Ending == nil && (s.Status == StatusRunning || s.Status == StatusPaused)
}
