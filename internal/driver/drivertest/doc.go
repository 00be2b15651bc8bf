// Package drivertest is the conformance suite of drivers: what every one of them owes, whatever it runs on.
//
// A driver's own test gives [Run] a way to make clusters; each test of the suite gets a cluster of its own, inside a bubble of testing/synctest, so
// that time passes at once and a goroutine that is left behind fails the test.
//
// It refuses to look inside a driver: it starts runs, kills processes and reads journals.
package drivertest
