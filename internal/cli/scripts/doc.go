// Package scripts runs the scripts of the command line, testdata/script/NAME.txtar: a line `hocket ...` runs in the test process, `exec hocket ...` and
// `start NAME hocket ...` run a process of its own.
//
// A command line in the test process has the working directory for itself, so these tests have a package of their own.
package scripts
