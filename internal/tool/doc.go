// Package tool is the port to tools: what a tool is, which of them an agent may call, and how one call of it is carried out.
//
// It refuses to know any particular tool: mcp/, think/, todo/ and the others implement [Toolset] below it and are handed in by the wiring as
// [Type] values. It refuses to decide whether a failed call is made again (D11, the engine's matter) and to journal anything.
//
// The flow of one run:
//
//  1. The wiring parses the entries of a `toolsets:` list to [Spec] values ([ParseToolsFile], [ParseSpecs], [Spec.UnmarshalJSON]), asks a person
//     about [Commands] where a command is not trusted (SEC5), and makes a [Set] for the run.
//  2. After a restart, [Set.Restore] gives the finished calls back to the tools that hold state.
//  3. [Set.Defs] tells what to offer an agent's model. Toolsets are opened here, when an agent first needs them.
//  4. [Set.Call] carries out one call: is the name granted (SEC13), is the definition the one that was offered first (SEC14), do the arguments
//     fit its schema, is there an answer in time (P11).
//  5. [Set.Close] ends connections and processes.
//
// Invariants: an agent reaches exactly the tools that its [Grant] lists, compared as whole names; equal names from two toolsets never shadow
// each other; a definition that differs from the pinned one is not called; every call ends in finite time.
package tool
