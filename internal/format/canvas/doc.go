// Package canvas reads and writes canvas documents: JSON with `nodes` and `connections`, drawn by
// people in an editor.
//
// It does not run anything, does not keep the positions of boxes (layout is not part of a
// definition), and does not know which models and tools exist.
//
// The flow of [Read]:
//
//  1. nodes are read one by one, each according to its type (node.go): start, agent, if, approval,
//     and the legacy type input (S0-2);
//  2. connections are divided into execution connections and sub-agent links (connection.go),
//     handles become ports;
//  3. sub-agent links are checked against S0-50 and become tools of their agents; their targets are
//     only agents, not nodes (subagent.go);
//  4. the remainder becomes the workflow, in the order of the document.
//
// [Write] does the reverse (write.go) and reports what no canvas document can express
// (unsupported.go).
//
// Invariants: every problem of a document is reported, with its position, before anything runs
// (S0-52, D25); a workflow that Read returned without errors has the same digest after Write and
// Read; ids of nodes and agents are those of the document.
//
// Sources: the rules S0 of docs/spec; decisions D12, D13, D18, D25, D26.
package canvas
