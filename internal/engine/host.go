package engine

import (
	"fmt"
	"time"

	"github.com/hocket-run/hocket/internal/engine/event"
	"github.com/hocket-run/hocket/internal/engine/plan"
	"github.com/hocket-run/hocket/internal/engine/typed"
	"github.com/hocket-run/hocket/internal/text"
)

// Host calls the pure functions of a Go program that its graph names (D4): conditions, prompts, arguments, merges, error handlers. What they
// give is recorded, so recovery never calls them again. A panic in one is a failure of the step.
//
// All methods must be deterministic and must not keep or change what they are given.
type Host interface {
	// Condition answers an edge's or a decide node's question.
	Condition(name string, v View) (bool, error)
	// Value gives a prompt (a JSON string), a question (a JSON string, or an object as workflow.Wait.PromptFunc tells), a tool's arguments or the first state of
	// a sub-flow (both JSON objects).
	Value(name string, v View) (Value, error)
	// Merge combines the outputs of a fork's branches, keyed by branch id, into changes of the state (S2-57). For a wait's mapper the one output is the
	// answer, keyed by the wait's node (S2-52); for a sub-flow's, its last state, keyed by its node (S2-66).
	Merge(name string, outputs map[string]Value, v View) (map[string]Value, error)
	// Reduce merges a branch's change of one field: what it was at the fork, what is there now, what the branch made of it (D27).
	Reduce(name string, base, mine, theirs Value) (Value, error)
	// OnError decides what becomes of a failed attempt (S2-42). cause is FuncResult.Cause.
	OnError(name string, f Failure, cause error, v View) (ErrorAction, error)
	// RetryOn tells whether a failure is worth another attempt (S2-41). cause is as for OnError.
	RetryOn(name string, f Failure, cause error) (bool, error)
}

// Reporter is a [Host] that can tell more about a failed run.
type Reporter interface {
	// Report makes a signal of the failure with which run ends at a time, nil where there is nothing to tell. It must be pure (S2-59).
	Report(run string, f Failure, at time.Time) *SignalRaised
}

// View is what a step sees of the run: its input, the state and the outputs as of its scope (D5).
type View struct {
	Node  string
	Input Value
	State typed.State
	// Outputs gives the outputs by node, in a map of the caller's. It must not be called after the function returned; nil: there are none.
	Outputs func() map[string]Value
	// Run is the run's id, Attempt the tries of the step so far; Errors and Updated are as in CallFunc.
	Run     string
	Attempt int
	Errors  []FailedAttempt
	Updated time.Time
}

// ErrorAction is an error handler's answer.
type ErrorAction struct {
	// Kind is `retry`, `skip`, `abort` or `goto`; "" means that the retry policy decides.
	Kind string
	// DelayMS replaces the policy's delay of a retry where not nil.
	DelayMS *int64
	// Update is merged into the state on skip.
	Update map[string]Value
	// Failure replaces the failure on abort where not nil.
	Failure *Failure
	// Node is the recovery node of goto.
	Node string
}

// ask calls fn and turns a missing host or a panic into an error. A *[text.LoadError] goes on.
func (p *Plan) ask(name string, fn func(Host) error) (err error) {
	if p.host == nil {
		return fmt.Errorf("function %q: this workflow needs the Go program that registered it", name)
	}
	defer func() {
		v := recover()
		if e, ok := v.(*text.LoadError); ok {
			panic(e) // it is no failure of the function
		}
		if v != nil {
			err = fmt.Errorf("function %q panicked: %v", name, v)
		}
	}()
	return fn(p.host)
}

// askValue calls fn for a value, which must be JSON.
func (p *Plan) askValue(name string, fn func(Host) (Value, error)) (Value, error) {
	var out Value
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
func (p *Plan) askUpdate(name string, fn func(Host) (map[string]Value, error)) (map[string]Value, error) {
	var out map[string]Value
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

// Counting is a [Host] with node functions that only count the passes of a loop. The engine does their work itself, in the activation that asks for it: what it records is what a
// call would give.
type Counting interface {
	// Counter tells how a node function counts; false: it does something else. The answer must always be the same.
	Counter(name string) (Counter, bool)
}
