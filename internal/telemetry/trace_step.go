package telemetry

import (
	"maps"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/workflow"
)

func (t *Tracer) step(e event.Event) {
	if d, ok := e.Data.(*event.StepStarted); ok {
		t.startStep(e, d)
		return
	}
	st := t.steps[e.Step]
	if st == nil {
		return
	}
	switch d := e.Data.(type) {
	case *event.StepRetrying:
		m := Mark{"retry", e.At, []Attr{{Attempt, int64(d.Attempt)}, {ErrorType, d.Error.Code}}}
		if d.Call != "" {
			m.Attrs = append(m.Attrs, Attr{Call, d.Call})
		}
		st.mark(m)
	case *event.EdgeTaken:
		// A branch of a fork, or the graph of a sub-flow: its steps are children of the step that
		// opened it.
		if d.Branch > 0 || st.kind == workflow.KindSubflow && !st.ended && d.Edge < 0 {
			t.scopes[d.Scope] = st
		}
	case *event.StepFailed:
		t.endStep(e, st, event.StepEnd(d).String(), &d.Error)
	case *event.StepCompleted, *event.StepCancelled, *event.StepSkipped:
		t.endStep(e, st, event.StepEnd(d).String(), nil)
	}
}

func (t *Tracer) startStep(e event.Event, d *event.StepStarted) {
	if t.root == nil || t.steps[e.Step] != nil {
		return
	}
	parent := t.root
	if owner := t.scopes[d.Scope]; owner != nil && !owner.ended {
		parent = owner.openSpan
	}
	st := &stepSpan{openSpan: t.start(parent, e.At, WhatStep, e.Step, "", 0, "node", e.Node), number: e.Step,
		kind: d.Kind}
	st.set(
		Attr{RunID, t.run}, Attr{NodeID, e.Node}, Attr{NodeType, d.Kind.In(t.created.Format)},
		Attr{Step, int64(e.Step)}, Attr{Iteration, int64(d.Iteration)},
	)
	t.steps[e.Step] = st
	input := t.content.input(e)
	if d.Agent != "" {
		st.agent = t.startAgent(st.openSpan, e, "", 0, d.Agent)
		t.content.began(st.agent, e.Step, 0, d.System, input)
	}
}

// startAgent opens the span of an agent loop. Agents are distinguished by their IDs, which are also
// names.
func (t *Tracer) startAgent(parent *openSpan, e event.Event, key string, frame int, id string) *openSpan {
	a := t.start(parent, e.At, WhatAgent, e.Step, key, frame, OpAgent, id)
	a.set(Attr{OperationName, OpAgent}, Attr{AgentID, id}, Attr{AgentName, id}, Attr{RunID, t.run},
		Attr{Step, int64(e.Step)})
	return a
}

// endStep ends a step and its loops. The step is kept while calls of it are in flight.
func (t *Tracer) endStep(e event.Event, st *stepSpan, status string, f *event.Failure) {
	for _, frame := range slices.Backward(slices.Sorted(maps.Keys(st.subs))) {
		t.finish(st.subs[frame], e.At)
	}
	if st.agent != nil {
		t.fail(st.agent, f)
		t.finish(st.agent, e.At)
	}
	st.set(Attr{Status, status})
	t.fail(st.openSpan, f)
	t.finish(st.openSpan, e.At)
	if st.kids == 0 {
		delete(t.steps, e.Step)
	}
	t.content.forget(e.Step)
}

func (t *Tracer) wait(e event.Event) {
	switch d := e.Data.(type) {
	case *event.WaitOpened:
		parent := t.parentSpan(e.Step)
		if t.root == nil || t.waits[d.Wait] != nil {
			return
		}
		w := t.start(parent, e.At, WhatWait, e.Step, d.Wait, 0, "wait", e.Node)
		w.set(Attr{RunID, t.run}, Attr{WaitID, d.Wait}, Attr{WaitKind, d.Kind}, Attr{NodeID, e.Node},
			Attr{Step, int64(e.Step)}, Attr{Call, d.Call})
		t.waits[d.Wait] = w
		if st := t.steps[e.Step]; st != nil && st.kind == workflow.KindWait {
			n := workflow.Node{Kind: workflow.KindWait, Wait: &workflow.Wait{Kind: d.Kind}}
			st.replace(Attr{NodeType, n.KindIn(t.created.Format)})
		}
	case *event.WaitAnswered:
		outcome := "answered"
		if d.Decision != "" {
			outcome = d.Decision
		}
		if w := t.waits[d.Wait]; w != nil {
			w.link(d.Trace)
		}
		t.endWait(d.Wait, outcome, e.At)
	case *event.WaitClosed:
		t.endWait(d.Wait, d.Reason, e.At)
	}
}

func (t *Tracer) endWait(id, outcome string, at time.Time) {
	if w := t.waits[id]; w != nil {
		delete(t.waits, id)
		w.set(Attr{WaitOutcome, outcome})
		t.finish(w, at)
	}
}
