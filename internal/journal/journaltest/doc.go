// Package journaltest is what every store of journals must pass, and a store that fails on demand.
//
// [Run] is the conformance suite: a store package calls it with a function that makes empty media. It refuses to know how a store keeps
// things; what it cannot do through the ports (damage) it asks for by name. [Faulty] wraps a handle for simulation: it fails or dies before or
// after the n-th write (D36).
package journaltest
