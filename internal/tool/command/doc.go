// Package command implements what toolsets that run programs share: the environment of a program,
// its folder, its termination, and its answer.
//
// Programs get nothing from the environment of the process except basic variables and those that
// were named. The package does not depend on why a program is run.
//
// The flow: [New] when a toolset is created, [Runner.Expand] for the variables that it names, then
// [Runner.Run] for each call, and [Runner.Close].
//
// Invariants: a program that exceeds its time limit is terminated with all its children, and its
// output so far is returned; after Close no process of any program is left (P11); a value that came
// from a reference is not in any answer (SEC11).
package command
