// Package canvas reads and writes canvas documents: JSON with `nodes` and `connections`, drawn by people in an editor.
//
// It refuses to run anything, to keep the places of boxes (layout is no part of a definition), and to know which models and tools there are.
//
// The flow of [Read]:
//
//  1. nodes are read one by one, each by its type (node.go): start, agent, if, approval, and the legacy type input (S0-2);
//  2. connections are split into ways of the run and sub-agent links (connection.go), handles become ports;
//  3. sub-agent links are checked against S0-50 and become tools of their agents; their targets are agents only, not nodes (subagent.go);
//  4. what is left becomes the workflow, in the order of the document.
//
// [Write] goes the other way (write.go) and says what no canvas document can say (unsaid.go).
//
// Invariants: every problem of a document is reported, with its place, before anything runs (S0-52, D25); a workflow that Read gave without
// errors has the same digest after Write and Read; ids of nodes and agents are those of the document.
//
// Sources: the rules S0 of formats.md; decisions D12, D13, D18, D25, D26.
package canvas
