// Package nodes reads and writes what documents that are graphs (canvas, rounds) have of the extensions X: nodes of the types tool, workflow, set and ask, more keys of
// approvals, policies, the keys of a document beside its graph, and expressions in prompts. Keys are those of steps documents.
//
// It refuses to know where a document keeps the settings of a node and how it draws edges.
//
// The flow:
//
//  1. [Read] reads the settings of one node, and gives the texts that hold expressions. What they refer to is not known yet.
//  2. [ReadDocument] reads the keys of the document, or of a branch.
//  3. When the graph is made, [Check] looks at all these texts and sets what each node reads.
//  4. [Write] and [WriteDocument] go the other way.
//
// Invariants: a value in a workflow is the JSON of the document, since ids of steps are those of nodes; a document without these keys reads as before.
package nodes
