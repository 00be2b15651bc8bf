// Package stored does what needs the journal of a run and no driver: it exports, imports, forks and derives runs, reads the files that were kept with them, and tells what they
// used.
//
// It refuses to drive anything: it claims no run and makes no call. A run that it stores has no owner; a driver takes it up. So all drivers have it in common.
//
// The flow of a fork: the events of the other run are read up to a point, its first event is changed to that of a fork, the engine applies them, and one append creates the
// new run. An import is the same with events that come from elsewhere.
//
// Invariants: what is stored was accepted by the engine; an error leaves nothing stored.
package stored
