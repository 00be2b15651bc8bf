// Package project builds views of runs: the run object, logs, trail, step context and node states,
// each a pure function of a run's events and its definition.
//
// It decides nothing and stores nothing. The same events yield the same view, live or read from a
// journal (P36). It deals with formats only if their rules require their own fields or strings (S0,
// S1, S4). It trusts that the engine wrote the events, and ignores an event that does not fit.
//
// The flow:
//
//  1. A [Folder] receives the events of one run in order ([Folder.Add]).
//  2. After any event it returns the views as of that event: [Folder.Run], [Folder.Trail],
//     [Folder.Context], [Folder.Nodes].
//  3. [Folder.Expand] returns an event with everything that the engine omitted because it follows
//     from earlier events: inputs, outputs, arguments.
//  4. A [LogFolder] is a Folder that also returns the log entries that each event adds; a
//     [ModeFolder] returns what stream modes show of the settled steps.
//
// Values that the engine does not store twice are derived in derive.go: an output that equals the
// input, the model's reply or the branches' outputs.
//
// Whatever a single event implies is derived by package engine/event, for the engine too. Whatever
// follows from several events is derived both by the engine and here: the running steps, attempts
// and agents; which step arrived last in each scope, whether the scope failed, and its output; open
// waits, calls and child runs; values by reference; the typed state. The engine cannot be used
// instead: it keeps every step of a run, needs the compiled definition with its program's
// functions, and does not accept tokens in place of long values. A Folder shows a run of any length
// in bounded memory, even if its definition or program is unknown (ADR 72).
// TestFolder_MatchesEngine compares the two after each event. They differ deliberately in unknown
// usage: if the usage of a call or of a child run was not reported, budgets are charged with the
// amount reserved for it, and views show its cost as unknown. A [GraphFolder] is for callers that
// have the definition and its program: it queries an engine that it folds.
//
// Invariants: a run that has ended is never shown with anything still in progress; views share the
// values of the events, which are not changed; a view that was returned does not change when more
// events are added.
package project
