package program

import "context"

// Caller is the call of a run that a function of a program carries out. Safe for concurrent use.
//
// All code of Hocket is given the Caller, or what it needs of it, as a parameter. Functions of users have a context alone, and call package graph and package hocket with it: for them, and
// for nothing else, [WithCaller] keeps the Caller in the context that they are given (ADR 71).
type Caller interface {
	// Notes keep what the sub-steps of the call give; nil: none are kept.
	Notes() Notes
	// Host gives the call as its driver has it, a driver.Caller; nil: no driver made it.
	Host() any
	// Work says what the call carries out.
	Work() Work
}

// Work is what a call carries out. The zero Work is that of no call of a run.
type Work struct {
	// Key is equal for all attempts, also after a crash, and Attempt the try, from 1: those of [Call].
	Key     string
	Attempt int
	// Services are what the program offers; nil: nothing.
	Services *Services
}

// Services are what a program offers its node functions. The zero value offers nothing.
type Services struct {
	// Runtime is a graph.Runtime; nil: none.
	Runtime any
	// Uncounted tells whether work may begin in a call whose use is never reported, such as that of a coding agent which does not tell it. The error says why not. Nil: it may.
	Uncounted func(ctx context.Context, c Caller) error
}

// Counted is implemented by clients and bridges whose work is bound by the budgets of its run, or that ask Services.Uncounted themselves.
type Counted interface{ Counted() }

type callerKey struct{}

// CallerContext is the context of a function of a user. Its fields are not changed once it is in use.
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

// WithCaller gives the context of a function of a user.
func WithCaller(ctx context.Context, c Caller) context.Context { return &CallerContext{ctx, c} }

// CallerOf gives the Caller of the innermost function that ctx was made for; nil: there is none. It is for the public functions that users call.
func CallerOf(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}
