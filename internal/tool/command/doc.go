// Package command is what toolsets that run programs share: the environment of a program, its folder, its end, and its answer.
//
// It refuses to give a program anything of our environment but basics and what was named, and to know why a program is run.
//
// The flow: [New] when a toolset is made, [Runner.Expand] for the variables that it names, then [Runner.Run] for each call, and [Runner.Close].
//
// Invariants: a program that outlives its time is ended with all its children, and what it said so far is told; after Close nothing of any program is
// left (P11); a value that came out of a reference is not in any answer (SEC11).
package command
