// Package routes reads and writes routes documents: JSON (or YAML) rows of nodes and edges, as
// programs keep them in database tables.
//
// It does not run anything, does not look up agents in a store (the caller passes them in), and
// does not know which models and tools exist.
//
// A document is `{id, name, description, isConversational, entrypointNodeId, nodes, edges}`; every
// key may also be written in snake_case, and the keys of the workflow may be under `workflow` next
// to `nodes`, `edges` and `agents` (S3-1). Four keys are specific to Hocket:
//
//   - `agents`: definitions of the agents that nodes name, in the form of `--agents`;
//   - `maxSteps`: the step limit, 15 if absent; 0 lets nothing run (S3-13);
//   - `timeoutMs`: the time limit of a run in milliseconds, 90000 if absent; 0 means none (S3-14);
//   - `humanHandoff`: the id or the name of the HUMAN node that a run is handed over to instead of
//     failing because of a limit; if absent, the HUMAN node named `human_handoff`, if there is one
//     (S3-15).
//
// A HUMAN node may have a `prompt`, the question that it asks; `{{PREVIOUS_OUTPUT}}` in it is
// replaced with the last message.
//
// The flow of [Read]:
//
//  1. the workflow's own keys, agents, and the rows of nodes and edges are read one by one, each
//     separately (read.go, node.go, edge.go);
//  2. ids are resolved: agents of nodes, ends of edges, entrypoint, handoff; an edge to or from a
//     node that does not exist is left out (S3-8);
//  3. edges become ports: `next:VALUE` and `out` of agents and people, `tool:NAME` and `out` of
//     executors, `calls` from an agent to an executor;
//  4. edges without a target lead to one hidden end node.
//
// [Write] does the reverse, reads back what it wrote, and reports every difference from the
// workflow.
//
// Invariants: every problem of a document is reported with its position before anything runs (D25);
// a workflow that Read returned without errors has the same digest after Write and Read; ids of
// nodes, edges and agents are those of the document.
//
// Sources: the rules S3 of docs/spec; decisions D25, D28, D30.
package routes
