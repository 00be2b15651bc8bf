package engine

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hocket-run/hocket/internal/engine/graph"
	"github.com/hocket-run/hocket/internal/engine/loop"
	"github.com/hocket-run/hocket/internal/engine/plan"
)

// Run is one execution of a plan. Not safe for concurrent use.
type Run struct {
	plan  *Plan
	s     state
	graph *runGraph // of s
	mem   slabs
	// agents decides for the agent loops.
	agents agents
	// budgets decides what bounds calls.
	budgets budgets
	used    *CallFunc // a command that was given back; nil: there is none

	// What one activation gathers; empty between activations.
	now    time.Time
	out    []Event
	opened []Command
	// named is the command id of the call that was named last, with the run's id before it.
	named string
	// passing is what passable gave last.
	passing []int
	// cancelling is what the next cancelled step is to say of the whole run.
	cancelling *RunCancelled
	// announced is the time for which the timer for cancelled calls was asked for last.
	announced time.Time
}

// New gives a run that has not started. id enters the idempotency keys of its calls.
func New(p *Plan, id string) *Run {
	r := &Run{plan: p, s: state{plan: p, id: id, Status: StatusPending}}
	r.graph = &r.s.graph
	r.agents, r.budgets = agentsOf(r), budgetsOf(r)
	r.mem.expect(p.root)
	r.graph.Steps.Expect(len(p.root.Nodes))
	return r
}

// Apply folds events that were stored before, in order. It decides nothing and gives no commands. On error, a *[DivergenceError], the run must
// be thrown away. Apply keeps the Data of the events; nobody may change them afterwards.
func (r *Run) Apply(events []Event) error {
	for i := range events {
		if err := r.s.validateEvent(&events[i]); err != nil {
			return err
		}
		r.s.apply(&events[i])
	}
	r.graph.Sleep()
	r.budgets.withheld = true
	return nil
}

// Activate feeds inputs to the run and returns the events to be stored and the commands that it now wants done, in order.
//
// The events continue the journal: Events[0].Seq == r.Seq()+1, no gaps. The caller owns the slices; what events and commands point at is shared
// and must not be changed. Activate reads no clock: Input.At (UTC, truncated to microseconds, never going back) is the only time that it knows.
// Start, FuncNote, ChildStart, CallUse, Answer, Cancel, Recovered and Reopen must be the only input of their activation.
//
// A result for a call that was settled before is ignored and gives an empty decision. Errors leave the run unchanged: the Err variables of
// this package.
//
// Source: decisions D1, D4, D7.
func (r *Run) Activate(inputs []Input) (Decision, error) {
	if len(inputs) == 0 {
		return Decision{}, nil
	}
	for _, in := range inputs {
		if len(inputs) > 1 && !result(in.Data) {
			return Decision{}, fmt.Errorf("%T must be the only input of an activation", in.Data)
		}
		if err := r.check(in.Data); err != nil {
			return Decision{}, err
		}
	}
	r.out, r.opened = r.mem.room(), nil
	r.graph.Sleep()
	for _, in := range inputs {
		if at := in.At.UTC().Truncate(time.Microsecond); at.After(r.s.At) {
			r.now = at
		} else {
			r.now = r.s.At
		}
		r.handle(in.Data)
		r.advance()
	}
	d := Decision{Events: r.mem.taken(r.out), Commands: r.commands()}
	r.out, r.opened = nil, nil
	return d, nil
}

// result tells whether an input answers a command; only those come in groups.
func result(d InputData) bool {
	switch d.(type) {
	case ModelResult, ToolResult, ToolHeld, FuncResult, *FuncResult, TimerDue:
		return true
	}
	return false
}

// emit records an event and applies it at once.
func (r *Run) emit(step int, node string, d Data) {
	if len(r.out) == cap(r.out) {
		r.out = slices.Grow(r.out, 3*len(r.out)) // long activations, such as chains of decisions, are copied seldom
	}
	r.out = append(r.out, Event{Seq: r.s.Seq + 1, At: r.now, Node: node, Step: step, Data: d})
	r.s.apply(&r.out[len(r.out)-1])
}

// emitStep records an event of a step that has started.
func (r *Run) emitStep(step int, d Data) { r.emit(step, r.nodeID(step), d) }

// Status gives the state of the run.
func (r *Run) Status() Status { return r.s.Status }

// Seq gives the number of the last event.
func (r *Run) Seq() uint64 { return r.s.Seq }

// InFlight counts the calls whose results are still awaited, those of cancelled steps included.
func (r *Run) InFlight() int { return r.s.Loop.Out() + r.s.Loop.Late() }

// EndedByLimit names the limit that ended the run, "" where none did.
func (r *Run) EndedByLimit() string {
	if r.s.Status != StatusFailed {
		return ""
	}
	return r.s.Limit
}

// Created gives the first event's data, nil before it.
func (r *Run) Created() *RunCreated { return r.s.Created }

// Output gives the output of the step that completed last in the run itself, which is the run's output once it has completed.
func (r *Run) Output() Value {
	g := r.graph
	if len(g.Scopes) == 0 || g.Scope(0).Last == 0 {
		return nil
	}
	return g.Value(g.Scope(0).Last)
}

// Waits gives the open waits, oldest first. The slice is the caller's.
func (r *Run) Waits() []WaitInfo {
	var out []WaitInfo
	for _, w := range r.s.Waits.Open(nil) {
		out = append(out, WaitInfo{ID: w.Wait, Node: r.nodeID(w.Step), Step: w.Step, Kind: w.Kind, Prompt: w.Prompt, Options: w.Options, Since: w.Since, Deadline: w.Deadline,
			Call: w.Call, Tool: w.Tool, Arguments: w.Arguments, Binding: w.Binding, Changed: w.Changed, Schema: w.Schema, Below: w.Below})
	}
	return out
}

// Errors gives the failed attempts of a run with typed state, oldest first, and Updated when a step of it completed last. The slice is the caller's.
func (r *Run) Errors() []FailedAttempt { return slices.Clone(r.s.Errors) }

// Updated is told at [Run.Errors].
func (r *Run) Updated() time.Time { return r.s.Updated }

func (r *Run) step(id int) *graph.Step[loop.Step] { return r.graph.Step(id) }
func (r *Run) scope(id int) *graph.Scope          { return r.graph.Scope(id) }
func (r *Run) stepScope(id int) *graph.Scope      { return r.graph.StepScope(id) }
func (r *Run) flowOf(id int) *plan.Flow           { return r.graph.FlowOf(id) }
func (r *Run) stepNode(id int) *plan.Node         { return r.graph.StepNode(id) }
func (r *Run) nodeID(id int) string               { return r.graph.NodeID(id) }
func (r *Run) stepInput(id int) Value             { return r.graph.StepInput(id) }
func (r *Run) value(step int) Value               { return r.graph.Value(step) }

// commandID names one attempt of a call.
func commandID(call string, attempt int) string { return call + "#" + strconv.Itoa(attempt) }

// callID names a call of a step's frame by number. The names of its first attempt's command are made with it.
func (r *Run) callID(step, frame, n int) string {
	var buf [64]byte
	b := append(append(buf[:0], r.s.id...), '/')
	b = append(strconv.AppendInt(b, int64(step), 10), '.')
	b = append(strconv.AppendInt(b, int64(frame), 10), '.')
	r.named = string(append(strconv.AppendInt(b, int64(n), 10), firstAttempt...))
	return r.named[len(r.s.id)+1 : len(r.named)-len(firstAttempt)]
}

const firstAttempt = "#1"

// commandIDs gives the id of one attempt of a call and the idempotency key of all of them (D6).
func (r *Run) commandIDs(call string, attempt int) (id, key string) {
	n := len(r.s.id) + 1 + len(call)
	if s := r.named; attempt == 1 && len(s) == n+len(firstAttempt) && s[len(r.s.id)+1:n] == call {
		return s[len(r.s.id)+1:], s[:n]
	}
	var buf [64]byte
	b := append(append(append(buf[:0], r.s.id...), '/'), call...)
	s := string(strconv.AppendInt(append(b, '#'), int64(attempt), 10))
	return s[len(r.s.id)+1:], s[:n]
}

// parseCommandID undoes commandID.
func parseCommandID(id string) (call string, attempt int, ok bool) {
	call, a, found := strings.Cut(id, "#")
	attempt, err := strconv.Atoi(a)
	return call, attempt, found && err == nil
}

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
