package driver

import (
	"context"
	"time"

	"github.com/hocket-run/hocket/internal/engine"
)

// Direct is a Program that can call its plain functions, those that only change the state, without
// JSON. It is safe for concurrent use.
type Direct interface {
	Program
	// FuncNumber and ConditionNumber return the number of a function or a condition, or -1 if it cannot be
	// called directly. They are the same for all programs of one definition in this process.
	FuncNumber(name string) int
	ConditionNumber(name string) int
	// Walk begins at a place of a run, or returns nil if its functions cannot be called directly
	// from there. The gate may be nil.
	Walk(run string, p *engine.LinePlace) (Walk, Gate)
	// Result returns the result of a call by which the state became after. before and after are
	// results of Walk.State.
	Result(c *engine.CallFunc, before, after any) engine.FuncResult
}

// Walk is a state that functions change one after another. It is not safe for concurrent use.
type Walk interface {
	// Call calls a function, as attempt 1 of step number step. It returns false if the result is
	// anything but a state: then only Result may be called. If the function ends its goroutine, Call
	// does not return. by receives what the function does besides returning.
	Call(ctx context.Context, by Caller, step, fn int) bool
	// Result returns the result of the last call, whose command is c.
	Result(ctx context.Context, c *engine.CallFunc) engine.FuncResult
	// Check evaluates a condition on the state after the last call. If ok is false, the engine must
	// evaluate it.
	Check(condition int) (holds, ok bool)
	// Count applies a counter. It returns false if the engine must do it.
	Count(c *engine.Counter) bool
	// State returns the state after the last call in the program's own form.
	State() any
	// End returns the whole state after the last call, a program.State.
	End() any
}

// Gate decides whether a walk may continue. It is not safe for concurrent use.
type Gate interface {
	// IsClosed reports whether no function may be called now. It is called before each function.
	IsClosed() bool
	// Leave ends the use of the gate; it may be called more than once.
	Leave()
}

// LineEnd is the end of a run that was a line from its beginning to its end (see engine.Line): it
// completed. Its events are made when somebody reads them.
type LineEnd struct {
	Seq                uint64
	Started, Completed time.Time
	// State is the state at the end, a program.State.
	State any
	// Visited are the nodes that ended, in order, without hidden ones.
	Visited []string
}
