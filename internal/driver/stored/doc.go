// Package stored contains the operations that need the journal of a run but no driver: it exports,
// imports, forks and derives runs, reads the files that were stored with them, and reports what
// they used.
//
// It does not drive anything: it claims no run and makes no call. A run that it stores has no owner
// until a driver resumes it. All drivers therefore share this package.
//
// The flow of a fork: the events of the other run are read up to a point, its first event is
// changed into that of a fork, the engine applies the events, and one append creates the new run.
// An import is the same with events from elsewhere.
//
// Invariants: everything stored was accepted by the engine; an error leaves nothing stored.
package stored
