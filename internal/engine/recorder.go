package engine

import (
	"slices"
	"time"
)

// recorder holds the state of a run and records events, which are the only way to change it. The
// types that make decisions share it; what they need from each other is declared in their
// interfaces.
type recorder struct {
	state state
	graph *runGraph // of state
	mem   slabs
	// lastID is the last command id that was built, prefixed with the run's id.
	lastID string

	// Collected during one activation; empty between activations.
	now time.Time
	out []Event
}

// emit records an event and applies it immediately.
func (r *recorder) emit(step int, node string, d Data) {
	if len(r.out) == cap(r.out) {
		r.out = slices.Grow(r.out, 3*len(r.out)) // long activations, such as chains of decisions, are rarely copied
	}
	r.out = append(r.out, Event{Seq: r.state.Seq + 1, At: r.now, Node: node, Step: step, Data: d})
	r.state.apply(&r.out[len(r.out)-1])
}

// emitStep records an event of a step that has started.
func (r *recorder) emitStep(step int, d Data) { r.emit(step, r.graph.NodeID(step), d) }

// expect makes room for events more events.
func (r *recorder) expect(events int) { r.out = slices.Grow(r.out, events) }
