// Package faultmatrix is the failure matrix: for each failure of a process, a machine, a database or a clock it says what survives, what is repeated, what a person is asked and how long it takes.
//
// [Rows] is a table. The tests that produce the failures name their rows by [Proves], and docs/operations.md has the table as [Table] prints it.
// The package refuses rows without a test: its own test looks for each named test in the sources, and for the call of Proves in it.
//
// It imports nothing of Hocket, so that tests of all packages can use it.
package faultmatrix
