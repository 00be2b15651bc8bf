// Package project shows runs: the run object, logs, trail, step context and node states, each a pure function of a run's events and its
// definition.
//
// It decides nothing and stores nothing. The same events give the same view, live or read from a journal (P36). It knows formats only where
// their rules ask for fields or texts of their own (S0, S1, S4). It trusts that the engine wrote the events: one that fits nothing is ignored.
//
// The flow:
//
//  1. A [Folder] is fed the events of one run in order ([Folder.Add]).
//  2. At any event it gives the views as they are then: [Folder.Run], [Folder.Trail], [Folder.Context], [Folder.Nodes].
//  3. [Folder.Expand] gives an event with all that the engine left out because it follows from events before it: inputs, outputs, arguments.
//  4. A [LogFolder] is a Folder that also gives the log entries that each event adds; a [ModeFolder] gives what stream modes show of the steps that settled.
//
// What the engine does not store twice is derived in derive.go: the output that is the input, that is the model's reply, that is the branches'.
//
// Invariants: nothing that has not ended is shown of a run that has; views share the values of the events, which are not changed; a view that was
// given out does not change when more events are added.
package project
