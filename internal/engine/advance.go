package engine

import (
	"github.com/hocket-run/hocket/internal/engine/event"
)

// decisions are all the ways in which a run continues by itself, in the order in which they are
// tried. Each reads the state and creates the events for whatever can continue, none if nothing
// can. Their effect depends on the state alone: after a fold with all scopes awake, nothing is left
// to continue (TestActivation_Complete).
var decisions = [...]func(*machine){
	(*machine).resumeDue,
	(*machine).resumeWithheld,
	(*machine).startReady,
	(*machine).closeScopes,
	(*machine).fireJoins,
	(*machine).settleUnsent,
}

// Continue continues a run whose last activation was cut short, see [Run.StopWhen]. Any other input
// does so, too. It has no effect on a run in which nothing can continue.
type Continue struct{}

// advance decides until nothing more can continue, then pauses or ends the run. After each decision
// that created events, it starts over with the first decision. It returns early if the activation
// is cut short.
func (r *Run) advance() {
	for i := 0; i < len(decisions); {
		before := r.state.Seq
		if decisions[i](&r.machine); r.state.Seq == before {
			i++
			continue
		}
		if r.mustStop() {
			return
		}
		i = 0
	}
	r.settleIdle()
}

// StopWhen sets a function that reports whether an activation is to be cut short: its events so far
// are then stored like those of any other, and Continue makes the remaining decisions. The function
// is called after each step that starts. Large outputs cut an activation short, too. Runs without
// it are never cut short; a fold does not set it.
func (r *Run) StopWhen(due func() bool) { r.due = due }

// IsCut reports whether the last activation was cut short, or may have been: a running run that was
// just folded may end with such an activation.
func (r *Run) IsCut() bool { return r.cut }

// mustStop reports whether the activation is cut short now. A paused run is not: nobody would
// continue it.
func (m *machine) mustStop() bool {
	if m.due != nil && !m.cut {
		m.cut = m.state.Status == event.StatusRunning && len(m.out) > 0 && (m.made > cutBytes || m.due())
	}
	return m.cut
}

// cutBytes is the size of the outputs of one activation above which it is cut short, so that they
// leave memory once they are stored.
const cutBytes = 8 << 20

// startable reports whether the run can start anything.
func (s *state) startable() bool {
	return s.Ending == nil && (s.Status == event.StatusRunning || s.Status == event.StatusPaused)
}
