package program

import "context"

// Direct calls the plain functions of a program, those that only change the state, with the state as
// the program's own type instead of JSON. It is safe for concurrent use.
type Direct interface {
	// Func and Condition return the number of a function or a condition, or -1 if it cannot be
	// called directly.
	Func(name string) int
	Condition(name string) int
	// Walk begins at a state, or returns nil if the state has no form of the program's own.
	Walk(s State) Walk
	// Changes returns the result of a function that turned the state s, whose own form is before,
	// into after. Both are results of Walk.State.
	Changes(s State, before, after any) Result
}

// Walk is a state that functions change one after another. It is not safe for concurrent use.
type Walk interface {
	// Call calls a function with its own copy of the state. ctx is the function's context, in which
	// caller is stored. It returns false if the result is anything but a state: then only Result may
	// be called. If the function ends its goroutine, Call does not return.
	Call(ctx context.Context, caller Caller, fn int) bool
	// Result returns the result of the last call as the function in [Table].Calls would have
	// returned it. s is the state before it.
	Result(ctx context.Context, s State) Result
	// Check evaluates a condition on the state after the last call. It returns false for ok if the
	// condition panicked or asked for more than the state and the counters.
	Check(condition int) (holds, ok bool)
	// Count applies a counter, and returns false if it cannot.
	Count(c Counter) bool
	// State returns the state after the last call, which is the next function's.
	State() any
	// End returns the whole state after the last call.
	End() State
}
