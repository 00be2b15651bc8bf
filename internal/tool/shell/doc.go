// Package shell lets agents run programs on this machine: toolsets of type `shell`.
//
// It does not serve an untrusted spec (SEC4, SEC5), and passes programs nothing of the process
// environment but basic variables and those that the spec names. If the spec lists commands, it
// runs no other program and no shell at all (SEC13).
//
// In a call, a command line goes to the system's shell (`shell`), or words go to a program
// unchanged (`exec`); package command limits time and output and stops whatever is left. Background
// jobs are programs that keep running between calls; they end with the run.
//
// Invariants: no program outlives the toolset (P11); a job is started only once per key (P12).
package shell
