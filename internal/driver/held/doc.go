// Package held holds what all drivers do with runs and their journals, whichever way they carry out calls.
//
// It refuses to own runs, to make calls, and to wait: each driver has its own rules for that.
//
//  1. A definition is read and compiled once for all its runs (plans.go).
//  2. A run is folded out of its journal (fold.go).
//  3. The events of a decision become what is stored in one transaction, and after an append of unknown outcome the journal tells whether it was stored (append.go).
//  4. What the engine refuses is told from defects, and what a store cannot do now from what it never can (refuse.go).
package held
