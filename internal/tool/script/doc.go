// Package script gives agents the commands that a document declares, each as a tool with typed arguments: toolsets of type `script`.
//
// It refuses to serve an untrusted spec (SEC4, SEC5), to put an argument into the text of a command (SEC3), arguments whose names would change
// what programs do, and values that a program would take for an option.
//
// The flow of a call: arguments were checked against the schema by the tool's Set; they become variables of the environment, which a line of `cmd`
// reads as "$name", or words of `argv`; package command runs the program and ends what is left.
//
// Invariants: what a model writes is data to the shell, whatever it holds; no program outlives the toolset (P11).
package script
