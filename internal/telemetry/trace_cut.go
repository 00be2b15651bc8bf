package telemetry

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
)

// cut ends everything that is open when the run ends: a run that reached its time limit leaves
// steps and calls as they are. Their state is kept, because the run may be reopened.
func (t *Tracer) cut(at time.Time) {
	for _, k := range t.callsInFlight() {
		c := t.calls[k]
		if c.step.ended {
			delete(t.calls, k) // it was cancelled before and will not be repeated
		}
		c.base, c.Failed = len(c.Attrs), true
		c.setTotals()
		c.set(Attr{ErrorType, "cut_off"})
		t.finish(c.openSpan, at)
	}
	for _, id := range slices.Sorted(maps.Keys(t.waits)) {
		w := t.waits[id]
		w.base = len(w.Attrs)
		w.set(Attr{WaitOutcome, "ended"})
		t.finish(w, at)
	}
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(t.steps))) { // the contents of a block started after it
		st := t.steps[n]
		if st.ended {
			delete(t.steps, n)
			continue
		}
		st.base = len(st.Attrs)
		for _, a := range st.loops() {
			a.base = len(a.Attrs)
		}
		t.endStep(event.Event{At: at, Step: n}, st, "ended", nil)
		t.steps[n] = st
	}
}

// callsInFlight returns the calls in flight, sorted.
func (t *Tracer) callsInFlight() []string { return slices.Sorted(maps.Keys(t.calls)) }

// loops returns the active agent loops of a step, nested ones after those that contain them.
func (st *stepSpan) loops() []*openSpan {
	var out []*openSpan
	if st.agent != nil && !st.agent.ended {
		out = append(out, st.agent)
	}
	for _, frame := range slices.Sorted(maps.Keys(st.subs)) {
		if a := st.subs[frame]; !a.ended {
			out = append(out, a)
		}
	}
	return out
}

// renew continues what was cut off when the run is reopened: in new spans, because the old ones
// have been sent.
func (t *Tracer) renew(at time.Time) {
	fresh := map[SpanID]*openSpan{}
	again := func(o *openSpan) *openSpan {
		parent := cmp.Or(fresh[o.Parent], t.root)
		n := t.start(parent, at, o.What, t.reopens, string(o.ID[:]), 0, o.Name, "")
		n.Kind, n.Links = o.Kind, []Link{{t.trace, o.ID}}
		n.Attrs = slices.Clone(o.Attrs[:o.base])
		fresh[o.ID] = n
		return n
	}
	for _, n := range slices.Sorted(maps.Keys(t.steps)) {
		st := t.steps[n]
		st.openSpan = again(st.openSpan)
		if st.agent != nil {
			st.agent = again(st.agent)
		}
		for _, frame := range slices.Sorted(maps.Keys(st.subs)) {
			if a := st.subs[frame]; a.base > 0 {
				st.subs[frame] = again(a)
			}
		}
	}
	for id, w := range t.waits {
		t.waits[id] = again(w)
	}
	for _, c := range t.calls {
		c.openSpan = again(c.openSpan)
	}
}
