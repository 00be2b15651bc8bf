// Package tool is the port to tools: what a tool is, which tools an agent may call, and how one
// call is carried out.
//
// It does not depend on any particular tool: mcp/, think/, todo/ and the others implement [Toolset]
// below it and are passed in as [Type] values by the wiring. It does not decide whether a failed
// call is repeated (D11, the engine does) and does not journal anything.
//
// The flow of one run:
//
//  1. The wiring parses the entries of a `toolsets:` list to [Spec] values ([ParseToolsFile],
//     [ParseSpecs], [Spec.UnmarshalJSON]), asks a person about [Commands] if a command is not
//     trusted (SEC5), and creates a [Set] for the run.
//  2. After a restart, [Set.Restore] passes the finished calls back to the tools that hold state.
//  3. [Set.Defs] returns what to offer to an agent's model. Toolsets are opened here, when an agent
//     first needs them.
//  4. [Set.Call] carries out one call: it checks that the name is granted (SEC13), that the
//     definition is the one that was offered first (SEC14), that the arguments match its schema,
//     and that there is an answer in time (P11).
//  5. [Set.Close] ends connections and processes.
//
// Invariants: an agent reaches exactly the tools that its [Grant] lists, compared as whole names;
// equal names from two toolsets never shadow each other; a definition that differs from the pinned
// one is not called; every call ends in finite time.
package tool
