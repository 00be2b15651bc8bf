// Package rounds reads and writes rounds documents: JSON with `nodes` that name agents by id,
// `edges`, `maxRounds`, and `branches`, which are graphs next to the main one with an execution
// mode of their own.
//
// It does not run anything, does not read the time, does not keep the positions of boxes, and does
// not know which models and tools exist.
//
// The flow of [Read]:
//
//  1. the settings of the document as a whole are read (read.go): its name, its agents, and what
//     branches inherit (S1-20);
//  2. the main graph and each branch are read in the same way (graph.go): nodes one by one
//     (node.go), then edges (edge.go), of which only the first that leaves a node is followed
//     (S1-4), then the rounds (S1-10 to S1-14);
//  3. the modes and schedules are read (schedule.go, S1-22, S1-27, S1-39);
//  4. each graph becomes a workflow: the main one contains the branches.
//
// [Write] does the reverse (write.go) and reports what no rounds document can express
// (unsupported.go).
//
// Keys that the reference document does not have: `agents` (a list in the form of agents files),
// `turnInstruction` (of the workflow or a branch), `timeZone` (of the workflow or a branch, a name
// of the time zone database), and those of package nodes.
//
// Invariants: every problem of a document is reported, with its position, before anything runs
// (D25); at most one edge leaves each node through each port, so that a run follows one path; a
// path that never ends is rejected (S1-12); a workflow that Read returned without errors has the
// same digest after Write and Read.
//
// Sources: the rules S1 of docs/spec; decision D25.
package rounds
