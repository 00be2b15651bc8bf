package engine

import (
	"slices"

	"github.com/hocket-run/hocket/internal/engine/loop"
)

// decisions are all ways in which a run goes on by itself, in the order in which they are tried. Each looks at the state and makes the events of what can go on, none where nothing can.
// What they do follows from the state alone: the state after a fold, with all scopes awake, leaves nothing to go on with (TestNothingIsLeft).
var decisions = [...]func(*Run){
	(*Run).resumeDue,
	(*Run).resumeWithheld,
	func(r *Run) { r.starter.startReady() },
	func(r *Run) { r.blocks.closeScopes() },
	func(r *Run) { r.starter.fireJoins() },
	(*Run).settleUnsent,
}

// advance decides until nothing more can go on, then pauses or ends the run. After each decision that made events the first one is tried again.
func (r *Run) advance() {
	for i := 0; i < len(decisions); {
		before := r.s.Seq
		if decisions[i](r); r.s.Seq == before {
			i++
		} else {
			i = 0
		}
	}
	r.rest()
}

// resumeDue tries calls and steps again whose time has come, as far as there are slots (P14, P31).
func (r *Run) resumeDue() {
	if r.s.Loop.Due() == 0 || !r.s.startable() {
		return
	}
	for _, key := range r.s.Loop.Keys(func(c *loop.Call) bool { return c.State == loop.Due }) {
		if c := r.s.Loop.Call(key); c != nil && c.State == loop.Due && r.s.startable() && r.budgets.maySlot(key, c) {
			r.again(key, c, c.Model)
		}
	}
	for _, id := range slices.Clone(r.graph.Running) {
		if r.step(id).Loop.Due && r.s.startable() && r.budgets.slot() {
			r.starter.begin(id, r.stepNode(id))
		}
	}
}

// resumeWithheld makes the calls that waited for others to free what they had reserved, or a slot.
func (r *Run) resumeWithheld() {
	if !r.budgets.withheld || r.s.Limits.MaxConcurrency <= 0 && !r.s.Ledger.Bounds() {
		return
	}
	if r.s.Ending != nil || r.s.Status != StatusRunning || r.budgets.askedForBudget() {
		return
	}
	r.budgets.withheld = false // calls that still wait set it again
	r.callWithheld()
}

// startable tells whether the run starts anything at all.
func (s *state) startable() bool {
	return s.Ending == nil && (s.Status == StatusRunning || s.Status == StatusPaused)
}
