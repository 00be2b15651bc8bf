package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/text"
)

// Run is one execution of a plan. It is not safe for concurrent use.
type Run struct{ machine }

// New returns a run that has not started. id is part of the idempotency keys of its calls.
func New(p *Plan, id string) *Run {
	r := &Run{machine{state: state{plan: p, id: id, Status: event.StatusPending, Limits: &p.root.Workflow.Limits}}}
	r.graph = &r.state.graph
	r.mem.expect(p.root)
	r.graph.Steps.Expect(len(p.root.Nodes))
	return r
}

// Apply folds previously stored events, in order. It decides nothing and returns no commands. After
// an error, a *[DivergenceError] or a *[text.LoadError], the run must be discarded. Apply keeps the
// Data of the events; they must not be modified afterwards.
func (r *Run) Apply(events []event.Event) (err error) {
	defer text.Recover(&err)
	for i := range events {
		if err := r.state.validateEvent(&events[i]); err != nil {
			return err
		}
		r.state.apply(&events[i])
	}
	r.graph.Sleep()
	r.withheld = true
	r.cut = r.state.Status == event.StatusRunning
	return nil
}

// Activate feeds inputs to the run and returns the events to store and the commands to carry out,
// in order.
//
// The events continue the journal: Events[0].Seq == r.Seq()+1, no gaps. The caller owns the slices;
// what events and commands point to is shared and must not be modified. Activate reads no clock:
// Input.At (UTC, truncated to microseconds, never going back) is the only time that it knows.
// Start, Admitted, FuncNote, ChildStart, CallUse, CallReserve, Answer, Cancel, Recovered and Reopen
// must be the only input of their activation.
//
// A result for a call that was already settled is ignored and returns an empty decision. Errors,
// which are the Err variables of this package, leave the run unchanged. After a *[text.LoadError]
// the run must be discarded.
//
// Source: decisions D1, D4, D7.
func (r *Run) Activate(inputs []Input) (d Decision, err error) {
	defer text.Recover(&err)
	if len(inputs) == 0 {
		return Decision{}, nil
	}
	for _, in := range inputs {
		if err := r.check(in.Data, len(inputs)); err != nil {
			return Decision{}, err
		}
	}
	r.out = r.mem.room()
	r.beginCommands()
	wasCut := r.cut
	if wasCut {
		r.graph.WakeAll()
	} else {
		r.graph.Sleep()
	}
	r.cut, r.made = false, 0
	for _, in := range inputs {
		if at := microseconds(in.At); at.After(r.state.At) {
			r.now = at
		} else {
			r.now = r.state.At
		}
		if f, ok := in.Data.(*FuncResult); ok { // not copied
			r.handleFunc(f)
		} else if err := in.Data.handle(&r.machine); err != nil { // the only input, and without an event
			r.cut, r.out = wasCut, nil
			return Decision{}, err
		}
		r.advance()
	}
	d = Decision{Events: r.mem.commitEvents(r.out), Commands: r.takeCommands(r.out)}
	r.out = nil
	return d, nil
}

// microseconds returns t in UTC, truncated to microseconds and without a monotonic clock reading.
func microseconds(t time.Time) time.Time {
	if t.Nanosecond()%1000 == 0 {
		return t.UTC().Round(0)
	}
	return t.UTC().Truncate(time.Microsecond)
}

// check rejects one of n inputs before anything changes, unless handling it alone finds out whether
// the run can accept it.
func (m *machine) check(in InputData, n int) error {
	_, starts := in.(Start)
	answer, ok := in.(result)
	switch {
	case n > 1 && !ok:
		return fmt.Errorf("%T must be the only input of an activation", in)
	case m.state.Created == nil && !starts:
		return ErrNotStarted
	case in == nil:
		return fmt.Errorf("input %T: %w", in, ErrUnknownCommand)
	case ok:
		return answer.check(&m.state)
	}
	return nil
}

// Open returns the commands without result, to be issued again after a fold, in the order in which
// they were first issued. After an activation with Recovered the same commands are in its Decision.
func (r *Run) Open() []Command { return r.openCommands() }

// Unfinished returns the calls without result in the order in which they were issued, even if the
// run was ended by a limit and they may not be made before it is reopened.
func (r *Run) Unfinished() []Command { return r.requestCalls(r.state.Seq + 1) }

// Stopped returns the calls that a [CancelCalls] told to stop and whose results have not arrived,
// in the order in which they were issued, for callers that did not carry out that command. Only ID
// and After are set. A run awaits their results for a while, until its timer fires; a run that has
// ended awaits none.
func (r *Run) Stopped() []Command { return r.stopped() }

// Reuse hands back a command that nothing refers to any more, so that the next command may reuse
// its memory.
func (r *Run) Reuse(c *CallFunc) { r.freeCallFunc = c }

// Status returns the status of the run.
func (r *Run) Status() event.Status { return r.state.Status }

// Seq returns the number of the last event.
func (r *Run) Seq() uint64 { return r.state.Seq }

// IsEnding reports whether the run was cancelled and is waiting for functions that are allowed to
// finish (ADR 15).
func (r *Run) IsEnding() bool {
	return r.state.cancelled() && r.state.Loop.Out() > 0 && !r.state.Status.Ended()
}

// CheckAnswer reports whether the run would currently accept an answer, and returns the id of its
// wait, or "" if the same answer was already received or no wait takes the signal yet. It changes
// nothing. Errors: those of package waits for answers and signals, and ErrEnded.
func (r *Run) CheckAnswer(d Answer) (wait string, err error) {
	if d.Signal != "" {
		ans, _, err := r.readSignal(d)
		if err != nil || ans == nil {
			return "", err
		}
		return ans.Wait, nil
	}
	w, _, err := r.readAnswer(d)
	if err != nil || w == nil {
		return "", err
	}
	return w.Wait, nil
}

// InFlight returns the number of calls whose results are still awaited, including those of
// cancelled steps.
func (r *Run) InFlight() int { return r.state.Loop.Out() + r.state.Loop.Late() }

// EndedByLimit returns the limit that ended the run, or "" if none did.
func (r *Run) EndedByLimit() string {
	if r.state.Status != event.StatusFailed {
		return ""
	}
	return r.state.Limit
}

// Created returns the data of the first event, or nil before it.
func (r *Run) Created() *event.RunCreated { return r.state.Created }

// Output returns the output of the step that completed last in the run itself. Once the run has
// completed, it is the run's output.
func (r *Run) Output() event.Value {
	g := r.graph
	if len(g.Scopes) == 0 || g.Scope(0).Last == 0 {
		return nil
	}
	return g.Value(g.Scope(0).Last)
}

// Waits returns the open waits, oldest first. The caller owns the slice.
func (r *Run) Waits() []WaitInfo {
	var out []WaitInfo
	for _, w := range r.state.Waits.Open(nil) {
		out = append(out, WaitInfo{ID: w.Wait, Node: r.graph.NodeID(w.Step), Step: w.Step, Kind: w.Kind,
			Prompt: w.Prompt, Options: w.Options, Since: w.Since, Deadline: w.Deadline,
			Call: w.Call, Tool: w.Tool, Arguments: w.Arguments, Binding: w.Binding, Changed: w.Changed,
			Schema: w.Schema, Below: w.Below, Signal: w.Signal, Filter: w.Filter, Roles: w.Roles})
	}
	return out
}

// Errors returns the failed attempts of a run with typed state, oldest first. The caller owns the
// slice.
func (r *Run) Errors() []FailedAttempt { return slices.Clone(r.state.Errors) }

// Updated returns when a step of a run with typed state last completed.
func (r *Run) Updated() time.Time { return r.state.Updated }

func sortedKeys[V any](m map[string]V) []string {
	if len(m) == 0 {
		return nil
	}
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}
