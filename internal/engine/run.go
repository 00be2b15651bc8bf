package engine

import (
	"fmt"
	"slices"
	"time"

	"github.com/hocket-run/hocket/internal/text"
)

// Run is one execution of a plan. Not safe for concurrent use.
type Run struct {
	recorder
	// starter decides what starts, steps what follows from the end of a step, and blocks about steps that contain others.
	starter starter
	steps   steps
	blocks  blocks
	// agents decides for the agent loops.
	agents agents
	// budgets decides what bounds calls.
	budgets budgets
	// commands derives commands from the state.
	commands commander
	// calls decides what follows from results, people what follows from answers, and lifecycle how the run pauses and ends.
	calls     calls
	people    people
	lifecycle lifecycle
}

// New gives a run that has not started. id enters the idempotency keys of its calls.
func New(p *Plan, id string) *Run {
	r := &Run{recorder: recorder{state: state{plan: p, id: id, Status: StatusPending, Limits: &p.root.Workflow.Limits}}}
	r.graph = &r.state.graph
	rec := &r.recorder
	r.starter = starter{recorder: rec, end: &r.lifecycle, steps: &r.steps, blocks: &r.blocks, agents: &r.agents, budget: &r.budgets, people: &r.people, calls: &r.calls}
	r.steps = steps{recorder: rec, commands: &r.commands, end: &r.lifecycle, people: &r.people, retries: &r.calls, agents: &r.agents, blocks: &r.blocks}
	r.blocks = blocks{recorder: rec, steps: &r.steps}
	r.agents = agents{recorder: rec, steps: &r.steps, budget: &r.budgets}
	r.budgets = budgets{recorder: rec, steps: &r.steps, calls: &r.agents}
	r.calls = calls{recorder: rec, budgets: &r.budgets, commands: &r.commands, steps: &r.steps, agents: &r.agents, starter: &r.starter, people: &r.people}
	r.people = people{recorder: rec, commands: &r.commands, steps: &r.steps, agents: &r.agents, calls: &r.calls, budgets: &r.budgets}
	r.lifecycle = lifecycle{recorder: rec, commands: &r.commands, steps: &r.steps, people: &r.people, calls: &r.calls}
	r.commands = commander{recorder: rec, agents: &r.agents}
	r.mem.expect(p.root)
	r.graph.Steps.Expect(len(p.root.Nodes))
	return r
}

// Apply folds events that were stored before, in order. It decides nothing and gives no commands. On error, a *[DivergenceError] or a
// *[text.LoadError], the run must be thrown away. Apply keeps the Data of the events; they must not be changed afterwards.
func (r *Run) Apply(events []Event) (err error) {
	defer text.Recover(&err)
	for i := range events {
		if err := r.state.validateEvent(&events[i]); err != nil {
			return err
		}
		r.state.apply(&events[i])
	}
	r.graph.Sleep()
	r.budgets.withheld = true
	return nil
}

// Activate feeds inputs to the run and returns the events to be stored and the commands that it now wants done, in order.
//
// The events continue the journal: Events[0].Seq == r.Seq()+1, no gaps. The caller owns the slices; what events and commands point at is shared
// and must not be changed. Activate reads no clock: Input.At (UTC, truncated to microseconds, never going back) is the only time that it knows.
// Start, Admitted, FuncNote, ChildStart, CallUse, Answer, Cancel, Recovered and Reopen must be the only input of their activation.
//
// A result for a call that was settled before is ignored and gives an empty decision. Errors leave the run unchanged: the Err variables of
// this package. After a *[text.LoadError] the run must be thrown away.
//
// Source: decisions D1, D4, D7.
func (r *Run) Activate(inputs []Input) (d Decision, err error) {
	defer text.Recover(&err)
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
	r.out = r.mem.room()
	r.commands.begin()
	r.graph.Sleep()
	for _, in := range inputs {
		if at := microseconds(in.At); at.After(r.state.At) {
			r.now = at
		} else {
			r.now = r.state.At
		}
		r.handle(in.Data)
		r.advance()
	}
	d = Decision{Events: r.mem.taken(r.out), Commands: r.commands.take(r.out)}
	r.out = nil
	return d, nil
}

// microseconds gives t in UTC, without what is below a microsecond and without a reading of a monotonic clock.
func microseconds(t time.Time) time.Time {
	if t.Nanosecond()%1000 == 0 {
		return t.UTC().Round(0)
	}
	return t.UTC().Truncate(time.Microsecond)
}

// result tells whether an input answers a command; only those come in groups.
func result(d InputData) bool {
	switch d.(type) {
	case ModelResult, ToolResult, ToolHeld, FuncResult, *FuncResult, TimerDue:
		return true
	}
	return false
}

// Open gives the commands without result, to be given again after a fold, in the order in which they were first given. After an activation
// with Recovered the same commands are in its Decision.
func (r *Run) Open() []Command { return r.commands.open() }

// Unfinished gives the calls without result in the order in which they were given, also where the run has ended by a limit and they may not be made
// before it is reopened.
func (r *Run) Unfinished() []Command { return r.commands.calls(r.state.Seq + 1) }

// Stopped gives the calls that a [CancelCalls] told to stop and whose results have not come, in the order in which they were given, for those who did not carry that command out: of each
// only ID and After are set. Their results are awaited for a while, by the timer of the run; a run that has ended awaits none.
func (r *Run) Stopped() []Command { return r.commands.stopped() }

// Reuse gives back a command that nothing holds any more: the next one may take its place.
func (r *Run) Reuse(c *CallFunc) { r.commands.used = c }

// Status gives the state of the run.
func (r *Run) Status() Status { return r.state.Status }

// Seq gives the number of the last event.
func (r *Run) Seq() uint64 { return r.state.Seq }

// IsEnding tells whether the run was cancelled and waits for functions that may finish (ADR 15).
func (r *Run) IsEnding() bool {
	return r.state.cancelled() && r.state.Loop.Out() > 0 && !r.state.Status.Ended()
}

// CheckAnswer tells whether the run takes an answer as it stands, and gives the id of its wait; "" where the same answer was given before, and for a signal that no wait takes yet. It changes
// nothing. Errors: those of answers (ErrWait…, ErrAnswer) and of signals (ErrSignal…, ErrEnded).
func (r *Run) CheckAnswer(d Answer) (wait string, err error) {
	if d.Signal != "" {
		ans, _, err := r.people.readSignal(d)
		if err != nil || ans == nil {
			return "", err
		}
		return ans.Wait, nil
	}
	w, _, err := r.people.readAnswer(d)
	if err != nil || w == nil {
		return "", err
	}
	return w.Wait, nil
}

// InFlight counts the calls whose results are still awaited, those of cancelled steps included.
func (r *Run) InFlight() int { return r.state.Loop.Out() + r.state.Loop.Late() }

// EndedByLimit names the limit that ended the run, "" where none did.
func (r *Run) EndedByLimit() string {
	if r.state.Status != StatusFailed {
		return ""
	}
	return r.state.Limit
}

// Created gives the first event's data, nil before it.
func (r *Run) Created() *RunCreated { return r.state.Created }

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
	for _, w := range r.state.Waits.Open(nil) {
		out = append(out, WaitInfo{ID: w.Wait, Node: r.graph.NodeID(w.Step), Step: w.Step, Kind: w.Kind, Prompt: w.Prompt, Options: w.Options, Since: w.Since, Deadline: w.Deadline,
			Call: w.Call, Tool: w.Tool, Arguments: w.Arguments, Binding: w.Binding, Changed: w.Changed, Schema: w.Schema, Below: w.Below, Signal: w.Signal, Filter: w.Filter, Roles: w.Roles})
	}
	return out
}

// Errors gives the failed attempts of a run with typed state, oldest first, and Updated when a step of it completed last. The slice is the caller's.
func (r *Run) Errors() []FailedAttempt { return slices.Clone(r.state.Errors) }

// Updated is described at [Run.Errors].
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
