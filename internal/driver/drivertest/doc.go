// Package drivertest is the conformance suite of drivers: the behavior required of every driver,
// whatever it runs on.
//
// A driver's own test passes [Run] a function that creates clusters; each test of the suite gets
// its own cluster, inside a testing/synctest bubble, so that time passes instantly and a leaked
// goroutine fails the test. A driver that cannot run in a bubble runs the suite in real time
// ([Driver.RealTime]), and a driver that lacks parts declares which and why ([Driver.Lacks]).
//
// The suite does not look inside a driver: it starts runs, kills processes and reads journals.
package drivertest
