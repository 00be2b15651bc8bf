// Package loop keeps the calls of a run and the agent loops that make them: frames, conversations,
// turns, calls and their attempts, notes of functions. It is one of the engine's sub-machines (ADR
// 66).
//
// A frame is one agent loop: that of a step, or that of a sub-agent inside it. A turn is the tool
// calls of one reply; their results join the conversation once all of them have arrived, in the
// order in which the model requested them. A call has attempts, and exists until its last attempt
// has a result that counts.
//
// The package does not decide what follows from a result, does not know edges, scopes or budgets,
// and does not create events. It obtains what it needs to know about the run from a [World].
//
// The flow: the engine records an event; each event has two functions, which the table of event
// kinds refers to: Check returns why a stored event cannot follow, and Apply changes the [Loop].
// [Loop.Start], [Loop.Sleep], [Loop.Wake], [Loop.WakeStep], [Loop.Ask], [Loop.MakeDue] and
// [Loop.End] follow from events of other parts.
//
// Invariants: a Loop follows from the events alone; Check functions only read; Apply functions
// cannot fail; only this package writes the fields of [Loop], [Step], [Frame] and [Call].
package loop
