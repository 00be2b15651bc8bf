// Package script provides agents with the commands that a document declares, each as a tool with
// typed arguments: toolsets of type `script`.
//
// It does not serve an untrusted spec (SEC4, SEC5), never puts an argument into the text of a
// command (SEC3), and rejects arguments whose names would change what programs do and values that a
// program would interpret as an option.
//
// The flow of a call: the tool's Set has checked the arguments against the schema; they become
// environment variables, which a `cmd` line reads as "$name", or words of `argv`; package command
// runs the program and stops whatever is left.
//
// Invariants: what a model writes is data to the shell, whatever it contains; no program outlives
// the toolset (P11).
package script
