// Package scripts runs the scripts of the command line, testdata/script/NAME.txtar: a line `hocket
// ...` runs in the test process, `exec hocket ...` and `start NAME hocket ...` run a separate
// process.
//
// A command line in the test process needs the working directory for itself, which is why these
// tests are a separate package.
package scripts
