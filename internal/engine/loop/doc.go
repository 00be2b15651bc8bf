// Package loop keeps the calls of a run and the agent loops that make them: frames, conversations, turns, calls and their attempts, retry timers, notes of functions. It is one of the
// engine's sub-machines (ADR 66).
//
// A frame is one agent loop: that of a step, or that of a sub-agent inside of it. A turn is the tool calls of one reply; their results join the conversation when all are there, in the
// order in which the model asked. A call has attempts, and is there until its last one has a result that counts.
//
// It refuses to decide what follows from a result, to know edges, scopes and budgets, and to make events. What it must know of the run it asks a [World].
//
// The flow: the engine records an event; of the two functions for it, to which the table of event kinds refers, Check says why a stored one cannot follow, and Apply changes the [Loop].
// [Loop.Start], [Loop.Sleep], [Loop.Fire], [Loop.Ask], [Loop.MakeDue] and [Loop.End] follow from events of other parts.
//
// Invariants: a Loop follows from the events alone; Check functions only read; Apply functions cannot fail; only this package writes the fields of [Loop], [Step], [Frame] and [Call].
package loop
