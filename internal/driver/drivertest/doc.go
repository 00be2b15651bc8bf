// Package drivertest is the conformance suite of drivers: what every one of them owes, whatever it runs on.
//
// A driver's own test gives [Run] a way to make clusters; each test of the suite gets a cluster of its own, inside a bubble of testing/synctest, so
// that time passes at once and a goroutine that is left behind fails the test. A driver that cannot live in a bubble has the suite run in real time ([Driver.RealTime]), and
// one that has not all parts says which and why ([Driver.Lacks]).
//
// It refuses to look inside a driver: it starts runs, kills processes and reads journals.
package drivertest
