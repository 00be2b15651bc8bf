package program

import "context"

// Caller is the call of a run that a program's function executes. It is safe for concurrent use.
//
// All code of Hocket receives the Caller, or the part it needs, as a parameter. User functions have
// only a context, with which they call package graph and package hocket: for them, and for nothing
// else, [WithCaller] stores the Caller in the context passed to them (ADR 71).
type Caller interface {
	// Notes returns the store for the results of the call's sub-steps; nil means that none are
	// stored.
	Notes() Notes
	// Host returns the call as its driver has it, a driver.Caller; nil means that no driver created
	// it.
	Host() any
	// Work returns what the call executes.
	Work() Work
}

// Work is what a call executes. The zero Work belongs to no call of a run.
type Work struct {
	// Key is the same for all attempts, even after a crash, and Attempt counts the attempts, from
	// 1: as in [Call].
	Key     string
	Attempt int
	// Services are what the program offers; nil means nothing.
	Services *Services
}

// Services are what a program offers its node functions. The zero value offers nothing.
type Services struct {
	// Runtime is a graph.Runtime; nil means none.
	Runtime any
	// Uncounted returns nil if work may start in a call whose usage is never reported, such as that
	// of a coding agent that does not report it, and otherwise an error with the reason. If
	// Uncounted is nil, the work may start.
	Uncounted func(ctx context.Context, c Caller) error
}

// Counted is implemented by clients and bridges whose work is limited by the budgets of its run, or
// that call Services.Uncounted themselves.
type Counted interface{ Counted() }

type callerKey struct{}

// CallerContext is the context of a user function. Its fields must not be changed once it is in
// use.
type CallerContext struct {
	context.Context
	Caller Caller
}

// Value implements context.Context.
func (c *CallerContext) Value(key any) any {
	if key == (callerKey{}) {
		return c.Caller
	}
	return c.Context.Value(key)
}

// WithCaller returns the context for a user function.
func WithCaller(ctx context.Context, c Caller) context.Context { return &CallerContext{ctx, c} }

// CallerOf returns the Caller of the innermost function for which ctx was created, or nil if there
// is none. It is for the public functions that users call.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
