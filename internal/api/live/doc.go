// Package live streams the progress of runs over HTTP as server-sent events.
//
// It makes no decisions and changes nothing in a run. It never holds up a run: a client that reads
// too slowly misses pieces of model output but never an event, and a client that does not read at
// all is dropped and may reconnect (P22).
//
// The flow:
//
//  1. A request names a run, a view (events, stream modes, log entries) and the event after which
//     to continue ([Handler]).
//  2. Each run and view with a watcher has one pump. It reads the run once, from its first event,
//     folds it, encodes each event once, and puts the bytes into a ring of bounded size.
//  3. A watcher holds nothing but a position in that ring. It writes what follows its position, in
//     chunks, and waits to be woken. With many watchers a pump wakes them less often, so that each
//     writes more at a time.
//  4. A watcher whose position was overwritten, or that starts in the past, reads the journal
//     itself until it catches up with the ring: a few watchers at a time do this in one pass, all
//     others and slow ones chunk by chunk.
//
// The feed of a namespace ([Handler.Feed]) has one tap instead of pumps: the tap reads notices, new
// runs and changes of workflows once for all streams of the feed.
//
// Invariants: the id of a message is the number of the journal event that it shows, and one event
// is one message in every view, so that a connection that is cut between any two messages continues
// without loss and without repetition; pieces of model output have no id. All data about a run is
// read through the service of the caller's namespace (SEC10). Memory is bounded by rings, not by
// watchers: nothing is kept for a watcher but its position.
package live
