// Package leaktest ends the tests of a package with a check that no goroutine is left (P11).
//
// It is goleak, with more patience: goleak looks for half a second, and what is ending on a busy machine, such as a connection that the other side is closing,
// may need longer. A goroutine that stays is still found.
package leaktest
