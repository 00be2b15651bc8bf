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
// What one event says is derived by package engine/event, for the engine too. What follows from the events together is derived by the engine and here: the steps, attempts and agents at work; what scopes have arrived, failed and gave; open waits,
// calls and child runs; values by reference; the typed state. The engine cannot be asked instead: it keeps every step of a run, needs the compiled definition with the functions of its program, and takes no tokens in the place of long values. A Folder
// shows a run of any length in bounded memory, also where its definition or program is not known (ADR 72). TestFolderIsTheEngine compares both after each event. They differ on purpose in what is not known: where the use of a call or of a child run was not
// reported, budgets bear what was reserved for it, and views say that its cost is not known. A [GraphFolder] is with those who have the definition and its program: it asks an engine that it folds.
//
// Invariants: nothing that has not ended is shown of a run that has; views share the values of the events, which are not changed; a view that was
// given out does not change when more events are added.
package project
