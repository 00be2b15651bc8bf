package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/chat"
	"github.com/hocket-run/hocket/internal/engine/typed"
)

// SettleTime is how long an ending run waits for the calls that it cancelled (D10).
const SettleTime = 5 * time.Second

// DrainTime is how long it waits where only functions are left that cannot tell of any more use: those that heed their contexts have returned by then,
// others go on behind the run and count no more.
const DrainTime = 100 * time.Millisecond

// apply folds one event into the state. It decides nothing: whatever it does follows from the event and the state alone. An event that does
// not fit is a *DivergenceError, after which the state must not be used.
func (r *Run) apply(ev *Event) error {
	if err := r.applyData(ev); err != nil {
		return err
	}
	if r.s.Limits.MaxBytes > 0 {
		r.s.Bytes = chat.AddTokens(r.s.Bytes, r.weight(ev))
	}
	return nil
}

func (r *Run) applyData(ev *Event) error {
	if _, resumed := ev.Data.(*RunResumed); r.s.Status == StatusRunning && !resumed {
		r.s.Active += max(0, ev.At.Sub(r.s.At))
	}
	r.s.Seq, r.s.At = ev.Seq, ev.At
	switch d := ev.Data.(type) {
	case *StepStarted:
		return r.applyStepStarted(ev, d)
	case *EdgeTaken:
		return r.applyEdge(ev, d)
	case *StepCompleted, *StepFailed, *StepCancelled, *StepSkipped, *StepRetrying:
		return r.applyStep(ev)
	default:
		kinds[ev.Data.Type()].apply(r, ev)
		return nil
	}
}

func (r *Run) diverge(ev *Event, format string, args ...any) error {
	return &DivergenceError{Seq: ev.Seq, Reason: fmt.Sprintf("%s: %s", ev.Data.Type(), fmt.Sprintf(format, args...))}
}

// conv appends messages to a conversation.
func (r *Run) conv(id string, messages ...chat.Message) {
	if r.s.Convs == nil {
		r.s.Convs = map[string][]chat.Message{}
	}
	r.s.Convs[id] = append(r.s.Convs[id], messages...)
}

func (r *Run) applyEdge(ev *Event, d *EdgeTaken) error {
	if d.Branch > 0 && d.Scope == len(r.s.Scopes) {
		if ev.Step < 1 || r.step(ev.Step).Block == nil {
			return r.diverge(ev, "step %d is not a fork", ev.Step)
		}
		b := r.step(ev.Step).Block
		r.s.Scopes = append(r.s.Scopes, scope{Flow: r.stepScope(ev.Step).Flow, Owner: ev.Step, Branch: d.Branch, Base: b.Base, State: b.View,
			context: r.stepScope(ev.Step).context})
		b.Scopes = append(b.Scopes, d.Scope)
	}
	if d.Scope < 0 || d.Scope >= len(r.s.Scopes) {
		return r.diverge(ev, "scope %d does not exist", d.Scope)
	}
	sc := r.scope(d.Scope)
	f := r.flows[sc.Flow]
	idx, ok := f.index[d.To]
	if !ok {
		return r.diverge(ev, "node %q does not exist", d.To)
	}
	if key := r.trip(ev.Step, d.To); key != "" {
		if r.s.Trips == nil {
			r.s.Trips = map[string]int{}
		}
		r.s.Trips[key]++
	}
	if d.State != nil {
		sc.State = typed.StateOf(d.State, ev.Step)
	}
	n := &f.nodes[idx]
	if n.fork >= 0 && sc.Owner > 0 && r.stepNode(sc.Owner).idx == n.fork {
		sc.Arrived = ev.Step
		r.idle(d.Scope)
		return nil
	}
	group := 0
	if ev.Step > 0 {
		group = r.step(ev.Step).Group
	}
	if n.header && (d.Edge < 0 || !f.w.Edges[d.Edge].Loop) {
		if sc.Loops.of(idx) > 0 {
			sc.Loops.set(idx, 0, len(f.nodes))
		}
	}
	t := token{ID: d.Token, Node: idx, Scope: d.Scope, From: ev.Step, Edge: d.Edge, Group: group}
	if ev.Step > 0 && r.step(ev.Step).Block != nil && d.Scope != r.step(ev.Step).Scope {
		t.From = r.step(ev.Step).From // a branch or sub-flow begins with what its owner was given
	}
	if r.s.Tokens++; r.s.Tokens != d.Token {
		return r.diverge(ev, "expected token %d", r.s.Tokens)
	}
	sc.Live++
	if d.Held {
		r.s.Held = append(r.s.Held, t)
		return nil
	}
	if isFreeJoin(n) {
		r.s.Parked++
	}
	r.s.Ready = append(r.s.Ready, t)
	return nil
}
