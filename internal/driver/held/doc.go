// Package held contains what all drivers do with runs and their journals, regardless of how they
// execute calls.
//
// It does not own runs, make calls or wait: each driver has its own rules for that.
//
//  1. A definition is read and compiled once for all its runs (plans.go).
//  2. A run is folded from its journal (fold.go).
//  3. The events of a decision are converted into the data of one transaction, and after an append
//     of unknown outcome the journal shows whether it was stored (append.go).
//  4. Rejections by the engine are distinguished from internal errors, and temporary errors of a
//     store from permanent ones (refusals.go).
package held
