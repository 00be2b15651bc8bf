// Package leaktest ends the tests of a package with a check that no goroutine is left (P11).
//
// It is goleak with a longer timeout: goleak retries for half a second, but on a busy machine a
// goroutine that is ending, such as a connection that the other side is closing, may need longer. A
// goroutine that stays is still found.
package leaktest
