// Package live shows what happens in a run while it happens, over HTTP as server-sent events.
//
// It decides nothing and changes nothing of a run. It refuses to hold a run up: who is too slow to read loses pieces of what models say, never an event, and
// who does not read at all is dropped and may come back (P22).
//
// The flow:
//
//  1. A request names a run, a view (events, stream modes, log entries) and the event after which it wants to go on ([Handler]).
//  2. For each run and view with a watcher there is one pump. It reads the run once, from its first event, folds it, encodes each event once, and puts
//     the bytes into a ring of bounded size.
//  3. Each watcher has nothing but a place in that ring. It writes what follows its place, in pieces, and waits to be woken. With many watchers a pump wakes
//     them less often, so that they write more at a time.
//  4. A watcher whose place was overwritten, or that begins in the past, reads the journal itself until it meets the ring: a few at a time in one pass,
//     the others and slow ones piece by piece.
//
// The feed of a namespace ([Handler.Feed]) has one tap instead of pumps: it reads notices, new runs and changes of workflows once for all its streams.
//
// Invariants: the id of a message is the number of the journal's event that it shows, and one event is one message in every view, so that a connection that is
// cut between any two messages goes on without loss and without repetition; pieces of what a model says have no id. All that is on a run is read through
// the service of the caller's namespace (SEC10). Memory is bounded by rings, not by watchers: nothing is kept for a watcher but its place.
package live
