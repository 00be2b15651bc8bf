package engine

import (
	"slices"
	"strconv"
	"time"
)

// recorder has the state of a run and records events, which are the one way to change it. The types that decide share it: what they ask of each other is in their interfaces.
type recorder struct {
	state state
	graph *runGraph // of state
	mem   slabs
	// named is the command id of the call that was named last, with the run's id before it.
	named string

	// What one activation gathers; empty between activations.
	now time.Time
	out []Event
}

// emit records an event and applies it at once.
func (r *recorder) emit(step int, node string, d Data) {
	if len(r.out) == cap(r.out) {
		r.out = slices.Grow(r.out, 3*len(r.out)) // long activations, such as chains of decisions, are copied seldom
	}
	r.out = append(r.out, Event{Seq: r.state.Seq + 1, At: r.now, Node: node, Step: step, Data: d})
	r.state.apply(&r.out[len(r.out)-1])
}

// emitStep records an event of a step that has started.
func (r *recorder) emitStep(step int, d Data) { r.emit(step, r.graph.NodeID(step), d) }

// expect makes room for events.
func (r *recorder) expect(events int) { r.out = slices.Grow(r.out, events) }

// callID names a call of a step's frame by number. The names of its first attempt's command are made with it.
func (r *recorder) callID(step, frame, n int) string {
	var buf [64]byte
	b := append(append(buf[:0], r.state.id...), '/')
	b = append(strconv.AppendInt(b, int64(step), 10), '.')
	b = append(strconv.AppendInt(b, int64(frame), 10), '.')
	r.named = string(append(strconv.AppendInt(b, int64(n), 10), firstAttempt...))
	return r.named[len(r.state.id)+1 : len(r.named)-len(firstAttempt)]
}

const firstAttempt = "#1"

// commandIDs gives the id of one attempt of a call and the idempotency key of all of them (D6).
func (r *recorder) commandIDs(call string, attempt int) (id, key string) {
	n := len(r.state.id) + 1 + len(call)
	if s := r.named; attempt == 1 && len(s) == n+len(firstAttempt) && s[len(r.state.id)+1:n] == call {
		return s[len(r.state.id)+1:], s[:n]
	}
	var buf [64]byte
	b := append(append(append(buf[:0], r.state.id...), '/'), call...)
	s := string(strconv.AppendInt(append(b, '#'), int64(attempt), 10))
	return s[len(r.state.id)+1:], s[:n]
}
