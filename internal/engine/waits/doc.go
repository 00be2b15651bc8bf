// Package waits keeps the waits of a run for a person: which are open, how each ended, their deadlines and reminders, and whose turn it is in the queue of a paused run.
//
// A wait is opened by wait.opened and ended by wait.answered or wait.closed. [Waits] changes in the Apply methods alone, one for each of these events, and in [Waits.Fire],
// [Waits.Pause] and [Waits.Take], which follow from other events. A wait may be one for a signal, which no person answers: [Waits.ReadSignal] finds the wait that takes a signal, and signals that
// none takes are kept, so many and so large as MaxKept and MaxKeptBytes say, until one does. The Check methods say why a stored event cannot follow; they only read. [Waits.Read] finds the wait that an answer is for and
// says which event it makes.
//
// It refuses to decide what follows from an answer, to know steps, calls and tokens beyond their numbers, and to read a clock.
//
// Invariants: a wait ends once; timers of a wait run while it is open, and each fires once; the same answer to the same wait is no error.
package waits
