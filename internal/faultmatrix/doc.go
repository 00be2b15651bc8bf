// Package faultmatrix is the failure matrix: for each failure of a process, a machine, a database
// or a clock it lists what survives, what is repeated, what a person is asked and how long it
// takes.
//
// The failures are a table of [Row]s. The tests that produce the failures name their rows with
// [Proves], and docs/operations.md contains the table as printed by [Table]. Rows without a test
// are not allowed: the package's own test looks for each named test in the sources, and for the
// call of Proves in it.
//
// The package imports nothing from Hocket, so that tests of all packages can use it.
package faultmatrix
