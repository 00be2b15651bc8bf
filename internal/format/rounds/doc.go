// Package rounds reads and writes rounds documents: JSON with `nodes` that name agents by id, `edges`, `maxRounds`, and `branches`, which are
// graphs beside the main one with an execution mode of their own.
//
// It refuses to run anything, to know what time it is, to keep the places of boxes, and to know which models and tools there are.
//
// The flow of [Read]:
//
//  1. what belongs to the document as a whole is read (read.go): its name, its agents, and what branches inherit (S1-20);
//  2. the main graph and each branch are read alike (graph.go): nodes one by one (node.go), then edges (edge.go), of which only the first that
//     leaves a node is followed (S1-4), then the rounds (S1-10 to S1-14);
//  3. the modes and schedules are read (schedule.go, S1-22, S1-27, S1-39);
//  4. each graph becomes a workflow: the main one holds the branches.
//
// [Write] goes the other way (write.go) and says what no rounds document can say (unsaid.go).
//
// Keys that the reference document does not have: `agents` (a list in the form of agents files), `turnInstruction` (of the workflow or a branch),
// `timeZone` (of the workflow or a branch, a name of the time zone database), and those of package nodes.
//
// Invariants: every problem of a document is reported, with its place, before anything runs (D25); from each node at most one edge leads on by each port, so that
// a run follows one path; a path that never ends is refused (S1-12); a workflow that Read gave without errors has the same digest after Write and
// Read.
//
// Sources: the rules S1 of formats.md; decision D25.
package rounds
