// Package journaltest provides the conformance suite for journal stores, and a store that fails on
// demand.
//
// [Run] is the conformance suite: a store package calls it with a function that creates empty
// media. It does not depend on how a store keeps its data; it requests by name what it cannot do
// through the ports (damage). [Faulty] wraps a handle for simulation: it fails or dies before or
// after the n-th write (D36).
package journaltest
