package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/text"
)

// Host calls the pure functions of a Go program that its graph names (D4): conditions, prompts,
// arguments, merges, error handlers. Their results are recorded, so recovery never calls them
// again. A panic in a function fails the step.
//
// All methods must be deterministic and must not keep or modify their arguments.
type Host interface {
	// Condition evaluates the condition of an edge or a decide node.
	Condition(name string, v View) (bool, error)
	// Value returns a prompt (a JSON string), a question (a JSON string, or an object as described
	// at workflow.Wait.PromptFunc), a tool's arguments or the initial state of a sub-flow (both
	// JSON objects).
	Value(name string, v View) (event.Value, error)
	// Merge combines the outputs of a fork's branches, keyed by branch id, into changes of the
	// state (S2-57). For the mapper of a wait the only output is the answer, keyed by the wait's
	// node (S2-52); for the mapper of a sub-flow it is the sub-flow's final state, keyed by its
	// node (S2-66).
	Merge(name string, outputs map[string]event.Value, v View) (map[string]event.Value, error)
	// Reduce merges a branch's change of one field: base is its value at the fork, mine the current
	// value, theirs the branch's value (D27).
	Reduce(name string, base, mine, theirs event.Value) (event.Value, error)
	// OnError decides how to handle a failed attempt (S2-42). cause is FuncResult.Cause.
	OnError(name string, f event.Failure, cause error, v View) (ErrorAction, error)
	// RetryOn reports whether a failure is worth another attempt (S2-41). cause is as for OnError.
	RetryOn(name string, f event.Failure, cause error) (bool, error)
}

// Reporter is a [Host] that can report failed runs.
type Reporter interface {
	// Report returns a signal about the failure with which run ends at a time, or nil if there is
	// nothing to report. It must be pure (S2-59).
	Report(run string, f event.Failure, at time.Time) *event.SignalRaised
}

// View is the part of the run that a step sees: its input, and the state and the outputs as of its
// scope (D5).
type View struct {
	Node  string
	Input event.Value
	State typed.State
	// Outputs returns the outputs by node, in a map that the caller owns. It must not be called
	// after the function has returned; if Outputs is nil, there are none.
	Outputs func() map[string]event.Value
	// Run is the run's id, Attempt the number of attempts of the step so far; Errors and Updated
	// are as in CallFunc.
	Run     string
	Attempt int
	Errors  []FailedAttempt
	Updated time.Time
}

// ErrorAction is an error handler's decision.
type ErrorAction struct {
	// Kind is `retry`, `skip`, `abort` or `goto`; "" leaves the decision to the retry policy.
	Kind string
	// DelayMS, if not nil, replaces the policy's delay of a retry.
	DelayMS *int64
	// Update is merged into the state on skip.
	Update map[string]event.Value
	// Failure, if not nil, replaces the failure on abort.
	Failure *event.Failure
	// Node is the recovery node of goto.
	Node string
}

// ask calls fn and turns a missing host or a panic into an error. It panics again with a
// *[text.LoadError].
func (p *Plan) ask(name string, fn func(Host) error) (err error) {
	if p.host == nil {
		return fmt.Errorf("function %q: this workflow needs the Go program that registered it", name)
	}
	defer func() {
		v := recover()
		if e, ok := v.(*text.LoadError); ok {
			panic(e) // not a failure of the function
		}
		if v != nil {
			err = fmt.Errorf("function %q panicked: %v", name, v)
		}
	}()
	return fn(p.host)
}

// askValue calls fn for a value, which must be JSON.
func (p *Plan) askValue(name string, fn func(Host) (event.Value, error)) (event.Value, error) {
	var out event.Value
	err := p.ask(name, func(h Host) (err error) {
		out, err = fn(h)
		return err
	})
	if err == nil {
		err = checkValues(fmt.Sprintf("function %q", name), out)
	}
	if err != nil {
		return nil, err
	}
	return event.Compact(out), nil
}

// askUpdate calls fn for changes of the state, which must be JSON.
func (p *Plan) askUpdate(name string, fn func(Host) (map[string]event.Value, error)) (map[string]event.Value, error) {
	var out map[string]event.Value
	err := p.ask(name, func(h Host) (err error) {
		out, err = fn(h)
		return err
	})
	if err == nil {
		err = checkNames(fmt.Sprintf("function %q: field", name), out)
	}
	for _, field := range sortedKeys(out) {
		if err == nil {
			err = checkValues(fmt.Sprintf("function %q: field %q", name, field), out[field])
		}
	}
	return out, err
}

// Counter is a node function that only counts.
type Counter = plan.Counter

// Counting is a [Host] with node functions that only count the iterations of a loop. The engine
// performs them itself, in the activation that requests them, and records the same result as a call
// would return.
type Counting interface {
	// Counter returns how a node function counts, or false if it does something else. The answer
	// must always be the same.
	Counter(name string) (Counter, bool)
}
