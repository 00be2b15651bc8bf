// Package shell gives agents programs of this machine: toolsets of type `shell`.
//
// It refuses to serve an untrusted spec (SEC4, SEC5), to give a program anything of our environment but basics and what the spec names, and,
// where the spec lists commands, to run any other or to use a shell at all (SEC13).
//
// The flow of a call: a line goes to the system's shell (`shell`), or words go to a program as they are (`exec`); package command bounds time and output
// and ends what is left. Background jobs are programs that go on between calls; they end with the run.
//
// Invariants: no program outlives the toolset (P11); a job that was started for a key is not started again for it (P12).
package shell
