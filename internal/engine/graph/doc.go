// Package graph keeps what a run knows about its graph: tokens, steps, scopes, sub-flows and
// rounds, the output of each step, and the typed state and outputs that each scope sees. It is one
// of the engine's sub-machines (ADR 66).
//
// A token is an output on its way along an edge. A step is one execution of a node. A scope is what
// one branch of a fork, one sub-flow or the whole run may see; it has settled when no token and no
// step lives in it.
//
// It does not decide what a step does, does not know calls, waits or budgets, and creates no
// events. [Graph] has a type parameter: each running step holds one value of it for the engine's
// loop. The graph neither reads nor writes that value, and drops it with the rest of what only a
// running step needs.
//
// Flow: the engine records an event; [Graph.CheckStepStarted], [Graph.CheckEdgeTaken] and
// [Graph.CheckEnds] return the reason why a stored one cannot follow; [Graph.Start],
// [Graph.Complete], [Graph.Fail], [Graph.Retry], [Graph.End] and [Graph.Travel] change the state.
// [Graph.MayStart], [Graph.JoinReady], [Graph.TakeAwake] and [Graph.Verdict] determine what can
// continue.
//
// Invariants: a Graph follows from the events alone; methods that check only read; methods that
// apply an event cannot fail; only this package writes the fields of its types. Steps never move,
// and a step that has ended is not written again, so that commands may read its output in any
// goroutine.
package graph
