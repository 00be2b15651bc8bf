// Package waits keeps track of the waits of one run: which are open, how each ended, and whose turn
// it is in the queue of a paused run.
//
// A wait is opened by wait.opened and ended by wait.answered or wait.closed. [Waits] changes only
// in the Apply methods, one for each of these events, and in [Waits.Pause] and [Waits.Take], which
// follow from other events. A wait may be for a signal, which no person
// answers: [Waits.ReadSignal] finds the wait that takes a signal, and signals that no wait takes
// are kept, up to MaxKept and MaxKeptBytes, until a wait does. The Check methods return why a
// stored event cannot follow; they only read. [Waits.Read] finds the wait that an answer is for and
// returns the event that it produces.
//
// The package does not decide what follows from an answer, knows steps, calls and tokens only by
// their numbers, and reads no clock.
//
// Invariants: a wait ends once; the same answer to the same wait is not an error.
package waits
