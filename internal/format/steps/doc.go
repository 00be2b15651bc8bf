// Package steps reads and writes steps documents: YAML with `agents:` and a `workflow:` of agent,
// condition and parallel steps.
//
// It does not run anything, does not know how toolsets and providers work, and does not evaluate
// templates: it checks what they refer to.
//
// The flow of [Read]:
//
//  1. the sections are read in the order in which they depend on each other: providers, models,
//     mcps, agents, workflow (sections.go);
//  2. `workflow:` becomes a tree of lists and steps, each with its position (parse.go), and every
//     step gets an id (ids.go);
//  3. the order in which each list runs and the target of every jump are determined (jumps.go): a
//     later step that a condition reads is moved before it (S4-7), a repeated id or a bare scalar
//     in a branch goes back (S4-8, S4-18);
//  4. conditions and instructions are checked against the steps and the agents' declared outputs
//     (refs.go, shape.go);
//  5. the tree is flattened into nodes and edges (compile.go).
//
// [Write] does the reverse: it finds the lists in a graph (structure.go), writes them (write.go),
// and reports what no steps document can express.
//
// Invariants: Read returns the same workflow for the same document whatever its other arguments,
// apart from external agents. A workflow that Read returned without errors has the same digest
// after Write and Read.
//
// Sources: the rules S4 of docs/spec; the sections other than `workflow:` are those of
// docker-agent's configuration, version 15.
package steps
